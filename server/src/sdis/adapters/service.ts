/** Keeping adapters: created, changed as drafts, forgotten, and found by jobs. */
import { DatabaseError } from 'pg'
import { parse } from 'yaml'
import { ApiError, invalid, notFound } from '../../kit/errors.ts'
import { publicId } from '../../kit/ids.ts'
import { rowsIn } from '../../kit/once.ts'
import { record } from '../../kit/record.ts'
import type { Row } from '../../kit/resource.ts'
import type { Actor, OrgRows, Tx } from '../../kit/types.ts'
import { versionConflict } from '../../kit/write.ts'
import type { Adapter } from '../adapter.ts'
import {
  countAdapters,
  findAdapter,
  findVersion,
  insertAdapter,
  insertVersion,
  lockAdapter,
  saveAdapter,
  saveVersion,
} from './queries.ts'
import { readFor } from './read.ts'
import { adapterView, contentHash } from './types.ts'
import type { KeptAdapter, KeptVersion, Sent } from './types.ts'

export { adapterFor, kept, requireLive } from './to-run.ts'
export type { AdapterToRun } from './to-run.ts'

/** Adapters an organization may keep, and versions an adapter may have. */
const ADAPTERS_MAX = 500
const VERSIONS_MAX = 10_000

/** Who changes what: the organization and who acts for it. */
export interface By {
  org_id: number
  actor: Actor
}

/** A document that passed every check. */
export interface ReadDocument {
  adapter: Adapter
  document: Row
  hash: string
}

/** @throws 422 naming every failing part of the document, as parts of the field `document`. */
export async function readDocument(
  store: Parameters<typeof readFor>[0],
  org_id: number,
  sent: Sent,
): Promise<ReadDocument> {
  const source = typeof sent === 'string' ? sent : JSON.stringify(sent)
  try {
    const adapter = await readFor(store, org_id, source)
    const document = parse(source, { maxAliasCount: 0, schema: 'core' }) as Row
    return { adapter, document, hash: contentHash(adapter) }
  } catch (error) {
    throw renamed(error)
  }
}

/** The same refusal, told of `document` instead of `adapter`. */
function renamed(error: unknown): unknown {
  if (!(error instanceof ApiError) || !Array.isArray(error.extra['errors'])) return error
  const issues = error.extra['errors'] as { field: string; code: string; message: string }[]
  return invalid(
    issues.map((issue) => ({ ...issue, field: issue.field.replace(/^adapter\b/, 'document') })),
  )
}

/** @throws 404 */
export async function getAdapter(db: OrgRows, org_id: number, id: number): Promise<KeptAdapter> {
  const adapter = await findAdapter(db, org_id, { id })
  if (!adapter) throw notFound(`Adapter ${publicId('adp', id)}`)
  return adapter
}

/** @throws 404 for an adapter or version that is not there, 422 for a number that is none. */
export async function getVersion(
  db: OrgRows,
  org_id: number,
  id: number,
  number: string,
): Promise<KeptVersion> {
  const { latest_version } = await getAdapter(db, org_id, id)
  if (!/^[1-9][0-9]*$/.test(number)) {
    const message = `must be the number of a version, got '${number}'`
    throw invalid([{ field: 'version', code: 'invalid_id', message }])
  }
  const version =
    Number(number) > latest_version ? undefined : await findVersion(db, org_id, id, Number(number))
  if (!version) throw notFound(`Version ${number} of adapter ${publicId('adp', id)}`)
  return version
}

/** Locks an adapter for a change. @throws 404 for none, 412 for another version than `expected`. */
export async function changeable(
  tx: Tx,
  org_id: number,
  id: number,
  expected: number | null = null,
): Promise<KeptAdapter> {
  const adapter = await lockAdapter(tx, org_id, id)
  if (!adapter) throw notFound(`Adapter ${publicId('adp', id)}`)
  if (expected !== null && adapter.version !== expected) throw versionConflict(adapter.version)
  return adapter
}

/** Saves a change of an adapter and tells of it. */
export async function changed(
  tx: Tx,
  actor: Actor,
  before: KeptAdapter,
  changes: Partial<KeptAdapter>,
  told: { type: string; details?: Row },
): Promise<KeptAdapter> {
  const after = { ...before, ...changes, version: before.version + 1, updated_at: new Date() }
  const deleted = told.type === 'adapter.deleted'
  await saveAdapter(tx, after, deleted)
  await tell(tx, actor, told.type, after, before, told.details)
  return after
}

async function tell(
  tx: Tx,
  actor: Actor,
  type: string,
  after: KeptAdapter,
  before?: KeptAdapter,
  details?: Row,
): Promise<void> {
  const [now, old] = [adapterView(after), before ? adapterView(before) : {}]
  const changed = before
    ? Object.keys(now).filter(
        (name) => !['version', 'updated_at'].includes(name) && now[name] !== old[name],
      )
    : []
  await record(tx, after.org_id, actor, [
    {
      type,
      object_type: 'adapter',
      object_id: after.id,
      object: now,
      version: after.version,
      changed,
      previous: Object.fromEntries(changed.map((name) => [name, old[name]])),
      ...(details ? { details } : {}),
    },
  ])
}

