/**
 * `npm run chaos`: faults done to the running product, each with an oracle that counts what was lost, doubled or out of
 * order. A run of all writes docs/reliability.md. Traffic stays on this machine.
 */
import { execFileSync } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import type { Outcome, Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'

const { values } = parseArgs({
  options: { only: { type: 'string' }, size: { type: 'string', default: '1' } },
})

async function main(): Promise<void> {
  const wanted = values.only?.split(',').map(Number)
  const results: { scenario: Scenario; outcome: Outcome; seconds: number }[] = []
  for (const scenario of scenarios) {
    if (wanted && !wanted.includes(scenario.row)) continue
    const started = performance.now()
    const outcome = await attempt(scenario)
    const seconds = Math.round((performance.now() - started) / 1_000)
    results.push({ scenario, outcome, seconds })
    const { passed, events, lost, duplicated, out_of_order, figures } = outcome
    process.stdout.write(
      `${passed ? 'ok    ' : 'FAILED'} ${scenario.row} ${scenario.fault}: ${events} events, lost ${lost}, duplicated ${duplicated}, out of order ${out_of_order}; ${figures} (${seconds} s)\n`,
    )
  }
  if (!wanted) await writeFile('docs/reliability.md', report(results))
  // Clients of a scenario that failed may still be trying.
  process.exit(results.every(({ outcome }) => outcome.passed) ? 0 : 1)
}

async function attempt(scenario: Scenario): Promise<Outcome> {
  try {
    return await scenario.run(Number(values.size))
  } catch (error) {
    const figures = `it ended with ${(error as Error).message}`
    return { passed: false, events: 0, lost: 0, duplicated: 0, out_of_order: 0, figures }
  }
}

function report(
  results: readonly { scenario: Scenario; outcome: Outcome; seconds: number }[],
): string {
  const commit = execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
  const machine = `${cpus().length} x ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB`
  const rows = results.map(({ scenario, outcome, seconds }) =>
    [
      scenario.row,
      scenario.fault,
      scenario.pass,
      outcome.events,
      outcome.lost,
      outcome.duplicated,
      outcome.out_of_order,
      outcome.figures,
      `${seconds} s`,
      outcome.passed ? 'passed' : '**failed**',
    ].join(' | '),
  )
  return `# Reliability

Faults done to the running product by \`npm run chaos\`, which writes this file. Every scenario starts an installation of
its own, does the fault, and lets an oracle count acknowledged writes and events against what the database, the feed and
the receivers hold. The size of this run was ${values.size} of the whole. Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit}, ${machine}, Node ${process.version}.

| | Fault | Passes when | Events | Lost | Duplicated | Out of order | Measured | Time | Result |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
${rows.map((row) => `| ${row} |`).join('\n')}
`
}

await main()
