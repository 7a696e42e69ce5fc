/** Runs one job: reads the file, maps rows to records, writes chunks, ends what a full snapshot lacks. */
import { DatabaseError } from 'pg'
import { idDigits, publicId } from '../kit/ids.ts'
import type { Resource } from '../kit/resource.ts'
import { writableFields } from '../kit/resource.ts'
import type { Stream } from './adapter.ts'
import { check, checksFirst, judge } from './check.ts'
import { survey } from './chunks.ts'
import type { Source, Survey } from './chunks.ts'
import { endMissing } from './ending.ts'
import { fixReplayed, forgetUnfinished } from './error-queries.ts'
import { chunksOf, findJob, finishJob, LeaseLost, renewLease, tellStarted } from './job-queries.ts'
import { emptyCounts } from './jobs.ts'
import type { Job, JobError, JobState } from './jobs.ts'
import { KeyCounts } from './keys.ts'
import { passAll, QUIET_MS } from './line.ts'
import type { Put } from './line.ts'
import type { Load } from './load.ts'
import { partsOf, statedNames } from './mapping.ts'
import { writeChunk } from './pass.ts'
import { fillPending } from './pending.ts'
import { FileError } from './readers/types.ts'
import { findSource, runAfter, saveRun, sourceId } from './record-queries.ts'
import type { Resolver } from './resolve.ts'
import { noteWriting } from './run-event-queries.ts'
import { announce, Cancelled, GuardTripped } from './running.ts'
import type { Held, Running } from './running.ts'
import { emptySource, openSource } from './source.ts'
import { Statistics } from './statistics.ts'
import { undoJob } from './undo.ts'
import { requireWholeSize, writeWhole } from './whole.ts'

/** A long chunk is announced this often, so that the job is not taken for abandoned. */
const HEARTBEAT_MS = 15_000

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
    await session.transaction(job.org_id, (tx) => tellStarted(tx, job))
    const running = await begin(held)
    try {
      if (job.kind === 'undo') await undoJob(running)
      else {
        await held.fetch?.(running, file)
        await loadFile(running, file)
      }
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
  return {
    ...held,
    stream: job.adapter.streams[0] as Stream,
    load: await loadOf(held),
    fed: Promise.resolve(),
    counts: emptyCounts(),
    done: await chunksOf(store.db, job),
    errors: await forgetUnfinished(store.db, job),
    diff: null,
    external: null,
    whole: null,
  }
}

async function loadOf({ store, job }: Held): Promise<Load> {
  const { adapter, org_id } = job
  const stream = adapter.streams[0] as Stream
  const resource = store.registry.get(stream.type) as Resource
  const { name, rank } = adapter.source
  const isRead = adapter.source.kind === 'pdf'
  // What is read off pages is believed less, and never more than what a system states.
  const kind = isRead ? 'document_extraction' : 'adapter'
  const source_id = await sourceOf(store, job, kind)
  const at = job.valid_from.getTime()
  const place = { org_id, source_id, stream: stream.name }
  const next = await runAfter(store.db, place, at)
  return {
    ...place,
    store,
    job_id: job.id,
    source: { id: source_id, kind, name, rank, min_confidence: 0 },
    confidence: isRead ? READ_CONFIDENCE : 1_000,
    actor: {
      type: 'job',
      id: publicId('job', job.id),
      name: job.actor_name,
      request_id: null,
    },
    resource,
    names: statedNames(stream),
    parts: partsOf(stream, writableFields(resource)),
    at,
    next,
    all: next !== null || job.options.force === true,
    watched: false,
    unseen: false,
  }
}

/** The id of the adapter's source. A dry run of a new one makes nothing: it takes an id for itself. */
async function sourceOf({ db }: Held['store'], job: Job, kind: string): Promise<number> {
  const { name, rank } = job.adapter.source
  if (!job.dry_run) return await sourceId(db, job.org_id, { name, rank, kind })
  const [id] = await db.ids(1)
  return (await findSource(db, job.org_id, { name, kind })) ?? (id as number)
}

