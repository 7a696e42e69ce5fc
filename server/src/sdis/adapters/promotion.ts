/** From draft to live and back: what a version must have passed, and what is kept of the one before. */
import { ApiError, invalid } from '../../kit/errors.ts'
import type { ErrorCode } from '../../kit/errors.ts'
import { idDigits, publicId } from '../../kit/ids.ts'
import { rowsIn } from '../../kit/once.ts'
import type { Row } from '../../kit/resource.ts'
import type { Tx } from '../../kit/types.ts'
import { findDiff, findTestJob, findVersion, jobsOfVersion, saveVersion } from './queries.ts'
import { changeable, changed, getVersion, refuseAuthor } from './service.ts'
import type { By } from './service.ts'
import { adapterView, contentHash } from './types.ts'
import type { KeptAdapter, KeptVersion } from './types.ts'

/** Jobs that a rollback lists. */
const UNDO_MAX = 200

const ENDED_WELL: readonly string[] = ['completed', 'completed_with_errors']

/**
 * Marks a version as tested. A job may have left rows out: its guards decided that it may complete. A preview sees few
 * rows, so that none of them may fail.
 * @throws 409 `not_tested` when nothing shows that it works, 422 for a job that is not there.
 */
export async function testVersion(
  tx: Tx,
  { org_id, actor }: By,
  id: number,
  number: string,
  job: string | undefined,
): Promise<KeptVersion> {
  const adapter = await changeable(tx, org_id, id)
  const before = await getVersion(rowsIn(tx), org_id, id, number)
  if (before.state !== 'draft') return before
  const tested = job ? await passedJob(tx, before, job) : passedPreview(before)
  return await markTested(tx, actor, adapter, before, tested)
}

/** Keeps what shows that a draft works; from now on it does not change. */
export async function markTested(
  tx: Tx,
  actor: By['actor'],
  adapter: KeptAdapter,
  before: KeptVersion,
  tested: Row,
): Promise<KeptVersion> {
  const after: KeptVersion = { ...before, state: 'tested', tested, updated_at: new Date() }
  await saveVersion(tx, after)
  const details = { version: before.version, hash: before.hash, tested }
  await changed(tx, actor, adapter, {}, { type: 'adapter.tested', details })
  return after
}

async function passedJob(tx: Tx, version: KeptVersion, id: string): Promise<Row> {
  const job = await findTestJob(tx, version.org_id, idDigits('job', id) ?? 0)
  if (!job) throw jobNotFound(id)
  if (!ENDED_WELL.includes(job.state))
    throw untested(`${id} is ${job.state}; only a completed job shows that a version works.`)
  if (contentHash(job.adapter) !== version.hash)
    throw untested(`${id} ran another document than version ${version.version}.`)
  const { rows_read = 0, quarantined = 0 } = job.counts
  return { by: 'job', job_id: id, rows: rows_read, quarantined, at: new Date().toISOString() }
}

function passedPreview({ preview, hash, version }: KeptVersion): Row {
  if (preview?.hash !== hash)
    throw untested(`Version ${version} has no preview; make one, or name a job_id.`)
  if (preview.rows === 0 || preview.errors > 0) {
    const { errors, rows } = preview
    throw untested(
      `The preview of version ${version} could not use ${errors} of ${rows} rows; correct the document, or name a job_id.`,
    )
  }
  return { by: 'preview', rows: preview.rows, quarantined: 0, at: preview.at }
}

function untested(detail: string): ApiError {
  return new ApiError('not_tested', detail)
}

function jobNotFound(id: string): ApiError {
  return invalid([{ field: 'job_id', code: 'not_found', message: `no job has the id ${id}` }])
}

export interface Promotion {
  version: number
  job_id: string
  diff_hash: string
  reason?: string
}

