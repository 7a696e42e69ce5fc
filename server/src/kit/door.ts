/**
 * The one write door. Whatever changes a resource passes here: row, claims, audit entries, events, external ids and the
 * idempotency row are written by one statement, for one object of a request or thousands of an import.
 */
import type { Cells, Statement } from '../db/pipeline.ts'
import { SAME_RULES } from './door-locks.ts'
import { indexSql } from './extension-index.ts'
import {
  extColumn,
  toldNames,
  toldPrevious,
  toldValues,
  touchesExtensions,
} from './extension-door.ts'
import { columns, columnValue, render, searchText } from './row.ts'
import { existsSql, unmetSql } from './needs.ts'
import type { Need, Needs } from './needs.ts'
import type { Resource, Row } from './resource.ts'
import type { StatedClaim } from './timeline.ts'
import type { Actor } from './types.ts'

export type Operation = 'created' | 'updated' | 'deleted'

/** One object's write. `after` is complete and in stored form. */
export interface Change {
  id: number
  operation: Operation
  /** Version the write is based on; 0 creates. Another version in the table means nothing is written. */
  expected: number
  after: Row
  /** Old values of the changed fields. */
  previous: Row
  changed: readonly string[]
  claims: readonly StatedClaim[]
  /** Another source than the API speaks of the object, so later writes must weigh all claims again. */
  contested: boolean
  external: { add: ExternalId[]; remove: ExternalId[] }
}

export interface ExternalId {
  system: string
  id: string
}

/** An object that must exist for a write to be done. */
export interface Reference {
  target: string
  id: number
}

export interface WriteContext {
  org_id: number
  actor: Actor
  source_id: number
  at: Date
  job_id?: number
  /** Imports leave the object out of the event row; it is rendered from its facts when asked for. */
  bulk?: boolean
  /** Ids that must exist in the organization, by type. */
  references?: readonly Reference[]
  /** What else must hold of other objects. */
  needs?: readonly Need[]
  idempotency?: IdempotencyRecord | undefined
  /** For deletes, after `lockStatement`: nothing is written while a row refers to the object by one of these fields. */
  users?: readonly Use[]
  /** Of the rules by which the rows were weighed; nothing is written when they are others by now. Null weighs nothing. */
  revision?: number | null
  /** Brings back objects that had left the lists, instead of passing deleted ones by. */
  restore?: boolean
}

/** A field by which the rows of a table need an object. */
export interface Use {
  table: string
  column: string
}

/** The answer stored with a write, so that a repeated request gets it again. */
export interface IdempotencyRecord {
  key: string
  route: string
  fingerprint: string
  status: number
  headers: Record<string, string>
  body: string
}

export interface Written {
  /** Objects written; fewer than asked for means a version had moved on and nothing else may be kept. */
  count: number
  tx_id: number | null
  /** References that do not exist. */
  missing: Reference[]
  /** Needs that are not met, by their place in the list, each with the id of what is in the way. */
  unmet: { n: number; other: number }[]
}

/** Types of the events that tell what a change also means. */
export function meaningsOf(
  { name, meanings }: Resource,
  { operation, after, previous }: Pick<Change, 'operation' | 'after' | 'previous'>,
): string[] {
  const entries = Object.entries(meanings)
  if (entries.length === 0 || operation === 'deleted') return []
  const before = operation === 'created' ? null : { ...after, ...previous }
  return entries.flatMap(([verb, { when }]) => (when(after, before) ? [`${name}.${verb}`] : []))
}

