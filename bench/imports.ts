/** Loading files: the published workbooks, and a large CSV twice; then reads at another time on what was loaded. */
import { createWriteStream } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { openAsBlob } from 'node:fs'
import { join } from 'node:path'
import { once } from 'node:events'
import { insertedRows, storeAgain } from './limit.ts'
import type { StoredRows } from './limit.ts'
import { settled } from './seed.ts'
import type { Server } from './server.ts'

export interface ImportResult {
  file: string
  rows: number
  facts: number
  unchanged: number
  seconds: number
  rows_per_second: number
  /** Facts written, or for a file without changes facts confirmed, per second. */
  facts_per_second: number
  peak_memory_mb: number
}

export interface TimedRead {
  read: string
  facts_in_database: number
  p50_ms: number
  p95_ms: number
}

interface Job {
  id: string
  state: string
  counts: { rows_read: number; facts: number; unchanged: number; created: number }
  error: unknown
  started_at: string
  finished_at: string
}

export async function runJob(
  server: Server,
  adapter: string,
  file: string,
  as_of: string,
): Promise<Job> {
  const form = new FormData()
  form.set('adapter', adapter)
  form.set('as_of', as_of)
  form.set('file', await openAsBlob(file), file.slice(file.lastIndexOf('/') + 1))
  const headers = { 'x-api-key': server.key }
  const answer = await fetch(`${server.base}/sdis/jobs`, { method: 'POST', headers, body: form })
  if (answer.status !== 202) throw new Error(await answer.text())
  let job = (await answer.json()) as Job
  while (['queued', 'validating', 'running'].includes(job.state)) {
    await new Promise((resolve) => setTimeout(resolve, 100))
    job = (await (await fetch(`${server.base}/sdis/jobs/${job.id}`, { headers })).json()) as Job
  }
  if (!job.state.startsWith('completed')) throw new Error(`${file}: ${JSON.stringify(job)}`)
  return job
}

/** Loads a file and tells how fast it was. @param perRow facts that a row without changes confirms. */
export async function measure(
  server: Server,
  name: string,
  adapter: string,
  file: string,
  as_of: string,
  perRow: number,
): Promise<ImportResult> {
  const job = await runJob(server, adapter, file, as_of)
  const seconds = (Date.parse(job.finished_at) - Date.parse(job.started_at)) / 1_000
  const { rows_read: rows, facts, unchanged } = job.counts
  const confirmed = facts > 0 ? facts : unchanged * perRow
  const result = {
    file: name,
    rows,
    facts,
    unchanged,
    seconds,
    rows_per_second: Math.round(rows / seconds),
    facts_per_second: Math.round(confirmed / seconds),
    peak_memory_mb: await server.peakMemory(),
  }
  process.stdout.write(
    `${name}: ${rows} rows in ${seconds} s, ${result.rows_per_second} rows/s, ${result.facts_per_second} facts/s, peak ${result.peak_memory_mb} MB\n`,
  )
  return result
}

const GSA = 'examples/gsa-iolp'

export async function benchWorkbooks(server: Server): Promise<ImportResult[]> {
  const results: ImportResult[] = []
  for (const month of ['2025-05', '2025-06']) {
    for (const kind of ['buildings', 'leases']) {
      const adapter = await readFile(`${GSA}/${kind}.yaml`, 'utf8')
      const day = month === '2025-05' ? '2025-05-23' : '2025-06-20'
      results.push(
        await measure(
          server,
          `iolp-${kind}-${month}.xlsx`,
          adapter,
          `${GSA}/data/iolp-${kind}-${month}.xlsx`,
          day,
          10,
        ),
      )
    }
  }
  return results
}

/** Of the CSV. */
export const COLUMNS = [
  'Code',
  'Name',
  'Line1',
  'City',
  'State',
  'Zip',
  'Class',
  'Use',
  'Built',
  'Renovated',
  'Above',
  'Below',
  'Gross',
  'Rentable',
  'Usable',
  'Parking',
  'Passenger',
  'Freight',
  'Clear',
  'Docks',
  'Doors',
  'Amps',
  'Construction',
  'Hvac',
  'Sprinklers',
]