/** Makes a version live. @throws 409 when it is not tested, the diff is not its own, or its author acts alone. */
export async function promote(
  tx: Tx,
  { org_id, actor }: By,
  id: number,
  { version: number, job_id, diff_hash, reason = '' }: Promotion,
): Promise<KeptAdapter> {
  const adapter = await changeable(tx, org_id, id)
  const version = await findVersion(rowsIn(tx), org_id, id, number)
  if (!version) {
    const message = `${adapter.name} has no version ${number}`
    throw invalid([{ field: 'version', code: 'not_found', message }])
  }
  if (version.state === 'draft') throw untested(`Version ${number} is a draft; test it first.`)
  if (version.state === 'live') throw new ApiError('conflict', `Version ${number} is live already.`)
  if (adapter.require_second_person) refuseAuthor(version, actor, 'make it live')
  await requireDiff(tx, version, job_id, diff_hash)
  const { live_version, earlier_versions } = adapter
  const earlier = live_version === null ? earlier_versions : [...earlier_versions, live_version]
  await setLive(tx, version, adapter)
  const changes = { live_version: number, earlier_versions: earlier.slice(-100) }
  const details = { version: number, hash: version.hash, job_id, diff_hash, reason }
  return await changed(tx, actor, adapter, changes, { type: 'adapter.promoted', details })
}

/** The diff that was read must be of this very document, complete, and the one that is named. */
async function requireDiff(
  tx: Tx,
  version: KeptVersion,
  job_id: string,
  diff_hash: string,
): Promise<void> {
  const diff = await findDiff(tx, version.org_id, idDigits('job', job_id) ?? 0)
  if (!diff) throw jobNotFound(job_id)
  const mismatch: [ErrorCode, string] | null = !diff.dry_run
    ? ['diff_mismatch', `${job_id} was no dry run.`]
    : !ENDED_WELL.includes(diff.state)
      ? ['diff_mismatch', `${job_id} is ${diff.state}; its diff is not complete.`]
      : contentHash(diff.adapter) !== version.hash
        ? ['diff_mismatch', `${job_id} ran another document than version ${version.version}.`]
        : diff.diff_hash !== diff_hash
          ? ['diff_mismatch', `The diff_hash of ${job_id} is another one.`]
          : null
  if (mismatch) throw new ApiError(...mismatch)
}

async function setLive(tx: Tx, version: KeptVersion, adapter: KeptAdapter): Promise<void> {
  const { org_id, id, live_version } = adapter
  const at = new Date()
  if (live_version !== null) {
    const live = (await findVersion(rowsIn(tx), org_id, id, live_version)) as KeptVersion
    await saveVersion(tx, { ...live, state: 'superseded', updated_at: at })
  }
  await saveVersion(tx, { ...version, state: 'live', updated_at: at, live_at: at })
}

/** Makes the version live again that was before. @throws 409 when there is none. */
export async function rollBack(
  tx: Tx,
  { org_id, actor }: By,
  id: number,
  reason = '',
): Promise<Row> {
  const adapter = await changeable(tx, org_id, id)
  const { live_version: from, earlier_versions } = adapter
  const to = earlier_versions.at(-1)
  if (from === null || to === undefined) {
    const detail = `No version of ${adapter.name} was live before the present one.`
    throw new ApiError('conflict', detail)
  }
  await setLive(tx, (await findVersion(rowsIn(tx), org_id, id, to)) as KeptVersion, adapter)
  const changes = { live_version: to, earlier_versions: earlier_versions.slice(0, -1) }
  const details = { from_version: from, to_version: to, reason }
  const told = { type: 'adapter.rolled_back', details }
  const after = await changed(tx, actor, adapter, changes, told)
  const jobs = await jobsOfVersion(tx, org_id, id, from, UNDO_MAX)
  return {
    object: 'adapter_rollback',
    adapter: adapterView(after),
    from_version: from,
    to_version: to,
    undo: jobs.map((job) => ({ ...job, id: publicId('job', job.id) })),
  }
}