/** The door's statement for changes of one resource that are all creates or all updates. */
export function writeStatement(
  resource: Resource,
  changes: readonly Change[],
  context: WriteContext,
): Statement {
  const create = changes[0]?.expected === 0
  const { actor, idempotency, users = [] } = context
  const means = changes.map((change) => meaningsOf(resource, change))
  const rows = changes.map((change, n) =>
    inputRow(resource, change, n, means[n] as string[], context.bulk ?? false),
  )
  const claims = changes.flatMap((change) =>
    change.claims.map((claim) => inputClaim(change.id, claim)),
  )
  const external = changes.flatMap(({ id, external: { add, remove } }) => [
    ...add.map((e) => ({ add: true, o: id, s: e.system, i: e.id })),
    ...remove.map((e) => ({ add: false, o: id, s: e.system, i: e.id })),
  ])
  return {
    sql: doorSql(resource, create, users, {
      external: external.length > 0,
      remembered: idempotency !== undefined,
      meanings: means.some((types) => types.length > 0),
      extensions: changes.some(touchesExtensions),
      weighed: typeof context.revision === 'number',
      restore: context.restore ?? false,
    }),
    params: [
      context.org_id,
      context.at.toISOString(),
      `[${rows.join(',')}]`,
      wantedJson(context),
      JSON.stringify(claims),
      JSON.stringify(external),
      context.source_id,
      actor.type,
      actor.id,
      actor.name,
      actor.request_id,
      context.job_id ?? null,
      idempotency?.key ?? null,
      idempotency?.route ?? null,
      idempotency?.fingerprint ?? null,
      idempotency?.status ?? null,
      idempotency ? JSON.stringify(idempotency.headers) : null,
      idempotency?.body ?? null,
      context.revision ?? null,
    ],
  }
}

/** References and needs as the statement reads them. */
export function wantedJson({ references = [], needs = [] }: WriteContext): string {
  const wanted = needs.map(({ need, id, args }, n) => ({ n, need, id, args }))
  return JSON.stringify([...references.map(({ target, id }) => ({ target, id })), ...wanted])
}

/** Reads the answer of `writeStatement`. */
export function readWritten(rows: readonly Cells[]): Written {
  const [count, tx, missing, unmet] = rows[0] ?? []
  return {
    count: Number(count?.toString() ?? 0),
    tx_id: tx ? Number(tx.toString()) : null,
    missing: missing ? (JSON.parse(missing.toString()) as Written['missing']) : [],
    unmet: unmet ? (JSON.parse(unmet.toString()) as Written['unmet']) : [],
  }
}

function inputRow(
  resource: Resource,
  change: Change,
  n: number,
  means: string[],
  bulk: boolean,
): string {
  const { after } = change
  const body = render(after)
  const row: Row = {
    _n: n,
    _id: change.id,
    _expected: change.expected,
    _op: change.operation,
    _changed: toldNames(resource, change),
    _previous: toldPrevious(resource, change),
    _contested: change.contested,
    _search: searchText(resource, after),
    _body: body,
    _ext: extColumn(change),
    _told: toldValues(resource, change),
    _event: bulk ? null : true,
    _means: means,
    created_at: after['created_at'],
    archived_at: after['archived_at'],
    deleted_at: after['deleted_at'],
  }
  for (const column of columns(resource)) {
    const value = columnValue(column, after[column.name])
    if (value !== null && value !== undefined) row[column.name] = value
  }
  return JSON.stringify(row)
}

function inputClaim(id: number, claim: Change['claims'][number]): Row {
  return {
    o: id,
    m: claim.member ?? null,
    f: new Date(claim.valid_from).toISOString(),
    t: claim.valid_to === null ? null : new Date(claim.valid_to).toISOString(),
    a: claim.attrs,
    r: claim.retracts,
    c: claim.confidence ?? 1_000,
    w: claim.row ?? null,
  }
}

const sqlCache = new Map<string, string>()

function doorSql(
  resource: Resource,
  create: boolean,
  users: readonly Use[],
  parts: DoorParts,
): string {
  const { name, targets } = resource
  const key = [name, create, users.length > 0, ...Object.values(parts), ...targets].join(' ')
  const sql = sqlCache.get(key) ?? buildSql(resource, create, users, parts)
  sqlCache.set(key, sql)
  return sql
}

