/** Accepting, reading, approving and cancelling jobs. */
import { basename, join } from 'node:path'
import { DatabaseError } from 'pg'
import { Spool } from '../documents/index.ts'
import type { FileKey } from '../documents/index.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { earlierAnswer, original, remember } from '../kit/idempotency.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import { rowsIn } from '../kit/once.ts'
import { startOfDay } from '../kit/query.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { findMany } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, Caller, OrgRows, Tx } from '../kit/types.ts'
import type { Outcome, WriteRequest } from '../kit/write.ts'
import { fixedReferences } from './adapter-checks.ts'
import { adapterHash } from './adapter.ts'
import type { Adapter, Stream } from './adapter.ts'
import {
  countQueued,
  findJob,
  insertJob,
  openUndo,
  requestApproval,
  requestCancel,
} from './job-queries.ts'
import { END_STATES, jobView } from './jobs.ts'
import type { Job, JobOptions, JobState } from './jobs.ts'
import type { JobLimits } from './limits.ts'
import { laterJob, mergesOfMade } from './undo-queries.ts'

/** Merges that a refused undo names. */
const MERGES_NAMED = 20

/** Where files of jobs wait and stay until a day after the job ended. */
export function importSpool(data_dir: string): Spool {
  return new Spool(join(data_dir, 'imports'))
}

/** The place of a job's file: the job stands where a document would. */
export function jobFileKey(org_id: number, job_id: number): FileKey {
  return { org_id, document_id: job_id, version_id: 0 }
}

export interface JobRequest {
  id: number
  adapter: Adapter
  as_of: string
  dry_run: boolean
  options: JobOptions
  file: { name: string; path: string; byte_size: number; sha256: string }
}

/** @throws 422 when the adapter names an object that the organization does not have. */
export async function requireReferences(
  store: Store,
  org_id: number,
  adapter: Adapter,
): Promise<void> {
  const issues: Issue[] = []
  for (const { field, target, id } of fixedReferences(
    adapter.streams[0] as Stream,
    store.registry,
  )) {
    const resource = store.registry.get(target) as Resource
    const digits = idDigits(resource.prefix, id)
    const found = digits === null ? null : await findMany(store, org_id, resource, [digits])
    if (found?.size) continue
    const message = `no ${target.replaceAll('_', ' ')} has the id ${id}`
    issues.push({ field, code: 'not_found', message })
  }
  if (issues.length > 0) throw invalid(issues)
}

/** Queues a job; the row and the answer to a repeated request are written together. */
export async function enqueue(
  store: Store,
  request: Omit<WriteRequest, 'defaults'>,
  caller: Pick<Caller, 'time_zone'>,
  wanted: JobRequest,
  limits: JobLimits,
): Promise<Outcome> {
  const { org_id, actor, idempotency } = request
  const job = newJob(wanted, org_id, caller, actor.name)
  const body = JSON.stringify(jobView(job))
  try {
    return await store.db.transaction(org_id, async (tx) => {
      await queue(tx, job, actor, limits)
      if (idempotency) {
        const headers = { location: jobPath(job.id), ...original(actor) }
        const record = { ...idempotency, status: 202, headers, body }
        await remember(tx, org_id, record, job.created_at)
      }
      return { id: job.id, version: 1, body, replayed: null }
    })
  } catch (error) {
    const used = error instanceof DatabaseError && error.code === '23505' && idempotency
    const replayed = used ? await earlierAnswer(store, request) : null
    if (!replayed) throw error
    return { id: job.id, version: 1, body: replayed.body, replayed }
  }
}

/** @throws 409 when as many jobs wait as may. */
async function queue(tx: Tx, job: Job, actor: Actor, { queued }: JobLimits): Promise<void> {
  if ((await countQueued(tx, job.org_id)) >= queued) {
    const detail = `${queued} jobs are waiting already; try again when some have ended.`
    throw new ApiError('conflict', detail)
  }
  await insertJob(tx, job, actor)
}

/** A job that follows from another one, queued in the transaction. */
export async function queueChild(
  tx: Tx,
  parent: Job,
  child: Pick<Job, 'id' | 'kind' | 'actor_name'> & Partial<Job>,
  actor: Actor,
  limits: JobLimits,
): Promise<Job> {
  const job: Job = {
    ...parent,
    ...FRESH,
    options: {},
    dry_run: false,
    parent_id: parent.id,
    file_key: '',
    created_at: new Date(),
    ...child,
  }
  await queue(tx, job, actor, limits)
  return job
}

