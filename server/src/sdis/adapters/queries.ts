/** SQL of kept adapters and their versions. */
import type { Row } from '../../kit/resource.ts'
import type { OrgRows, Tx } from '../../kit/types.ts'
import type { JobState } from '../jobs.ts'
import type { Adapter } from '../adapter.ts'
import type { KeptAdapter, KeptVersion, PreviewNote, VersionState } from './types.ts'

const ADAPTER = `id, org_id, name, require_second_person, latest_version, live_version, earlier_versions, version, created_by, created_at, updated_at`

const VERSION = `org_id, adapter_id, version, state, document, hash, revision, author_type, author_id, author_name, preview, tested, created_at,
  updated_at, live_at`

/** bigint columns arrive as text. */
function adapterOf(row: KeptAdapter): KeptAdapter {
  const [id, org_id] = [row.id, row.org_id].map(Number) as [number, number]
  return { ...row, id, org_id }
}

function versionOf(row: KeptVersion): KeptVersion {
  const [org_id, adapter_id] = [row.org_id, row.adapter_id].map(Number) as [number, number]
  return { ...row, org_id, adapter_id }
}

export async function findAdapter(
  db: OrgRows,
  org_id: number,
  by: { id: number } | { name: string },
): Promise<KeptAdapter | undefined> {
  const [where, value] = 'id' in by ? ['id = $2', by.id] : ['name = $2', by.name]
  const rows = await db.query<KeptAdapter>(
    org_id,
    `select ${ADAPTER} from adapter where org_id = $1 and ${where} and deleted_at is null`,
    [org_id, value],
  )
  return rows.map(adapterOf)[0]
}

/** The same, unchanged by others until the transaction ends. */
export async function lockAdapter(
  tx: Tx,
  org_id: number,
  id: number,
): Promise<KeptAdapter | undefined> {
  const rows = await tx.query<KeptAdapter>(
    `select ${ADAPTER} from adapter where org_id = $1 and id = $2 and deleted_at is null for update`,
    [org_id, id],
  )
  return rows.map(adapterOf)[0]
}

export async function listAdapters(
  db: OrgRows,
  org_id: number,
  page: { before: number | null; limit: number },
): Promise<KeptAdapter[]> {
  const rows = await db.query<KeptAdapter>(
    org_id,
    `select ${ADAPTER} from adapter where org_id = $1 and deleted_at is null and ($2::bigint is null or id < $2)
     order by id desc limit $3`,
    [org_id, page.before, page.limit],
  )
  return rows.map(adapterOf)
}

/** What an adapter says in its newest version that was tested, or else in its newest. */
export interface NewestDocument {
  name: string
  require_second_person: boolean
  document: Row
  hash: string
  state: VersionState
  tested: Row | null
}

/** Every adapter by name; there are some hundreds at most. */
export async function newestDocuments(db: OrgRows, org_id: number): Promise<NewestDocument[]> {
  return await db.query<NewestDocument>(
    org_id,
    `select a.name, a.require_second_person, v.document, v.hash, v.state, v.tested from adapter a
     join lateral (
       select document, hash, state, tested from adapter_version where org_id = a.org_id and adapter_id = a.id
       order by state in ('tested', 'live') desc, version desc limit 1) v on true
     where a.org_id = $1 and a.deleted_at is null order by a.name`,
    [org_id],
  )
}

export async function countAdapters(tx: Tx, org_id: number): Promise<number> {
  const [row] = await tx.query<{ count: string }>(
    'select count(*) from adapter where org_id = $1 and deleted_at is null',
    [org_id],
  )
  return Number(row?.count)
}

/** @throws 23505 when another adapter has the name. */
export async function insertAdapter(tx: Tx, adapter: KeptAdapter): Promise<void> {
  await tx.query(
    `insert into adapter (org_id, id, name, require_second_person, latest_version, version, created_by, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $8)`,
    [
      adapter.org_id,
      adapter.id,
      adapter.name,
      adapter.require_second_person,
      adapter.latest_version,
      adapter.version,
      adapter.created_by,
      adapter.created_at,
    ],
  )
}

/** Saves what can change of an adapter. */
export async function saveAdapter(tx: Tx, adapter: KeptAdapter, deleted = false): Promise<void> {
  await tx.query(
    `update adapter set require_second_person = $3, latest_version = $4, live_version = $5, earlier_versions = $6, version = $7,
       updated_at = $8, deleted_at = case when $9 then $8::timestamptz end
     where org_id = $1 and id = $2`,
    [
      adapter.org_id,
      adapter.id,
      adapter.require_second_person,
      adapter.latest_version,
      adapter.live_version,
      adapter.earlier_versions,
      adapter.version,
      adapter.updated_at,
      deleted,
    ],
  )
}