function buildSql(
  resource: Resource,
  create: boolean,
  users: readonly Use[],
  parts: DoorParts,
): string {
  const fields = columns(resource)
  const typed = fields.map((column) => `${column.name} ${column.type}`)
  const input: DoorInput = {
    names: fields.map((column) => column.name),
    rows: `select * from json_to_recordset($3::json) as i(_n integer, _id bigint, _expected integer, _op text, _changed text[],
      _previous jsonb, _contested boolean, _search text, _body text, _ext jsonb, _told jsonb, _event boolean, _means text[],
      created_at timestamptz, archived_at timestamptz, deleted_at timestamptz, ${typed.join(', ')})`,
    claims:
      'json_to_recordset($5::json) as c(o bigint, m bigint, f timestamptz, t timestamptz, a jsonb, r text[], c smallint, w integer)',
    external: 'json_to_recordset($6::json) as e(add boolean, o bigint, s text, i text)',
  }
  return doorText(resource, create, input, users, parts)
}

/** How rows, claims and external ids come into the door's statement: as JSON, or in bulk as arrays. */
export interface DoorInput {
  /** Typed columns that are written; an update leaves the others as they are. */
  names: readonly string[]
  /** Query that gives the rows. */
  rows: string
  /** What stands behind `from` for the claims `c` and the external ids `e`. */
  claims: string
  external: string
}

/**
 * Tables most writes leave alone; their part of the statement is left out then, which saves a tenth of its time. Some
 * changes mean more than themselves; some rows were weighed, and who changes the rules waits until they are written.
 */
export interface DoorParts extends Record<'external' | 'remembered', boolean> {
  meanings: boolean
  /** Some change is of a field of the organization's own. */
  extensions: boolean
  weighed: boolean
  restore?: boolean
}

/**
 * Everything hangs on `written`: a missing reference or a moved version leaves it empty, and then no other table is
 * touched. The waiting side of two concurrent updates sees the winner's version and writes nothing.
 */
export function doorText(
  resource: Resource,
  create: boolean,
  { names, rows, claims, external }: DoorInput,
  users: readonly Use[],
  parts: DoorParts,
): string {
  const { name } = resource
  const list = names.map((n) => `, ${n}`).join('')
  const values = names.map((n) => `, i.${n}`).join('')
  const sets = names.map((n) => `, ${n} = i.${n}`).join('')
  const { needs } = resource
  const granted = `not exists (select from missing)${needs ? ' and not exists (select from unmet)' : ''}${parts.weighed ? SAME_RULES : ''}`
  const written = create
    ? `insert into ${name} (org_id, id, version, created_at, updated_at, archived_at, deleted_at, contested, search, body, ext${list})
    select $1::bigint, i._id, 1, i.created_at, $2::timestamptz, i.archived_at, i.deleted_at, i._contested, i._search, i._body, i._ext${values}
    from input i where ${granted}
    returning id`
    : `update ${name} t set version = i._expected + 1, updated_at = $2::timestamptz, archived_at = i.archived_at, deleted_at = i.deleted_at,
      contested = i._contested, search = i._search, body = i._body, ext = i._ext${sets}
    from input i
    where t.org_id = $1::bigint and t.id = i._id and t.version = i._expected${parts.restore ? '' : ' and t.deleted_at is null'}${users.map(unused).join('')}
      and ${granted}
    returning t.id`
  return `with input as materialized (
    ${rows}
  ), missing as materialized (
    select r.target, r.id from json_to_recordset($4::json) as r(target text, id bigint)
    where r.target is not null and not ${existsSql(resource)}
  )${needs ? `, ${unmetCte(needs)}` : ''}, written as (
    ${written}
  )${parts.meanings ? MEANT : ''}, tx as (
    insert into tx (org_id, tx_id, at, events, source_id, actor_type, actor_id, actor_name, request_id, job_id)
    select $1::bigint, nextval('app.tx_seq'), $2::timestamptz, (select count(*) from written)${parts.meanings ? ' + (select count(*) from meant)' : ''}, $7::bigint, $8::text, $9::text, $10::text, $11::text, $12::bigint
    where exists (select from written)
    returning tx_id
  ), claimed as (
    insert into assertion (org_id, object_id, source_id, valid_from, tx_id, valid_to, attrs, retracts, confidence, row_no)
    select $1::bigint, coalesce(c.m, c.o), $7::bigint, c.f, tx.tx_id, c.t, c.a, c.r, c.c, c.w
    from ${claims}
    join written on written.id = c.o cross join tx
  ), events as (
    insert into event (org_id, tx_id, n, at, type, object_type, object_id, operation, version, changed, previous, body)
    select $1::bigint, tx.tx_id, i._n, $2::timestamptz, '${name}.' || i._op, '${name}', i._id, i._op, i._expected + 1, i._changed, i._previous, case when i._event then i._body end
    from input i join written on written.id = i._id cross join tx${parts.meanings ? toldSql(name) : ''}
  ), audited as (
    insert into audit_entry (org_id, tx_id, n, at, action, object_type, object_id, version, changed, previous${parts.extensions ? ', details' : ''})
    select $1::bigint, tx.tx_id, i._n, $2::timestamptz, '${name}.' || i._op, '${name}', i._id, i._expected + 1, i._changed, i._previous${parts.extensions ? ', i._told' : ''}
    from input i join written on written.id = i._id cross join tx
  )${parts.external ? linkSql(name, external) : ''}${parts.remembered ? REMEMBER : ''}${parts.extensions ? indexSql(name) : ''}
  select (select count(*) from written) as count, (select tx_id from tx) as tx_id, (select json_agg(m) from missing m) as missing${needs ? ', (select json_agg(u) from unmet u) as unmet' : ''}
  ${UNUSED}`
}

