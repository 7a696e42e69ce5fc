/** Asking for exports, cancelling and deleting them, and what becomes of their files. */
import { join, resolve } from 'node:path'
import { Spool } from '../documents/spool.ts'
import type { FileKey, Storage } from '../documents/index.ts'
import { Signal } from '../events/wake.ts'
import { ApiError, notFound } from '../kit/errors.ts'
import { ownStore } from '../kit/extended.ts'
import { refuseUnindexed } from '../kit/extension-limits.ts'
import { SCAN_MAX } from '../kit/past-lists.ts'
import { publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answered } from '../kit/once.ts'
import { civilDate } from '../kit/query.ts'
import { record } from '../kit/record.ts'
import type { Resource } from '../kit/resource.ts'
import { countUpTo } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, Caller, OrgRows, Tx } from '../kit/types.ts'
import type { WriteRequest } from '../kit/write.ts'
import { audited, ended } from './events.ts'
import { listQueryOf, parametersOf } from './list-query.ts'
import type { ExportBody } from './list-query.ts'
import { exportView, fileKey, isOpen, isReady } from './model.ts'
import type { Export, ExportFormat } from './model.ts'
import {
  countOpen,
  deleteExport,
  expireNow,
  exportFiles,
  findExport,
  insertExport,
  requestCancel,
} from './queries.ts'

/** An export was asked for in this process. */
export const exportAsked = new Signal()

/** Exports an organization may have open. */
const OPEN_MAX = 20

/** The folder in which files are written before they are put at their places; on the same disk as those. */
export function exportSpool(data_dir: string): Spool {
  return new Spool(join(resolve(data_dir), 'files', 'exporting'))
}

/**
 * Queues an export of a list.
 * @throws 422 naming every part of the query that cannot be, 409 when too many are open.
 */
export async function askForExport(
  bare: Store,
  request: WriteRequest,
  caller: Caller,
  declared: Resource,
  body: ExportBody,
): Promise<Answered> {
  const { org_id, actor } = request
  const store = await ownStore(bare, org_id)
  const resource = store.registry.get(declared.name) ?? declared
  const parameters = parametersOf(body)
  const query = listQueryOf(store, resource, parameters, caller)
  await refuseUnindexed(store.db, org_id, resource, query)
  if (query.as_of !== null || query.known_at !== null) await refuseLong(store, org_id, resource)
  const [id = 0] = await store.db.ids(1)
  const one = newExport(id, caller, actor, resource, body.format as ExportFormat, parameters)
  const answered = await once(store, request, async (tx) => {
    if ((await countOpen(tx, org_id)) >= OPEN_MAX) {
      const detail = `${OPEN_MAX} exports are under way already; try again when some have ended.`
      throw new ApiError('conflict', detail)
    }
    await insertExport(tx, one)
    await record(tx, org_id, actor, [audited(one, 'requested')])
    const location = `/api/v1/exports/${publicId('xpt', id)}`
    return { status: 202, headers: { location }, body: JSON.stringify(exportView(one)) }
  })
  exportAsked.wake()
  return answered
}

/** A list at another time folds every object from its claims. @throws 422 where that would be too many. */
async function refuseLong(store: Store, org_id: number, resource: Resource): Promise<void> {
  if ((await countUpTo(store, org_id, resource, null, SCAN_MAX + 1)) <= SCAN_MAX) return
  const detail = `A list at another time may look at ${SCAN_MAX} objects and there are more; leave out as_of and known_at.`
  throw new ApiError('too_many_rows', detail, { max_rows: SCAN_MAX })
}

function newExport(
  id: number,
  { org_id, time_zone }: Caller,
  actor: Actor,
  resource: Resource,
  format: ExportFormat,
  query: Record<string, string>,
): Export {
  const at = new Date()
  return {
    org_id,
    id,
    state: 'queued',
    type: resource.name,
    format,
    query,
    time_zone,
    rows_total: null,
    rows_written: 0,
    file_version: null,
    file_name: `${resource.path}-${civilDate(at.getTime(), time_zone)}.${format}`,
    byte_size: null,
    sha256: null,
    error: null,
    attempts: 0,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    request_id: actor.request_id,
    created_at: at,
    started_at: null,
    finished_at: null,
    expires_at: null,
  }
}

/** @throws 404 */
export async function getExport(db: OrgRows, org_id: number, id: number): Promise<Export> {
  const one = await findExport(db, org_id, id)
  if (!one) throw notFound(`Export ${publicId('xpt', id)}`)
  return one
}

/** @throws 404, and 409 when it has ended. */
export async function cancelExport(
  tx: Tx,
  db: OrgRows,
  org_id: number,
  id: number,
  actor: Actor,
): Promise<Export> {
  const { state } = await getExport(db, org_id, id)
  const one = await requestCancel(tx, org_id, id)
  if (!one)
    throw new ApiError('conflict', `The export is ${state}; only an open one can be cancelled.`)
  if (one.state === 'cancelled') await record(tx, org_id, actor, [ended(one)])
  return one
}

/** Removes an ended export with its file. @throws 409 while it is open. */
export async function removeExport(
  store: Store,
  storage: Storage,
  { org_id, actor }: WriteRequest,
  id: number,
): Promise<void> {
  const one = await getExport(store.db, org_id, id)
  if (isOpen(one))
    throw new ApiError('conflict', `The export is ${one.state}; cancel it before you delete it.`)
  await expireNow(store.db, org_id, id)
  if (one.file_version !== null) await storage.remove(fileKey(org_id, id, one.file_version))
  await store.db.transaction(org_id, async (tx) => {
    await deleteExport(tx, org_id, id)
    await record(tx, org_id, actor, [audited(one, 'deleted')])
  })
}

/** The file of an export, for download; that it was fetched is audited. @throws 404 while there is none. */
export async function fileOf(
  db: OrgRows,
  { org_id, actor }: WriteRequest,
  one: Export,
  fetched: boolean,
): Promise<FileKey> {
  if (!isReady(one) || one.file_version === null)
    throw notFound(`The file of ${publicId('xpt', one.id)}, which is ${one.state},`)
  if (fetched)
    await db.transaction(org_id, async (tx) => {
      await record(tx, org_id, actor, [audited(one, 'downloaded')])
    })
  return fileKey(org_id, one.id, one.file_version)
}

/** Removes the files of all exports of an organization that is about to lose the exports themselves. */
export async function removeFiles(db: OrgRows, storage: Storage, org_id: number): Promise<void> {
  for (const { id, file_version } of await exportFiles(db, org_id))
    await storage.remove(fileKey(org_id, id, file_version))
}
