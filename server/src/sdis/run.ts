/** Runs one job: reads the file, maps rows to records, writes chunks, ends what a full snapshot lacks. */
import type { Session } from '../db/db.ts'
import { ranksOf } from '../kit/history.ts'
import type { Resource } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Actor } from '../kit/types.ts'
import { publicId } from '../kit/ids.ts'
import type { Stream } from './adapter.ts'
import { chunks } from './chunks.ts'
import type { Chunk, Source as ChunkSource } from './chunks.ts'
import { GuardTripped } from './running.ts'
import type { Running } from './running.ts'
import { endMissing } from './ending.ts'
import {
  addCounts,
  chunksOf,
  emptyCounts,
  finishJob,
  jobError,
  LeaseLost,
  renewLease,
  saveChunk,
  saveErrors,
  saveProgress,
} from './jobs.ts'
import type { Job, JobCounts, JobState, Phase } from './jobs.ts'
import { KeyCounts } from './keys.ts'
import { ChunkConflict, prepare, write } from './load.ts'
import type { Load, LoadItem } from './load.ts'
import { compileMapping } from './mapping.ts'
import { knownRecords, runsAround, sourceId } from './queries.ts'
import { FileError } from './readers/types.ts'
import { openTable } from './readers/open.ts'
import { Resolver } from './resolve.ts'

/** A long chunk is announced this often, so that the job is not taken for abandoned. */
const HEARTBEAT_MS = 15_000

/** Times a chunk is prepared anew when API writes touched its objects meanwhile. */
const CHUNK_TRIES = 10

/** Progress of chunks that write nothing is saved at most this often. */
const QUIET_MS = 1_000

/** A job that died this often is not tried again: something in it kills workers. */
const ATTEMPTS_MAX = 15

class Cancelled extends Error {}

/** Runs the job to an end state. Errors of the file end it; errors of the platform leave it to be taken again. */
export async function runJob(
  store: Store,
  session: Session,
  job: Job,
  lease_id: number,
  file: string,
): Promise<void> {
  const beat = setInterval(() => {
    store.db
      .transaction(job.org_id, async (tx) => await renewLease(tx, job, lease_id))
      .catch(() => {})
  }, HEARTBEAT_MS)
  const counts = emptyCounts()
  const finish = async (state: JobState, error: Error | null): Promise<void> =>
    await session.transaction(
      job.org_id,
      async (tx) =>
        await finishJob(tx, job, lease_id, state, counts, error ? jobError(error) : null),
    )
  try {
    if (job.state === 'cancelling') throw new Cancelled()
    if (job.attempts > ATTEMPTS_MAX)
      throw new GuardTripped('worker_crashed', `the job ended its worker ${ATTEMPTS_MAX} times`, {})
    await loadFile(store, session, job, lease_id, file, counts)
    await finish(counts.quarantined > 0 ? 'completed_with_errors' : 'completed', null)
  } catch (error) {
    if (error instanceof LeaseLost) return
    if (error instanceof Cancelled) await finish('cancelled', null)
    else if (error instanceof GuardTripped)
      await finish(error.review ? 'awaiting_review' : 'failed', error)
    else if (error instanceof FileError) await finish('failed', error)
    else throw error
  } finally {
    clearInterval(beat)
  }
}