/** What the changes also mean, numbered behind the changes themselves. */
const MEANT = `, meant as materialized (
    select i._id, m.type, (select count(*) from input) + row_number() over (order by i._n, m.place) - 1 as n
    from input i join written on written.id = i._id cross join unnest(i._means) with ordinality as m(type, place)
  )`

function toldSql(name: string): string {
  return `
    union all
    select $1::bigint, tx.tx_id, m.n, $2::timestamptz, m.type, '${name}', i._id, null, i._expected + 1, i._changed, i._previous, case when i._event then i._body end
    from meant m join input i on i._id = m._id cross join tx`
}

/** What is not as the rows need it. */
function unmetCte(needs: Needs): string {
  return `unmet as materialized (
    select u.n, u.other from (
      select r.n, ${unmetSql(needs)} as other
      from json_to_recordset($4::json) as r(n integer, need text, id bigint, args json) where r.need is not null
    ) u where u.other is not null
  )`
}

/** External ids are unique per type and system; those of a row that goes or changes are given back. */
function linkSql(name: string, external: string): string {
  return `, linked as (
    insert into external_key (org_id, object_type, system, external_id, object_id)
    select $1::bigint, '${name}', e.s, e.i, e.o from ${external}
    join written on written.id = e.o where e.add
  ), unlinked as (
    delete from external_key k using ${external}, written
    where k.org_id = $1::bigint and k.object_type = '${name}' and k.system = e.s and k.external_id = e.i and not e.add
      and written.id = e.o
  )`
}

const REMEMBER = `, remembered as (
    insert into idempotency (org_id, key, route, fingerprint, status, headers, body, at)
    select $1::bigint, $13::text, $14::text, $15::text, $16::integer, $17::jsonb, $18::text, $2::timestamptz
    where $13::text is not null and exists (select from written)
  )`

/** Names every parameter once, so that each has a type whichever parts are in; the condition is dropped when planned. */
const UNUSED = `where true or coalesce($4::text, $6::text, $13::text, $14::text, $15::text, $16::text, $17::text, $18::text, $19::text) is null`

function unused({ table, column }: Use): string {
  return `
      and not exists (select from ${table} u where u.org_id = $1::bigint and u.${column} = t.id and u.deleted_at is null)`
}