/** A CSV of buildings, 25 columns a row. */
export async function writeCsv(folder: string, rows: number): Promise<string> {
  const path = join(folder, `buildings-${rows}.csv`)
  const out = createWriteStream(path)
  let text = `${COLUMNS.join(',')}\n`
  for (let n = 0; n < rows; n++) {
    text += `B-${n},Building ${n},${n % 999} Harbor Street,${['Boston', 'Austin', 'Seattle', 'Denver'][n % 4]},${['MA', 'TX', 'WA', 'CO'][n % 4]},${10_000 + (n % 89_999)},${['a', 'b', 'c'][n % 3]},${['office', 'industrial', 'retail'][n % 3]},${1950 + (n % 70)},${2000 + (n % 20)},${1 + (n % 40)},${n % 4},${20_000 + (n % 7_919)},${18_000 + (n % 7_919)},${16_000 + (n % 7_919)},${n % 500},${1 + (n % 8)},${n % 3},${12 + (n % 28)},${n % 60},${n % 6},${400 + (n % 8) * 100},${['steel', 'concrete'][n % 2]},${['vav', 'rtu'][n % 2]},${n % 2 ? 'yes' : 'no'}\n`
    if (text.length > 1_000_000) {
      if (!out.write(text)) await once(out, 'drain')
      text = ''
    }
  }
  out.end(text)
  await once(out, 'finish')
  return path
}

/** Values that each row of the CSV states. */
export const FACTS_PER_ROW = 21

export const ADAPTER = `
adapter: bench-buildings
source: { name: Bench, kind: csv }
mode: full_snapshot
streams:
  - type: building
    key: row.Code
    map:
      code: row.Code
      name: row.Name
      address: { object: { line1: row.Line1, city: row.City, region: "'US-' + row.State", postal_code: row.Zip, country: { value: US } } }
      building_class: row.Class
      primary_use: row.Use
      year_built: row.Built
      year_renovated: row.Renovated
      floors_above_ground: row.Above
      floors_below_ground: row.Below
      gross_area: row.Gross
      rentable_area: row.Rentable
      usable_area: row.Usable
      parking_spaces: row.Parking
      elevators_passenger: row.Passenger
      elevators_freight: row.Freight
      clear_height: row.Clear
      dock_doors: row.Docks
      drive_in_doors: row.Doors
      construction_type: row.Construction
      hvac_type: row.Hvac
      sprinklered: row.Sprinklers
`

/** What a large CSV takes: first, again when the log of the first load is sealed, and to read at another time. */
export interface CsvResult {
  loads: ImportResult[]
  limit: StoredRows
  times: TimedRead[]
}

export async function benchCsv(server: Server, rows: number): Promise<CsvResult> {
  const path = await writeCsv(server.data_dir, rows)
  const before = await insertedRows(server)
  const first = await measure(
    server,
    `buildings-${rows}.csv`,
    ADAPTER,
    path,
    '2026-01-31',
    FACTS_PER_ROW,
  )
  const inserted = await insertedRows(server)
  await settled(server)
  const again = await measure(
    server,
    `buildings-${rows}.csv again`,
    ADAPTER,
    path,
    '2026-02-28',
    FACTS_PER_ROW,
  )
  const times = await benchTimes(server, first.facts)
  const tables = [...inserted].filter(([name, n]) => n - (before.get(name) ?? 0) > rows / 2)
  const limit = await storeAgain(
    server,
    tables.map(([name]) => name),
    first.seconds,
  )
  return { loads: [first, again], limit, times }
}

/** Reads of the past beside all the facts the imports left. */
async function benchTimes(server: Server, facts: number): Promise<TimedRead[]> {
  const headers = { 'x-api-key': server.key }
  const page = (await (
    await fetch(`${server.base}/buildings?limit=200&sort=-id`, { headers })
  ).json()) as { data: { id: string }[] }
  const ids = page.data.map((row) => row.id)
  const one = await timed(
    300,
    (i) => `${server.base}/buildings/${ids[i % ids.length]}?as_of=2026-02-01`,
    headers,
  )
  const many = await timed(
    60,
    () => `${server.base}/buildings?limit=100&sort=-id&as_of=2026-02-01`,
    headers,
  )
  const known = await timed(
    60,
    () =>
      `${server.base}/buildings?limit=100&sort=-id&known_at=${new Date(Date.now() - 61_000).toISOString()}`,
    headers,
  )
  return [
    { read: 'one object as of a date', facts_in_database: facts, ...one },
    { read: 'page of 100 as of a date', facts_in_database: facts, ...many },
    { read: 'page of 100 as known a minute ago', facts_in_database: facts, ...known },
  ]
}

async function timed(
  count: number,
  url: (i: number) => string,
  headers: Record<string, string>,
): Promise<{ p50_ms: number; p95_ms: number }> {
  const times: number[] = []
  for (let i = 0; i < count; i++) {
    const started = performance.now()
    const answer = await fetch(url(i), { headers })
    await answer.arrayBuffer()
    if (!answer.ok) throw new Error(`${answer.status} ${url(i)}`)
    times.push(performance.now() - started)
  }
  times.sort((a, b) => a - b)
  const at = (share: number): number =>
    Math.round((times[Math.floor(count * share)] as number) * 100) / 100
  process.stdout.write(`${url(0).replace(/^.*v1/, '')}: p50 ${at(0.5)} ms, p95 ${at(0.95)} ms\n`)
  return { p50_ms: at(0.5), p95_ms: at(0.95) }
}
