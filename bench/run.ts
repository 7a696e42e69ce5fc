/** `npm run bench`: speed and memory of the product, each beside the limit it is measured against, in one run. */
import { execFileSync } from 'node:child_process'
import { mkdir, writeFile } from 'node:fs/promises'
import { cpus, totalmem } from 'node:os'
import { parseArgs } from 'node:util'
import { database, findPgbench } from './clients.ts'
import { benchDeliveries, benchDoor, LOOPBACK } from './deliveries.ts'
import { benchExports } from './exports.ts'
import { benchFiles } from './files.ts'
import { benchIdentity } from './identity.ts'
import { benchCsv, benchWorkbooks } from './imports.ts'
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

type Part = (server: Server) => Promise<unknown>

/** Each has a data directory and a process of its own: what one leaves behind does not weigh on the next. */
const PARTS: readonly (readonly [
  name: string,
  part: Part,
  settings?: Record<string, string>,
  roles?: string[],
])[] = [
  ['requests', benchRequests],
  ['deliveries', benchDeliveries, LOOPBACK],
  ['door', benchDoor, LOOPBACK, ['serve']],
  ['identity', benchIdentity],
  ['export', benchExports],
  ['query', async (server) => await benchQueries(server, Number(values.rows))],
  ['workbooks', benchWorkbooks],
  ['files', benchFiles],
  ['csv', async (server) => await benchCsv(server, Number(values.rows))],
  ['second', async (server) => await benchSecond(server, Number(values['second-rows']))],
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
  await inOwnData(async (data_dir) => Object.assign(results, await benchStart(data_dir)))
  for (const [name, part, settings, roles] of PARTS) {
    if (!wanted(name)) continue
    await inOwnData(async (data_dir) => {
      const server = await startServer(data_dir, settings, roles)
      results[name] = await part(server)
      await server.stop()
    })
  }
  await mkdir('bench/results', { recursive: true })
  const file = `bench/results/${new Date().toISOString().slice(0, 10)}-${git('rev-parse', '--short', 'HEAD')}.json`
  await writeFile(file, `${JSON.stringify(results, null, 2)}\n`)
  process.stdout.write(`written to ${file}\n`)
}

async function inOwnData(use: (data_dir: string) => Promise<unknown>): Promise<void> {
  const data_dir = await newDataDir()
  try {
    await use(data_dir)
  } finally {
    await removeDataDir(data_dir)
  }
}

/** Times to the first answer; and how fast the machine is, by which figures of other machines are compared. */
async function benchStart(data_dir: string): Promise<Record<string, unknown>> {
  const first = await startServer(data_dir)
  await first.stop()
  const server = await startServer(data_dir)
  const [first_start_ms, existing_data_ms] = [first, server].map(({ ready_ms }) =>
    Math.round(ready_ms),
  )
  process.stdout.write(`first start ${first_start_ms} ms, existing data ${existing_data_ms} ms\n`)
  const nothing = { variables: {}, statements: ['select 1'] }
  const { socket_dir } = server
  const rate = await database(nothing, { socket_dir, user: 'postgres' }, 16, 3)
  process.stdout.write(`select 1: ${rate}/s\n`)
  await server.stop()
  return { start: { first_start_ms, existing_data_ms }, select_1_per_second: rate }
}

function git(...args: string[]): string {
  return execFileSync('git', args, { encoding: 'utf8' }).trim()
}

await main()
