/**
 * `npm run chaos`: faults done to the running product, each with an oracle that counts what was lost, doubled or out of
 * order. A run of all writes docs/reliability.md, a run of some (--only 8,13) puts their rows there anew. Traffic stays on this machine.
 */
import { execFileSync } from 'node:child_process'
import { readFile, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import type { Outcome, Scenario } from './scenario.ts'
import { scenarios } from './scenarios.ts'

const REPORT = 'docs/reliability.md'

interface Result {
  scenario: Scenario
  outcome: Outcome
  seconds: number
}

const { values } = parseArgs({
  options: { only: { type: 'string' }, size: { type: 'string', default: '1' } },
})

async function main(): Promise<void> {
  const wanted = values.only?.split(',').map(Number)
  const results: Result[] = []
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
  await writeFile(REPORT, wanted ? await again(results) : report(results))
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

/** The report with the rows of some scenarios measured again. */
async function again(results: readonly Result[]): Promise<string> {
  const text = await readFile(REPORT, 'utf8')
  return results.reduce((all, result) => {
    const { outcome } = result
    const figures = `${outcome.figures} (measured again at ${commit()})`
    const row = rowOf({ ...result, outcome: { ...outcome, figures } })
    return all.replace(new RegExp(`^\\| ${result.scenario.row} \\|.*$`, 'm'), () => row)
  }, text)
}

function commit(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim()
}

function rowOf({ scenario, outcome, seconds }: Result): string {
  const cells = [
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
  ]
  return `| ${cells.join(' | ')} |`
}

function report(results: readonly Result[]): string {
  const machine = `${cpus().length} x ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB`
  return `# Reliability

Faults done to the running product by \`npm run chaos\`, which writes this file. Every scenario starts an installation of
its own, does the fault, and lets an oracle count acknowledged writes and events against what the database, the feed and
the receivers hold. The size of this run was ${values.size} of the whole. Measured on ${new Date().toISOString().slice(0, 10)} at commit ${commit()}, ${machine}, Node ${process.version}.

| | Fault | Passes when | Events | Lost | Duplicated | Out of order | Measured | Time | Result |
| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |
${results.map(rowOf).join('\n')}
`
}

await main()