async function loadFile(running: Running, file: string): Promise<void> {
  const { job, limits } = running
  const found = await readOnce(running, file)
  const { min_rows } = job.adapter.guards
  const fewest = hasNothingNew(job) && min_rows === 1 ? 0 : min_rows
  if (found.rows < fewest && job.kind === 'load') {
    throw new GuardTripped(
      'too_few_rows',
      `the file has ${found.rows} rows, at least ${min_rows} are expected`,
      { rows: found.rows, min_rows },
    )
  }
  const { atomic = false } = job.options
  if (atomic) requireWholeSize(found.rows, limits.atomic_rows)
  if (checksFirst(running) && (await checkFirst(running, file, found)) === 'done') return
  await running.session.transaction(job.org_id, (tx) => noteWriting(tx, job))
  const statistics = new Statistics(job.org_id, running.load.resource.name)
  if (atomic) await writeWhole(running, async () => await open(running, file), found)
  else await writeChunks(running, file, found, statistics)
  await statistics.end(running.session, written(running))
}

/** Objects that the job has made or changed so far. */
function written({ counts }: Running): number {
  return counts.created + counts.changed
}

/** @returns `done` when nothing is to be written. */
async function checkFirst(
  running: Running,
  file: string,
  found: Survey,
): Promise<'done' | 'go on'> {
  const { job, session, lease_id, store } = running
  const expected = await expectedHash(running)
  const { checked, hash } = await check(running, await open(running, file), found)
  if (job.dry_run) {
    running.counts = checked.counts
    const state = checked.counts.quarantined > 0 ? 'completed_with_errors' : 'completed'
    await session.transaction(job.org_id, (tx) =>
      finishJob(tx, job, lease_id, state, checked.counts, null),
    )
    return 'done'
  }
  judge(job, checked.diff, hash, expected)
  running.errors = await forgetUnfinished(store.db, job)
  return 'go on'
}

/** What the check must come to: what was approved, else the dry run that the job names; null for anything. */
async function expectedHash({ job, store }: Running): Promise<string | null> {
  if (job.approved && job.diff_hash !== null) return job.diff_hash
  const { diff } = job.options
  if (diff === undefined) return null
  const dry = await findJob(store.db, job.org_id, idDigits('job', diff) ?? 0)
  return dry?.diff_hash ?? ''
}

async function writeChunks(
  running: Running,
  file: string,
  found: Survey,
  statistics: Statistics,
): Promise<void> {
  const { job, session, load, lease_id } = running
  const complete = job.adapter.mode === 'full_snapshot'
  const seen = new KeyCounts()
  const source = await open(running, file)
  await passAll(running, source, seen, found, (opened, resolver) =>
    alternating(running, opened, resolver, statistics),
  )
  if (complete) await endMissing(running, seen)
  await fillPending(running)
  await session.transaction(job.org_id, async (tx) => {
    const { counts } = running
    // A replay is of single rows: it says nothing of the others at its date.
    if (job.kind === 'load')
      await saveRun(tx, load, { valid_from: job.valid_from, job_id: job.id, complete })
    else await fixReplayed(tx, job)
    const state = counts.quarantined > 0 ? 'completed_with_errors' : 'completed'
    await finishJob(tx, job, lease_id, state, counts, null)
  })
}

/** Writes chunks by two sessions in turn, so that the next transaction opens while one is written. */
function alternating(
  running: Running,
  source: Source,
  resolver: Resolver,
  statistics: Statistics,
): Put {
  let sessions = [running.session, running.spare] as const
  return async (ready, before) => {
    const [session, other] = sessions
    sessions = [other, session]
    await writeChunk(running, source, resolver, ready, session, before)
    await statistics.keepUp(session, written(running))
  }
}

/** A source that is asked only for what changed often finds that nothing did. */
function hasNothingNew({ pulled }: Job): boolean {
  return pulled?.rows === 0 && pulled.cursor_from !== null
}

async function open({ job, stream, store, limits }: Running, file: string): Promise<Source> {
  if (hasNothingNew(job)) return emptySource(job.adapter, stream, store.registry)
  return await openSource(file, job.adapter, stream, store.registry, {
    max_rows: limits.rows,
    max_columns: limits.columns,
    max_cell_chars: limits.cell_chars,
    max_unzipped_bytes: limits.unzipped_bytes,
  })
}

async function readOnce(running: Running, file: string): Promise<Survey> {
  // Checks are of what was pulled.
  if (hasNothingNew(running.job)) return { rows: 0, groups: null, issues: [] }
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