export async function findVersion(
  db: OrgRows,
  org_id: number,
  adapter_id: number,
  version: number,
): Promise<KeptVersion | undefined> {
  const rows = await db.query<KeptVersion>(
    org_id,
    `select ${VERSION} from adapter_version where org_id = $1 and adapter_id = $2 and version = $3`,
    [org_id, adapter_id, version],
  )
  return rows.map(versionOf)[0]
}

export async function listVersions(
  db: OrgRows,
  org_id: number,
  adapter_id: number,
  page: { before: number | null; limit: number },
): Promise<KeptVersion[]> {
  const rows = await db.query<KeptVersion>(
    org_id,
    `select ${VERSION} from adapter_version where org_id = $1 and adapter_id = $2 and ($3::integer is null or version < $3)
     order by version desc limit $4`,
    [org_id, adapter_id, page.before, page.limit],
  )
  return rows.map(versionOf)
}

export async function insertVersion(tx: Tx, version: KeptVersion): Promise<void> {
  await tx.query(
    `insert into adapter_version (org_id, adapter_id, version, state, document, hash, revision, author_type, author_id, author_name, created_at,
       updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $11)`,
    [
      version.org_id,
      version.adapter_id,
      version.version,
      version.state,
      JSON.stringify(version.document),
      version.hash,
      version.revision,
      version.author_type,
      version.author_id,
      version.author_name,
      version.created_at,
    ],
  )
}

/** Saves what can change of a version; its document only while it is a draft. */
export async function saveVersion(tx: Tx, version: KeptVersion): Promise<void> {
  await tx.query(
    `update adapter_version set state = $4, document = $5, hash = $6, revision = $7, author_type = $8, author_id = $9, author_name = $10,
       preview = $11, tested = $12, updated_at = $13, live_at = $14
     where org_id = $1 and adapter_id = $2 and version = $3 and (state = 'draft' or hash = $6)`,
    [
      version.org_id,
      version.adapter_id,
      version.version,
      version.state,
      JSON.stringify(version.document),
      version.hash,
      version.revision,
      version.author_type,
      version.author_id,
      version.author_name,
      version.preview === null ? null : JSON.stringify(version.preview),
      version.tested === null ? null : JSON.stringify(version.tested),
      version.updated_at,
      version.live_at,
    ],
  )
}

/** Keeps what a preview saw, unless the draft changed meanwhile. */
export async function notePreview(
  db: OrgRows,
  { org_id, adapter_id, version }: Pick<KeptVersion, 'org_id' | 'adapter_id' | 'version'>,
  note: PreviewNote,
): Promise<void> {
  await db.query(
    org_id,
    `update adapter_version set preview = $4 where org_id = $1 and adapter_id = $2 and version = $3 and hash = $5`,
    [org_id, adapter_id, version, JSON.stringify(note), note.hash],
  )
}

/** A job of the organization or of one of its sandboxes. */
export interface TestJob {
  state: JobState
  adapter: Adapter
  counts: { rows_read?: number; quarantined?: number }
}

export async function findTestJob(
  tx: Tx,
  org_id: number,
  job_id: number,
): Promise<TestJob | undefined> {
  const rows = await tx.query<TestJob>(
    'select state, adapter, counts from app.test_job($1::bigint, $2::bigint)',
    [org_id, job_id],
  )
  return rows[0]
}

/** What a job found that was run to see what it would change. */
export interface Diff {
  state: JobState
  dry_run: boolean
  diff_hash: string | null
  adapter: Adapter
}

export async function findDiff(tx: Tx, org_id: number, job_id: number): Promise<Diff | undefined> {
  const rows = await tx.query<Diff>(
    'select state, adapter, dry_run, diff_hash from job where org_id = $1 and id = $2',
    [org_id, job_id],
  )
  return rows[0]
}

/** Jobs that wrote through a version, the last one first: the order in which they could be undone. */
export async function jobsOfVersion(
  tx: Tx,
  org_id: number,
  adapter_id: number,
  version: number,
  limit: number,
): Promise<{ id: string; state: JobState; as_of: string; file_name: string; finished_at: Date }[]> {
  return await tx.query(
    `select id, state, to_char(as_of, 'YYYY-MM-DD') as as_of, file_name, finished_at from job
     where org_id = $1 and adapter_id = $2 and adapter_version = $3 and state in ('completed', 'completed_with_errors', 'cancelled', 'failed')
       and kind <> 'undo' and not dry_run and undone_by is null and coalesce((counts ->> 'facts')::bigint, 0) > 0
     order by id desc limit $4`,
    [org_id, adapter_id, version, limit],
  )
}
