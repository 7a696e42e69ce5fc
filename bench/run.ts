/** `npm run bench`: speed and memory of the product, each beside the limit it is measured against, in one run. */
import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { database, findPgbench } from './clients.ts'
import { benchDeliveries } from './deliveries.ts'
import { benchExports } from './exports.ts'
import { benchIdentity } from './identity.ts'
import { benchCsv, benchTimes, benchWorkbooks } from './imports.ts'
import { benchQueries } from './queries.ts'
import { benchRequests } from './requests.ts'
import { benchSecond } from './second.ts'
import { newDataDir, removeDataDir, startServer } from './server.ts'
import type { Server } from './server.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    // Of the file that a second source sends.
    'second-rows': { type: 'string', default: '20000' },
    only: { type: 'string' },
  },
})

/** Parts that need a process of their own and nothing else. */
const PARTS: readonly (readonly [string, (server: Server) => Promise<unknown>])[] = [
  ['identity', benchIdentity],
  ['export', benchExports],
  ['query', async (server) => await benchQueries(server, Number(values.rows))],
]

const wanted = (part: string): boolean => !values.only || values.only.split(',').includes(part)

async function main(): Promise<void> {
  const results: Record<string, unknown> = {
    at: new Date().toISOString(),
    commit:
      git('rev-parse', '--short', 'HEAD') + (git('status', '--porcelain') ? ' with changes' : ''),
    machine: `${cpus().length} x ${cpus()[0]?.model}, ${Math.round(totalmem() / 2 ** 30)} GiB`,
    node: process.version,
    limit: (await findPgbench()) ?? 'driver loop (no pgbench on the path)',
  }
  const data_dir = await newDataDir()
  try {
    const first = await startServer(data_dir)
    await first.stop()
    let server = await startServer(data_dir)
    results['start'] = {
      first_start_ms: Math.round(first.ready_ms),
      existing_data_ms: Math.round(server.ready_ms),
    }
    process.stdout.write(
      `first start ${Math.round(first.ready_ms)} ms, existing data ${Math.round(server.ready_ms)} ms\n`,
    )
    // How fast the machine is: figures of other machines are compared by it.
    const { socket_dir } = server
    const nothing = { variables: {}, statements: ['select 1'] }
    results['select_1_per_second'] = await database(
      nothing,
      { socket_dir, user: 'postgres' },
      16,
      3,
    )
    process.stdout.write(`select 1: ${String(results['select_1_per_second'])}/s\n`)
    if (wanted('requests')) results['requests'] = await benchRequests(server)
    await server.stop()
    if (wanted('deliveries')) {
      server = await startServer(data_dir, { GRID_WEBHOOK_ALLOW_CIDRS: '127.0.0.1/32' })
      results['deliveries'] = await benchDeliveries(server)
      await server.stop()
    }
    for (const [part, bench] of PARTS) {
      if (!wanted(part)) continue
      server = await startServer(data_dir)
      results[part] = await bench(server)
      await server.stop()
    }
    // Imports get a process of their own, so that its peak memory is theirs.
    server = await startServer(data_dir)
    if (wanted('workbooks')) results['workbooks'] = await benchWorkbooks(server)
    if (wanted('csv')) {
      const imports = await benchCsv(server, Number(values.rows))
      results['csv'] = imports
      results['times'] = await benchTimes(
        server,
        imports.reduce((sum, { facts }) => sum + facts, 0),
      )
    }
    if (wanted('second'))
      results['second'] = await benchSecond(server, Number(values['second-rows']))
    await server.stop()
  } finally {
    await removeDataDir(data_dir)
  }
  await mkdir('bench/results', { recursive: true })
  const file = `bench/results/${new Date().toISOString().slice(0, 10)}-${git('rev-parse', '--short', 'HEAD')}.json`
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`)
  process.stdout.write(`written to ${file}\n`)
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim()
}

await main()