async function loadFile(
  store: Store,
  session: Session,
  job: Job,
  lease_id: number,
  file: string,
  counts: JobCounts,
): Promise<void> {
  const { adapter, org_id } = job
  const stream = adapter.streams[0] as Stream
  const resource = store.registry.get(stream.type) as Resource
  const source_id = await sourceId(store.db, org_id, adapter.source.name, adapter.source.rank)
  const at = job.valid_from.getTime()
  const { next } = await runsAround(store.db, org_id, source_id, stream.name, at)
  const actor: Actor = {
    type: 'job',
    id: publicId('job', job.id),
    name: job.actor_name,
    request_id: null,
  }
  const load: Load = {
    store,
    org_id,
    job_id: job.id,
    actor,
    source_id,
    sources: await ranksOf(store.db, org_id),
    stream: stream.name,
    resource,
    names: new Set([
      ...Object.keys(stream.map),
      ...Object.keys(stream.resolve).filter((name) => !name.includes('.')),
    ]),
    at,
    next,
  }
  const done = await chunksOf(store.db, job)
  const running: Running = {
    store,
    session,
    job,
    lease_id,
    stream,
    resource,
    load,
    counts,
    done,
    errors: 0,
  }
  const seen = await readAll(running, file)
  if (counts.rows_read < adapter.guards.min_rows) {
    throw new GuardTripped(
      'too_few_rows',
      `the file has ${counts.rows_read} rows, at least ${adapter.guards.min_rows} are expected`,
      { rows: counts.rows_read },
    )
  }
  if (adapter.mode === 'full_snapshot') await endMissing(running, seen)
  await session.transaction(org_id, async (tx) => {
    await tx.query(
      `insert into stream_run (org_id, source_id, stream, valid_from, job_id, complete) values ($1, $2, $3, $4, $5, $6)
       on conflict do nothing`,
      [org_id, source_id, stream.name, job.valid_from, job.id, adapter.mode === 'full_snapshot'],
    )
  })
}

/** Reads the file once, or twice where rows are grouped: first to learn which keys have several rows. */
async function readAll(running: Running, file: string): Promise<KeyCounts> {
  const { job, stream, resource } = running
  const { adapter } = job
  const open = async (): Promise<ChunkSource> => {
    const table = await openTable(file, adapter.source)
    const mapping = compileMapping(adapter, stream, resource, table.columns)
    requireColumns(
      table.columns,
      [...mapping.columns, ...adapter.guards.require_columns],
      table.header_row,
    )
    return { table, mapping }
  }
  const groups = stream.group ? await countKeys(await open()) : null
  const seen = new KeyCounts()
  const source = await open()
  const resolver = new Resolver(running.load, stream, source.mapping)
  let no = 0
  let quiet = 0
  try {
    for await (const chunk of chunks(source, seen, groups)) {
      const progress = source.table.stats()
      running.counts.bytes_read = progress.bytes_read
      running.counts.bytes_total = progress.bytes_total
      const wrote = await passChunk(running, resolver, no++, chunk)
      guardErrors(running)
      if (wrote || performance.now() - quiet < QUIET_MS) continue
      quiet = performance.now()
      await announce(running, 'writing')
    }
  } finally {
    await source.table.close()
  }
  return seen
}

function requireColumns(columns: readonly string[], wanted: readonly string[], row: number): void {
  const known = new Set(columns.map((column) => column.toLowerCase()))
  const missing = [...new Set(wanted)].filter((column) => !known.has(column.toLowerCase()))
  if (missing.length === 0) return
  throw new FileError('missing_columns', `the header in row ${row} lacks ${missing.join(', ')}`, {
    missing,
    found: columns,
    row,
  })
}

async function countKeys({ table, mapping }: ChunkSource): Promise<KeyCounts> {
  const counts = new KeyCounts()
  try {
    for await (const batch of table.rows) {
      for (const row of batch) {
        const key = mapping.key.evaluate(row.cells)
        if (key !== null) counts.add(String(key).trim())
      }
    }
  } finally {
    await table.close()
  }
  return counts
}

