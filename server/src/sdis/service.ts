/** Accepting, reading, approving and cancelling jobs. */
import { basename, join } from 'node:path'
import { DatabaseError } from 'pg'
import { Spool } from '../documents/index.ts'
import type { FileKey } from '../documents/index.ts'
import { isDate } from '../kit/dates.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { earlierAnswer, original, remember } from '../kit/idempotency.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import { startOfDay } from '../kit/query.ts'
import type { Resource } from '../kit/resource.ts'
import { findMany } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, Caller, OrgRows } from '../kit/types.ts'
import type { Outcome, WriteRequest } from '../kit/write.ts'
import { fixedReferences } from './adapter-checks.ts'
import { adapterFor, kept, requireLive } from './adapters/service.ts'
import { adapterHash } from './adapter.ts'
import type { Adapter, Stream } from './adapter.ts'
import { countQueued, findJob, insertJob, requestApproval, requestCancel } from './job-queries.ts'
import { jobView } from './jobs.ts'
import type { Job, JobState } from './jobs.ts'
import { FileError } from './readers/types.ts'
import { effectiveDay } from './sample.ts'

/** Where files of jobs wait and stay until a day after the job ended. */
export function importSpool(data_dir: string): Spool {
  return new Spool(join(data_dir, 'imports'))
}

/** The place of a job's file: the job stands where a document would. */
export function jobFileKey(org_id: number, job_id: number): FileKey {
  return { org_id, document_id: job_id, version_id: 0 }
}

/** Jobs an organization may have waiting. */
const QUEUED_MAX = 100

export interface JobRequest {
  id: number
  adapter: Adapter
  as_of: string
  file: { name: string; path: string; byte_size: number; sha256: string }
}

/**
 * What the text fields of the form ask for.
 * @throws 422 naming every failing field of the form and the adapter.
 */
export async function readForm(
  fields: ReadonlyMap<string, readonly string[]>,
  store: Store,
  caller: Caller,
): Promise<{ document: string; adapter: Adapter; as_of: string }> {
  const issues: Issue[] = []
  for (const [name, values] of fields) {
    if (!FORM_FIELDS.has(name))
      issues.push({ field: name, code: 'unknown_field', message: `unknown field '${name}'` })
    else if (values.length > 1)
      issues.push({ field: name, code: 'repeated', message: 'may be sent once' })
  }
  const given = fields.get('as_of')?.[0]
  const document = fields.get('adapter')?.[0] ?? ''
  let adapter: Adapter | null = null
  try {
    if (document === '') throw invalid([required])
    adapter = await adapterGiven(store, caller, document, fields.get('version')?.[0])
  } catch (error) {
    if (!(error instanceof ApiError) || !Array.isArray(error.extra['errors'])) throw error
    issues.push(...(error.extra['errors'] as Issue[]))
  }
  const as_of = effectiveDate(given, adapter, caller, issues)
  if (issues.length > 0 || !adapter) throw invalid(issues)
  return { document, adapter, as_of }
}

const FORM_FIELDS = new Set(['adapter', 'version', 'as_of'])

/** A document that came with the request, or a version of a kept adapter that may be run here. */
async function adapterGiven(
  store: Store,
  { org_id, environment }: Caller,
  given: string,
  version: string | undefined,
): Promise<Adapter> {
  if (version !== undefined && !/^[1-9][0-9]{0,8}$/.test(version)) {
    const message = 'must be the number of a version'
    throw invalid([{ field: 'version', code: 'out_of_range', message }])
  }
  const found = await adapterFor(store, org_id, given, version ? Number(version) : undefined)
  requireLive(found, environment)
  return kept(found)
}

/**
 * The day that the file itself names, when the request names none; null when it does not.
 * @throws 422 when that day is none, or after today.
 */
export async function dayOfFile(
  path: string,
  adapter: Adapter,
  caller: Caller,
): Promise<string | null> {
  const issues: Issue[] = []
  const field = 'adapter.effective.from'
  let day: string | null = null
  try {
    day = await effectiveDay(path, adapter)
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    // What is wrong with the file as such is told by the job.
    if (!['no_effective_date', 'time_budget'].includes(error.code)) return null
    issues.push({ field, code: error.code, message: error.message })
  }
  if (day !== null) effectiveDate(day, adapter, caller, issues)
  if (issues.length > 0) throw invalid(issues.map((issue) => ({ ...issue, field })))
  return day
}

const required: Issue = {
  field: 'adapter',
  code: 'required',
  message: 'is required: the adapter document',
}

/** The day the file was true: as the job says, else the adapter, else today. */
function effectiveDate(
  given: string | undefined,
  adapter: Adapter | null,
  caller: Caller,
  issues: Issue[],
): string {
  const zone = adapter?.locale.timezone ?? caller.time_zone
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(new Date())
  const date = given ?? adapter?.effective.date ?? today
  const field = given === undefined ? 'adapter.effective.date' : 'as_of'
  if (!isDate(date)) {
    const message = `must be a date such as 2025-05-23, got '${date}'`
    issues.push({ field, code: 'invalid_format', message })
  } else if (date > today) {
    const message = `must not be after today (${today}), got ${date}`
    issues.push({ field, code: 'in_the_future', message })
  }
  return date
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
  request: WriteRequest,
  caller: Caller,
  wanted: JobRequest,
): Promise<Outcome> {
  const { org_id, actor, idempotency } = request
  const job = newJob(wanted, org_id, caller, actor.name)
  const body = JSON.stringify(jobView(job))
  try {
    return await store.db.transaction(org_id, async (tx) => {
      if ((await countQueued(tx, org_id)) >= QUEUED_MAX) {
        const detail = `${QUEUED_MAX} jobs are waiting already; try again when some have ended.`
        throw new ApiError('conflict', detail)
      }
      await insertJob(tx, job, actor)
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

export function jobPath(id: number): string {
  return `/api/v1/sdis/jobs/${publicId('job', id)}`
}

function newJob(wanted: JobRequest, org_id: number, caller: Caller, actor_name: string): Job {
  const { id, adapter, as_of, file } = wanted
  const zone = adapter.locale.timezone ?? caller.time_zone
  return {
    id,
    org_id,
    state: 'queued',
    phase: null,
    adapter,
    adapter_hash: adapterHash(adapter),
    source_name: adapter.source.name,
    as_of,
    valid_from: new Date(startOfDay(as_of, zone)),
    file_name: file.name,
    file_key: basename(file.path),
    file_bytes: file.byte_size,
    file_sha256: file.sha256,
    approved: false,
    counts: {},
    error: null,
    attempts: 0,
    actor_name,
    created_at: new Date(),
    started_at: null,
    finished_at: null,
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

/** Lets a job go on that waits because too much would end. */
export async function approveJob(db: OrgRows, org_id: number, id: number): Promise<Job> {
  const done = await requestApproval(db, org_id, id)
  const job = await getJob(db, org_id, id)
  if (!done) throw refusedMove(job.state, 'queued')
  return job
}

function refusedMove(from: JobState, to: JobState): ApiError {
  const message = `cannot change from ${from} to ${to}`
  return invalid([{ field: 'state', code: 'invalid_transition', message, allowed: [] }])
}