/**
 * Queues the job that takes back what another one wrote.
 * @throws 409 when it wrote nothing that could be taken back, or a later job stands on it.
 */
export async function queueUndo(
  tx: Tx,
  id: number,
  undone: Job,
  actor: Actor,
  limits: JobLimits,
): Promise<Job> {
  const name = publicId('job', undone.id)
  const refuse = (detail: string, more: Row = {}): never => {
    throw new ApiError('conflict', detail, more)
  }
  if (undone.kind === 'undo') refuse(`${name} is an undo itself; send the file again instead.`)
  if (undone.dry_run) refuse(`${name} was a dry run and wrote nothing.`)
  if (undone.undone_by !== null) refuse(`${name} was undone by job_${undone.undone_by}.`)
  if (undone.dropped_at !== null) refuse(`${name} ended too long ago to be undone.`)
  if (!END_STATES.has(undone.state)) refuse(`${name} is ${undone.state}; cancel it first.`)
  if (await openUndo(tx, undone.org_id, undone.id)) refuse(`${name} is being undone already.`)
  const later = await laterJob(rowsIn(tx), undone)
  if (later !== null)
    refuse(`job_${later} loaded the stream after ${name}; undo it first.`, {
      job_id: publicId('job', later),
    })
  const merges = await mergesOfMade(rowsIn(tx), undone, MERGES_NAMED)
  if (merges.length > 0) {
    const [first] = merges.map(({ merge_id }) => publicId('mrg', merge_id))
    refuse(`${first} merged what ${name} made; undo the merge first.`, {
      merges: merges.map(({ merge_id }) => publicId('mrg', merge_id)),
      object_ids: merges.map(({ public_id }) => public_id),
    })
  }
  return await queueChild(tx, undone, { id, kind: 'undo', actor_name: actor.name }, actor, limits)
}

export function jobPath(id: number): string {
  return `/api/v1/sdis/jobs/${publicId('job', id)}`
}

/** A job that nothing has happened to yet. */
const FRESH = {
  state: 'queued',
  phase: null,
  undone_by: null,
  diff: null,
  diff_hash: null,
  approved: false,
  counts: {},
  error: null,
  attempts: 0,
  started_at: null,
  taken_at: null,
  progress_at: null,
  waiting_since: null,
  finished_at: null,
  dropped_at: null,
  pulled: null,
} as const

function newJob(
  wanted: JobRequest,
  org_id: number,
  caller: Pick<Caller, 'time_zone'>,
  actor_name: string,
): Job {
  const { id, adapter, as_of, file, dry_run, options } = wanted
  const zone = adapter.locale.timezone ?? caller.time_zone
  return {
    ...FRESH,
    id,
    org_id,
    kind: 'load',
    dry_run,
    options,
    parent_id: null,
    adapter,
    adapter_hash: adapterHash(adapter),
    source_name: adapter.source.name,
    as_of,
    valid_from: new Date(startOfDay(as_of, zone)),
    file_name: file.name,
    file_key: basename(file.path),
    file_bytes: file.byte_size,
    file_sha256: file.sha256,
    actor_name,
    created_at: new Date(),
  }
}

export async function getJob(db: OrgRows, org_id: number, id: number): Promise<Job> {
  const job = await findJob(db, org_id, id)
  if (!job) throw notFound(`Job job_${id}`)
  return job
}

/** A queued or waiting job is cancelled at once, a running one at its next chunk; what was written stays. */
export async function cancelJob(
  db: OrgRows,
  org_id: number,
  id: number,
  actor: Actor,
): Promise<Job> {
  const done = await requestCancel(db, org_id, id, actor)
  const job = await getJob(db, org_id, id)
  if (!done) throw refusedMove(job.state, 'cancelled')
  return job
}

/** Lets a job go on that waits for a person. */
export async function approveJob(
  db: OrgRows,
  org_id: number,
  id: number,
  actor: Actor,
): Promise<Job> {
  const done = await requestApproval(db, org_id, id, actor)
  const job = await getJob(db, org_id, id)
  if (!done) throw refusedMove(job.state, 'queued')
  return job
}

function refusedMove(from: JobState, to: JobState): ApiError {
  const message = `cannot change from ${from} to ${to}`
  return invalid([{ field: 'state', code: 'invalid_transition', message, allowed: [] }])
}