function newVersion(
  { org_id, actor }: By,
  adapter_id: number,
  version: number,
  { document, hash }: ReadDocument,
): KeptVersion {
  const at = new Date()
  return {
    org_id,
    adapter_id,
    version,
    state: 'draft',
    document: { ...document, version },
    hash,
    revision: 1,
    author_type: actor.type,
    author_id: actor.id,
    author_name: actor.name,
    preview: null,
    tested: null,
    created_at: at,
    updated_at: at,
    live_at: null,
  }
}

/** A new adapter with its first draft. @throws 409 when its name is taken or there are too many. */
export async function createAdapter(
  tx: Tx,
  by: By,
  id: number,
  read: ReadDocument,
  require_second_person: boolean,
): Promise<KeptAdapter> {
  const { org_id, actor } = by
  const name = read.adapter.adapter
  const other = await findAdapter(rowsIn(tx), org_id, { name })
  if (other) throw nameTaken(name, publicId('adp', other.id))
  if ((await countAdapters(tx, org_id)) >= ADAPTERS_MAX)
    throw new ApiError('conflict', `An organization may keep ${ADAPTERS_MAX} adapters.`)
  const at = new Date()
  const adapter: KeptAdapter = {
    org_id,
    id,
    name,
    require_second_person,
    latest_version: 1,
    live_version: null,
    earlier_versions: [],
    version: 1,
    created_by: actor.name,
    created_at: at,
    updated_at: at,
  }
  try {
    await insertAdapter(tx, adapter)
  } catch (error) {
    if (error instanceof DatabaseError && error.code === '23505') throw nameTaken(name)
    throw error
  }
  await insertVersion(tx, newVersion(by, id, 1, read))
  await tell(tx, actor, 'adapter.created', adapter)
  return adapter
}

function nameTaken(name: string, id = 'Another adapter'): ApiError {
  const detail = `${id} has the name ${name} already; add a version to it, or choose another name.`
  return new ApiError('conflict', detail)
}

/** A new draft behind the newest version. @throws 409 when there are too many, 422 for another name. */
export async function addVersion(
  tx: Tx,
  by: By,
  id: number,
  read: ReadDocument,
): Promise<KeptVersion> {
  const adapter = await changeable(tx, by.org_id, id)
  requireName(adapter, read)
  const latest_version = adapter.latest_version + 1
  if (latest_version > VERSIONS_MAX)
    throw new ApiError('conflict', `An adapter may have ${VERSIONS_MAX} versions.`)
  const version = newVersion(by, id, latest_version, read)
  await insertVersion(tx, version)
  await changed(tx, by.actor, adapter, { latest_version }, { type: 'adapter.updated' })
  return version
}

function requireName({ name }: KeptAdapter, { adapter }: ReadDocument): void {
  if (adapter.adapter === name) return
  const message = `must be ${name}, the name of the adapter`
  throw invalid([{ field: 'document.adapter', code: 'mismatch', message }])
}

/** Replaces the document of a draft. @throws 409 once it was tested, 412 for another revision than `expected`. */
export async function changeDraft(
  tx: Tx,
  by: By,
  id: number,
  number: string,
  read: ReadDocument,
  expected: number | null,
): Promise<KeptVersion> {
  const adapter = await changeable(tx, by.org_id, id)
  const before = await getVersion(rowsIn(tx), by.org_id, id, number)
  if (expected !== null && before.revision !== expected) throw versionConflict(before.revision)
  requireName(adapter, read)
  if (before.state !== 'draft') throw fixed(before)
  const { version, revision, created_at } = before
  const after = {
    ...newVersion(by, id, version, read),
    created_at,
    revision: revision + 1,
    preview: before.hash === read.hash ? before.preview : null,
  }
  await saveVersion(tx, after)
  const details = { version, hash: after.hash, previous_hash: before.hash }
  await changed(tx, by.actor, adapter, {}, { type: 'adapter.updated', details })
  return after
}

function fixed({ version, state }: KeptVersion): ApiError {
  const detail = `Version ${version} is ${state} and does not change any more; add a new version.`
  return new ApiError('conflict', detail)
}

/** Changes the settings; without a change, nothing is written. */
export async function changeSettings(
  tx: Tx,
  { org_id, actor }: By,
  id: number,
  settings: { require_second_person?: boolean },
  expected: number | null,
): Promise<KeptAdapter> {
  const before = await changeable(tx, org_id, id, expected)
  const { require_second_person = before.require_second_person } = settings
  if (require_second_person === before.require_second_person) return before
  if (!require_second_person)
    refuseAuthor(
      (await findVersion(rowsIn(tx), org_id, id, before.latest_version)) as KeptVersion,
      actor,
      'end the rule of the second person',
    )
  return await changed(tx, actor, before, { require_second_person }, { type: 'adapter.updated' })
}

/** @throws 409 when the one who acts wrote the version. */
export function refuseAuthor(version: KeptVersion, actor: Actor, act: string): void {
  if (version.author_type !== actor.type || version.author_id !== actor.id) return
  const detail = `${version.author_name} wrote version ${version.version} and so cannot ${act}.`
  throw new ApiError('second_person_required', detail)
}

/** Forgets an adapter; its versions stay for the jobs that ran them. */
export async function removeAdapter(
  tx: Tx,
  { org_id, actor }: By,
  id: number,
  expected: number | null,
): Promise<void> {
  const adapter = await changeable(tx, org_id, id, expected)
  await changed(tx, actor, adapter, {}, { type: 'adapter.deleted' })
}
