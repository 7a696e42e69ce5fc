/** SQL of erasures: the requests, what each takes away, and what is left of sealed audit entries. */
import { columns, searchText } from '../kit/row.ts'
import type { Resource, Row } from '../kit/resource.ts'
import type { Actor, OrgDb, Tx } from '../kit/types.ts'

export interface Erasure {
  id: number
  state: 'running' | 'completed'
  /** Type and digits of each object. */
  objects: [type: string, id: number][]
  /** Null for all that is known of the objects. */
  attributes: string[] | null
  reason: string
  /** How many of the objects are done. */
  position: number
  counts: Record<string, number>
  actor: Actor
  created_at: Date
  finished_at: Date | null
}

const COLUMNS =
  'id, state, objects, attributes, reason, position, counts, actor, created_at, finished_at'

type Texts = Omit<Erasure, 'id'> & { id: string }

function erasureOf(row: Texts): Erasure {
  return { ...row, id: Number(row.id) }
}

export async function insertErasure(tx: Tx, org_id: number, erasure: Erasure): Promise<void> {
  await tx.query(
    `insert into erasure (org_id, id, state, objects, attributes, reason, actor, created_at) values ($1, $2, $3, $4, $5, $6, $7, $8)`,
    [
      org_id,
      erasure.id,
      erasure.state,
      JSON.stringify(erasure.objects),
      erasure.attributes,
      erasure.reason,
      JSON.stringify(erasure.actor),
      erasure.created_at,
    ],
  )
}

export async function listErasures(
  db: OrgDb,
  org_id: number,
  before: number | null,
  limit: number,
): Promise<Erasure[]> {
  const rows = await db.query<Texts>(
    org_id,
    `select ${COLUMNS} from erasure where org_id = $1 and ($2::bigint is null or id < $2) order by id desc limit $3`,
    [org_id, before, limit],
  )
  return rows.map(erasureOf)
}

/** The oldest erasure that is not done, until the transaction ends; undefined when there is none or another worker has it. */
export async function takeErasure(tx: Tx, org_id: number): Promise<Erasure | undefined> {
  const rows = await tx.query<Texts>(
    `select ${COLUMNS} from erasure where org_id = $1 and state = 'running' order by id limit 1 for update skip locked`,
    [org_id],
  )
  return rows.map(erasureOf)[0]
}

export async function moveErasure(tx: Tx, org_id: number, erasure: Erasure): Promise<void> {
  await tx.query(
    'update erasure set position = $3, counts = $4, state = $5, finished_at = $6 where org_id = $1 and id = $2',
    [
      org_id,
      erasure.id,
      erasure.position,
      JSON.stringify(erasure.counts),
      erasure.state,
      erasure.finished_at,
    ],
  )
}

/** Takes away what is said of an object. @returns how much was taken from where. */
export async function eraseObject(
  tx: Tx,
  org_id: number,
  id: number,
  public_id: string,
  attributes: readonly string[] | null,
): Promise<Record<string, number>> {
  const [row] = await tx.query<{ counts: Record<string, number> }>(
    'select app.erase_object($1, $2, $3, $4) as counts',
    [org_id, id, public_id, attributes],
  )
  return row?.counts ?? {}
}

/** A deleted object as its tombstone keeps it, until the transaction ends; undefined for one that was not deleted. */
export async function holdTombstone(
  tx: Tx,
  org_id: number,
  { name }: Resource,
  id: number,
): Promise<Row | undefined> {
  const rows = await tx.query<{ body: string }>(
    `select body from ${name} where org_id = $1 and id = $2 and deleted_at is not null for update`,
    [org_id, id],
  )
  return rows.map(({ body }) => JSON.parse(body) as Row)[0]
}

/** Empties fields of a tombstone: nothing of it is to be seen but that it was. */
export async function emptyTombstone(
  tx: Tx,
  org_id: number,
  resource: Resource,
  id: number,
  body: Row,
  names: readonly string[],
): Promise<void> {
  const emptied = columns(resource).filter(({ name }) => names.includes(name))
  const sets = emptied.map(
    ({ name }) => `, ${name} = ${Array.isArray(body[name]) ? `'{}'` : 'null'}`,
  )
  const own = JSON.stringify(body['ext'] ?? {})
  await tx.query(
    `update ${resource.name} set body = $3, search = $4, ext = nullif($5::jsonb, '{}')${sets.join('')} where org_id = $1 and id = $2`,
    [org_id, id, JSON.stringify(body), searchText(resource, body), own],
  )
  await tx.query(
    `delete from ext_index where org_id = $1 and object_id = $2 and not $3::jsonb ? ('x' || field_id)`,
    [org_id, id, own],
  )
}

/** What was merged into an object, in the order of the ids. */
export async function membersIn(tx: Tx, org_id: number, head: number): Promise<number[]> {
  const rows = await tx.query<{ object_id: string }>(
    'select object_id from cluster_member where org_id = $1 and head_id = $2 order by object_id',
    [org_id, head],
  )
  return rows.map(({ object_id }) => Number(object_id))
}

/** Takes away what speaks for or against objects being one. @returns the merges that it was taken from. */
export async function eraseEvidence(
  tx: Tx,
  org_id: number,
  ids: readonly number[],
): Promise<number[]> {
  await tx.query(
    `update match_candidate set evidence = '[]' where org_id = $1 and (low_id = any($2::bigint[]) or high_id = any($2::bigint[]))`,
    [org_id, ids],
  )
  const rows = await tx.query<{ id: string }>(
    `update object_merge set evidence = '[]', reason = null
     where org_id = $1 and (winner_id = any($2::bigint[]) or loser_id = any($2::bigint[])) returning id`,
    [org_id, ids],
  )
  return rows.map(({ id }) => Number(id))
}

/** Sealed audit entries about an object. */
export async function sealedOf(
  tx: Tx,
  org_id: number,
  object_id: number,
): Promise<{ position: number; body: string }[]> {
  const rows = await tx.query<{ position: string; body: string }>(
    'select position, body from audit_seal where org_id = $1 and object_id = $2 order by position',
    [org_id, object_id],
  )
  return rows.map(({ position, body }) => ({ position: Number(position), body }))
}

export async function redactSealed(
  tx: Tx,
  org_id: number,
  entries: readonly { position: number; body: string }[],
  tx_id: number,
): Promise<void> {
  await tx.query('select app.redact_audit($1, $2, $3, $4)', [
    org_id,
    entries.map(({ position }) => position),
    entries.map(({ body }) => body),
    tx_id,
  ])
}
