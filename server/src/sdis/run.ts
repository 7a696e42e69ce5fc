/** Runs one job: reads the file, maps rows to records, writes chunks, ends what a full snapshot lacks. */
import { DatabaseError } from 'pg'
import type { Session } from '../db/db.ts'
import { ranksOf } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource } from '../kit/resource.ts'
import { writableFields } from '../kit/resource.ts'
import type { Stream } from './adapter.ts'
import { chunks, survey } from './chunks.ts'
import type { Chunk, Source, Survey } from './chunks.ts'
import { endMissing } from './ending.ts'
import { chunksOf, countErrors, finishJob, LeaseLost, renewLease } from './job-queries.ts'
import { emptyCounts, withCounts } from './jobs.ts'
import type { JobError, JobState } from './jobs.ts'
import { KeyCounts } from './keys.ts'
import type { Load } from './load.ts'
import { partsOf, statedNames } from './mapping.ts'
import { lookUp, mapChunk, readyChunk, writeChunk } from './pass.ts'
import type { Changed } from './pass.ts'
import { fillPending } from './pending.ts'
import { FileError } from './readers/types.ts'
import { runAfter, saveRun, sourceId } from './record-queries.ts'
import { Resolver } from './resolve.ts'
import { announce, Cancelled, GuardTripped } from './running.ts'
import type { Held, Running } from './running.ts'
import { openSource } from './source.ts'

/** A long chunk is announced this often, so that the job is not taken for abandoned. */
const HEARTBEAT_MS = 15_000

/** Progress where nothing is written is saved at most this often. */
const QUIET_MS = 1_000

/** A job that died this often is not tried again: something in it kills workers. */
const ATTEMPTS_MAX = 15

/** How far values are believed that were read off the pages of a document, of 1000. */
const READ_CONFIDENCE = 600

/** Runs the job to an end state. Errors of the file end it; errors of the platform leave it to be taken again. */
export async function runJob(held: Held, file: string): Promise<void> {
  const { store, session, job, lease_id } = held
  const beat = setInterval(() => {
    store.db
      .transaction(job.org_id, async (tx) => await renewLease(tx, job, lease_id))
      .catch(() => {})
  }, HEARTBEAT_MS)
  let counts = { ...emptyCounts(), ...job.counts }
  const finish = async (state: JobState, error: Error | null): Promise<void> => {
    const reason = error ? jobError(error) : null
    await session.transaction(job.org_id, (tx) =>
      finishJob(tx, job, lease_id, state, counts, reason),
    )
  }
  try {
    if (job.state === 'cancelling') throw new Cancelled()
    if (job.attempts > ATTEMPTS_MAX)
      throw new GuardTripped('worker_crashed', `the job ended its worker ${ATTEMPTS_MAX} times`, {})
    const running = await begin(held)
    try {
      await loadFile(running, file)
    } finally {
      counts = running.counts
    }
  } catch (error) {
    if (error instanceof LeaseLost) return
    if (error instanceof Cancelled) await finish('cancelled', null)
    else if (error instanceof GuardTripped && error.review) await finish('awaiting_review', error)
    else if (isFinal(error)) await finish('failed', error)
    else throw error
  } finally {
    clearInterval(beat)
  }
}

/** Trying again would end the same way. */
function isFinal(error: unknown): error is Error {
  if (error instanceof GuardTripped || error instanceof FileError) return true
  if ((error as NodeJS.ErrnoException).code === 'ENOENT') return true
  return error instanceof DatabaseError && (error.code ?? '').startsWith('22')
}

/** Why the job ended, as clients see it. */
function jobError(error: Error): JobError {
  if (error instanceof GuardTripped || error instanceof FileError)
    return { code: error.code, message: error.message, details: error.details }
  const missing = (error as NodeJS.ErrnoException).code === 'ENOENT'
  return missing
    ? { code: 'file_missing', message: 'The file is no longer there. Send it again.', details: {} }
    : { code: 'internal', message: `A value cannot be stored: ${error.message}`, details: {} }
}

async function begin(held: Held): Promise<Running> {
  const { store, job } = held
  const { adapter, org_id } = job
  const stream = adapter.streams[0] as Stream
  const resource = store.registry.get(stream.type) as Resource
  const { name, rank } = adapter.source
  // What is read off pages is believed less, and never more than what a system states.
  const isRead = adapter.source.kind === 'pdf'
  const kind = isRead ? 'document_extraction' : 'adapter'
  const source_id = await sourceId(store.db, org_id, { name, rank, kind })
  const at = job.valid_from.getTime()
  const place = { org_id, source_id, stream: stream.name }
  const actor = { type: 'job', id: publicId('job', job.id), name: job.actor_name } as const
  const load: Load = {
    ...place,
    store,
    job_id: job.id,
    actor: { ...actor, request_id: null },
    sources: await ranksOf(store.db, org_id),
    confidence: isRead ? READ_CONFIDENCE : 1_000,
    rank,
    resource,
    names: statedNames(stream),
    parts: partsOf(stream, writableFields(resource)),
    at,
    next: await runAfter(store.db, place, at),
  }
  return {
    ...held,
    stream,
    load,
    fed: Promise.resolve(),
    counts: emptyCounts(),
    done: await chunksOf(store.db, job),
    errors: await countErrors(store.db, job),
  }
}

