/** Rounds in which the product and the database alone take turns, so that both see the same machine. */
import { database, load } from './clients.ts'
import type { Script } from './clients.ts'
import type { Plan, Report } from './load.ts'
import type { Server } from './server.ts'

export interface RequestResult extends Report {
  scenario: string
  connections: number
  /** The same statements, context included, as the app role. */
  database_per_second: number
  /** The product's share of that. */
  ratio: number
  /** The bare statement as the owner, without row-level security and transaction. */
  bare_per_second: number | null
  bare_ratio: number | null
  memory_mb: number
}

const SECONDS = 3
const ROUNDS = 3
const CONNECTIONS = 32

/** Median of rounds in which product and database take turns, after one of the product that only warms it up. */
export async function rounds(
  server: Server,
  name: string,
  plan: Omit<Plan, 'port' | 'key' | 'connections' | 'seconds'>,
  flight: Script,
  bare: Script | null,
): Promise<RequestResult> {
  const { socket_dir, port, key } = server
  const reports: Report[] = []
  const flights: number[] = []
  const bares: number[] = []
  const ask = async (): Promise<Report> =>
    await load({ ...plan, port, key, connections: CONNECTIONS, seconds: SECONDS })
  await ask()
  for (let round = 0; round < ROUNDS; round++) {
    flights.push(await database(flight, { socket_dir, user: 'grid' }, 16, SECONDS))
    if (bare) bares.push(await database(bare, { socket_dir, user: 'postgres' }, 16, SECONDS))
    reports.push(await ask())
  }
  reports.sort((a, b) => a.per_second - b.per_second)
  const report = reports[Math.floor(ROUNDS / 2)] as Report
  const inFlight = median(flights)
  const alone = bare ? median(bares) : null
  const result = {
    scenario: name,
    connections: CONNECTIONS,
    ...report,
    database_per_second: inFlight,
    ratio: share(report.per_second, inFlight),
    bare_per_second: alone,
    bare_ratio: alone === null ? null : share(report.per_second, alone),
    memory_mb: await server.peakMemory(),
  }
  process.stdout.write(
    `${name}: ${report.per_second}/s, database ${inFlight}/s (${result.ratio})${alone ? `, bare ${alone}/s (${result.bare_ratio})` : ''}, p99 ${report.p99_ms} ms, failed ${report.failed}\n`,
  )
  return result
}

function median(values: number[]): number {
  return values.sort((a, b) => a - b)[Math.floor(values.length / 2)] as number
}

function share(part: number, whole: number): number {
  return Math.round((part / whole) * 100) / 100
}
