/** Lists as files: rows per second and memory of a whole list of leases, streamed and written in the background. */
import { seedPortfolio } from './requests.ts'
import { ownerClient } from './seed.ts'
import type { Server } from './server.ts'

const LEASES = 100_000

export interface ExportResult {
  what: string
  rows: number
  megabytes: number
  seconds: number
  rows_per_second: number
  /** Of the process since its start. */
  peak_memory_mb: number
}

/** @param server a fresh one, so that its peak memory is that of the files. */
export async function benchExports(server: Server): Promise<ExportResult[]> {
  await seedPortfolio(server, LEASES)
  const leases = await leasesOf(server)
  const results = [await empty(server)]
  for (const format of ['csv', 'ndjson', 'xlsx'])
    results.push(
      await measured(server, `list as ${format}`, () => streamed(server, format, leases)),
    )
  for (const format of ['csv', 'parquet'])
    results.push(await measured(server, `export as ${format}`, () => exported(server, format)))
  return results
}

/** What the process has taken before the first file. */
async function empty(server: Server): Promise<ExportResult> {
  return await measured(server, 'before', async () => ({ rows: 0, bytes: 0 }))
}

async function measured(
  server: Server,
  what: string,
  run: () => Promise<{ rows: number; bytes: number }>,
): Promise<ExportResult> {
  const started = performance.now()
  const { rows, bytes } = await run()
  const seconds = Math.round(performance.now() - started) / 1_000
  const result = {
    what,
    rows,
    megabytes: Math.round(bytes / 1_048_576),
    seconds,
    rows_per_second: Math.round(rows / Math.max(seconds, 0.001)),
    peak_memory_mb: await server.peakMemory(),
  }
  process.stdout.write(`${JSON.stringify(result)}\n`)
  return result
}

/** How many there are: those of other parts of the run, too. */
async function leasesOf(server: Server): Promise<number> {
  const client = await ownerClient(server)
  const { rows } = await client.query<{ n: string }>(
    'select count(*) as n from lease where deleted_at is null and archived_at is null',
  )
  await client.end()
  return Number(rows[0]?.n)
}

async function streamed(
  server: Server,
  format: string,
  leases: number,
): Promise<{ rows: number; bytes: number }> {
  const answer = await fetch(`${server.base}/leases?format=${format}`, {
    headers: { 'x-api-key': server.key },
  })
  if (!answer.ok || !answer.body) throw new Error(await answer.text())
  let bytes = 0
  let lines = 0
  for await (const chunk of answer.body) {
    bytes += chunk.length
    for (const byte of chunk) if (byte === 10) lines++
  }
  const expected = format === 'csv' ? leases + 1 : leases
  if (format !== 'xlsx' && lines !== expected) throw new Error(`${format} has ${lines} lines`)
  return { rows: leases, bytes }
}

async function exported(server: Server, format: string): Promise<{ rows: number; bytes: number }> {
  const headers = { 'x-api-key': server.key, 'content-type': 'application/json' }
  const asked = await fetch(`${server.base}/exports`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ type: 'lease', format }),
  })
  const { id } = (await asked.json()) as { id: string }
  for (;;) {
    const answer = await fetch(`${server.base}/exports/${id}`, { headers })
    const one = (await answer.json()) as {
      state: string
      rows_written: number
      file: { byte_size: number } | null
    }
    if (one.file) return { rows: one.rows_written, bytes: one.file.byte_size }
    if (one.state === 'failed') throw new Error(JSON.stringify(one))
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