async function loadFile(running: Running, file: string): Promise<void> {
  const { job, session, load, lease_id } = running
  const { adapter } = job
  const complete = adapter.mode === 'full_snapshot'
  const found = await readOnce(running, file)
  if (found.rows < adapter.guards.min_rows) {
    throw new GuardTripped(
      'too_few_rows',
      `the file has ${found.rows} rows, at least ${adapter.guards.min_rows} are expected`,
      { rows: found.rows, min_rows: adapter.guards.min_rows },
    )
  }
  const seen = new KeyCounts()
  await passAll(running, await open(running, file), seen, found)
  if (complete) await endMissing(running, seen)
  await fillPending(running)
  await session.transaction(job.org_id, async (tx) => {
    const { counts } = running
    await saveRun(tx, load, { valid_from: job.valid_from, job_id: job.id, complete })
    const state = counts.quarantined > 0 ? 'completed_with_errors' : 'completed'
    await finishJob(tx, job, lease_id, state, counts, null)
  })
}

async function open({ job, stream, store }: Running, file: string): Promise<Source> {
  return await openSource(file, job.adapter, stream, store.registry)
}

async function readOnce(running: Running, file: string): Promise<Survey> {
  const source = await open(running, file)
  const { counts, stream } = running
  let quiet = performance.now()
  try {
    const found = await survey(source, stream.group, async () => {
      Object.assign(counts, source.table.stats())
      if (performance.now() - quiet < QUIET_MS) return
      quiet = performance.now()
      await announce(running, 'reading')
    })
    Object.assign(counts, source.table.stats(), { rows_total: found.rows })
    return found
  } finally {
    await source.table.close()
  }
}

/**
 * While a chunk is written the statements of the next one are built, and while they wait the one after it is read and
 * made ready.
 */
async function passAll(
  running: Running,
  source: Source,
  seen: KeyCounts,
  found: Survey,
): Promise<void> {
  const line = new Line(running, source)
  let no = 0
  try {
    for await (const chunk of chunks(source, seen, found)) await line.take(no++, chunk)
    await line.end()
  } finally {
    await line.settle()
    await source.table.close()
  }
}

/** The chunks on their way, one at each station. Those of earlier attempts pass by. */
class Line {
  private readonly running: Running
  private readonly source: Source
  private readonly resolver: Resolver
  private preparing: Promise<void> = Promise.resolve()
  private writing: Promise<void> = Promise.resolve()
  /** The write before that: its session is the next one's. */
  private written: Promise<void> = Promise.resolve()
  private sessions: [Session, Session]
  private quiet = performance.now()

  constructor(running: Running, source: Source) {
    this.running = running
    this.source = source
    this.resolver = new Resolver(running.load, running.stream, source.mapping)
    this.sessions = [running.session, running.spare]
  }

  async take(no: number, chunk: Chunk): Promise<void> {
    const { running } = this
    const before = running.done.get(no)
    if (before) {
      running.counts = withCounts(running.counts, before)
      return
    }
    const changed = handled(lookUp(running, chunk))
    await this.preparing
    this.preparing = handled(this.pass(no, chunk, changed))
    await running.fed
  }

  async end(): Promise<void> {
    await this.preparing
    await this.writing
  }

  /** Waits until nothing is under way any more, however it ended: the session must be free. */
  async settle(): Promise<void> {
    await Promise.allSettled([this.preparing, this.writing])
    await Promise.allSettled([this.writing])
  }

  private async pass(no: number, chunk: Chunk, changed: Changed): Promise<void> {
    const { running, source, resolver } = this
    await running.fed
    const mapped = await mapChunk(source, no, chunk, changed)
    if (mapped.items.length === 0 && mapped.errors.length === 0) {
      running.counts = withCounts(running.counts, mapped.counts)
      if (performance.now() - this.quiet < QUIET_MS) return
      this.quiet = performance.now()
      await this.writing
      await announce(running, 'writing')
      return
    }
    await running.fed
    const ready = await readyChunk(running, source, resolver, mapped)
    await this.written
    const [session, other] = this.sessions
    this.sessions = [other, session]
    this.written = this.writing
    this.writing = handled(writeChunk(running, source, resolver, ready, session, this.written))
  }
}

/** A promise that is awaited later: until then its failure is nobody's concern. */
function handled<T>(promise: Promise<T>): Promise<T> {
  promise.catch(() => {})
  return promise
}