/** Writes a chunk unless an earlier attempt of the job did. @returns whether the transaction saved progress. */
async function passChunk(
  running: Running,
  resolver: Resolver,
  no: number,
  chunk: Chunk,
): Promise<boolean> {
  const { counts, done, load } = running
  const read = {
    rows_read: chunk.rows,
    quarantined: chunk.quarantined,
    warnings: chunk.warnings,
    rows_valid: chunk.rows - chunk.quarantined,
  }
  const before = done.get(no)
  if (before) {
    addCounts(counts, before)
    running.errors += chunk.errors.length
    return false
  }
  const known = await knownRecords(
    load.store.db,
    load.org_id,
    load.source_id,
    load.stream,
    chunk.records.map((r) => r.key),
  )
  const items: LoadItem[] = []
  const sources: Chunk['records'] = []
  let unchanged = 0
  chunk.records.forEach((record, i) => {
    const match = known[i]
    if (match && !match.gone && match.row_hash === record.hash && load.next === null) unchanged++
    else {
      items.push({
        key: record.key,
        row: record.row,
        hash: record.hash,
        object_id: match?.object_id ?? null,
        stated: record.stated,
      })
      sources.push(record)
    }
  })
  const errors = [...chunk.errors]
  if (items.length === 0 && errors.length === 0) {
    addCounts(counts, { ...read, unchanged })
    return false
  }
  for (let attempt = 1; ; attempt++) {
    try {
      await writeChunk(running, resolver, no, {
        items,
        sources,
        errors,
        read: { ...read, unchanged },
      })
      return true
    } catch (error) {
      if (!(error instanceof ChunkConflict) || attempt === CHUNK_TRIES) throw error
    }
  }
}

interface ChunkWrite {
  items: LoadItem[]
  sources: Chunk['records']
  errors: Chunk['errors']
  read: Partial<JobCounts>
}

async function writeChunk(
  running: Running,
  resolver: Resolver,
  no: number,
  chunk: ChunkWrite,
): Promise<void> {
  const { session, job, lease_id, load, counts, stream } = running
  const resolved = await resolver.resolve(chunk.items, chunk.sources)
  const prepared = await prepare(load, resolved.items)
  const errors = [...chunk.errors, ...resolved.errors]
  const failed = resolved.errors.filter((error) => error.level === 'error').length
  const part: Partial<JobCounts> = {
    ...prepared.counts,
    ...chunk.read,
    unchanged: (chunk.read.unchanged ?? 0) + prepared.counts.unchanged,
    quarantined: (chunk.read.quarantined ?? 0) + failed,
    rows_valid: (chunk.read.rows_valid ?? 0) - failed,
    warnings: (chunk.read.warnings ?? 0) + resolved.errors.length - failed,
    stubs: resolved.stubs.length,
  }
  const total: JobCounts = { ...structuredClone(counts) }
  addCounts(total, part)
  const state = await session.transaction(job.org_id, async (tx) => {
    await resolver.writeStubs(tx, resolved.stubs)
    await write(load, tx, prepared)
    await saveErrors(tx, job, stream.name, running.errors, errors)
    await saveChunk(tx, job, no, part)
    return await saveProgress(tx, job, lease_id, 'writing', total)
  })
  resolver.keep(resolved.stubs)
  Object.assign(counts, total)
  running.errors += errors.length
  if (state === 'cancelling') throw new Cancelled()
}

/** Saves progress apart from any chunk. @throws Cancelled when a client asked for it. */
export async function announce(running: Running, phase: Phase): Promise<void> {
  const { session, job, lease_id, counts } = running
  const state = await session.transaction(
    job.org_id,
    async (tx) => await saveProgress(tx, job, lease_id, phase, counts),
  )
  if (state === 'cancelling') throw new Cancelled()
}

/** Small files are judged whole, large ones as soon as their share of errors means something. */
function guardErrors({ counts, job }: Running): void {
  const { max_errors, max_error_pct } = job.adapter.guards
  const pct = (100 * counts.quarantined) / Math.max(1, counts.rows_read)
  const enough = counts.rows_read >= 200 || counts.bytes_read >= counts.bytes_total
  if (counts.quarantined > max_errors || (enough && pct > max_error_pct)) {
    const { quarantined, rows_read } = counts
    throw new GuardTripped(
      'too_many_errors',
      `${quarantined} of ${rows_read} rows cannot be used; see the job's errors`,
      { quarantined, rows_read, max_errors, max_error_pct },
    )
  }
}
