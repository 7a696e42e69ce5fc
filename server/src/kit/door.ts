/**
 * The one write door. Whatever changes a resource passes here: row, claims, audit entries, events, external ids and the
 * idempotency row are written by one statement, for one object of a request or thousands of an import.
 */
import type { Cells, Statement } from '../db/pipeline.ts'
import { columns, columnValue, render, searchText } from './row.ts'
import type { Resource, Row } from './resource.ts'
import type { Claim } from './timeline.ts'
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
  claims: readonly (Claim & { confidence?: number; row?: number | null })[]
  /** Some claim outranks or outlasts a plain write made now, so later writes must weigh all claims again. */
  contested: boolean
  external: { add: ExternalId[]; remove: ExternalId[] }
}

export interface ExternalId {
  system: string
  id: string
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
  references?: readonly { target: string; id: number }[]
  idempotency?: IdempotencyRecord | undefined
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
  missing: { target: string; id: number }[]
}

/** The door's statement for changes of one resource that are all creates or all updates. */
export function writeStatement(
  resource: Resource,
  changes: readonly Change[],
  context: WriteContext,
): Statement {
  const create = changes[0]?.expected === 0
  const { actor, idempotency } = context
  const rows = changes.map((change, n) => inputRow(resource, change, n, context.bulk ?? false))
  const claims = changes.flatMap((change) =>
    change.claims.map((claim) => inputClaim(change.id, claim)),
  )
  const external = changes.flatMap(({ id, external: { add, remove } }) => [
    ...add.map((e) => ({ add: true, o: id, s: e.system, i: e.id })),
    ...remove.map((e) => ({ add: false, o: id, s: e.system, i: e.id })),
  ])
  return {
    sql: doorSql(resource, create),
    params: [
      context.org_id,
      context.at.toISOString(),
      `[${rows.join(',')}]`,
      JSON.stringify(context.references ?? []),
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
    ],
  }
}

/** Reads the answer of `writeStatement`. */
export function readWritten(rows: readonly Cells[]): Written {
  const [count, tx, missing] = rows[0] ?? []
  return {
    count: Number(count?.toString() ?? 0),
    tx_id: tx ? Number(tx.toString()) : null,
    missing: missing ? (JSON.parse(missing.toString()) as Written['missing']) : [],
  }
}

function inputRow(resource: Resource, change: Change, n: number, bulk: boolean): string {
  const { after } = change
  const body = render(after)
  const row: Row = {
    _n: n,
    _id: change.id,
    _expected: change.expected,
    _op: change.operation,
    _changed: change.changed,
    _previous: change.previous,
    _contested: change.contested,
    _search: searchText(resource, after),
    _body: body,
    _event: bulk ? null : true,
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
    f: new Date(claim.valid_from).toISOString(),
    t: claim.valid_to === null ? null : new Date(claim.valid_to).toISOString(),
    a: claim.attrs,
    r: claim.retracts,
    c: claim.confidence ?? 1_000,
    w: claim.row ?? null,
  }
}

const sqlCache = new Map<string, string>()

function doorSql(resource: Resource, create: boolean): string {
  const key = `${resource.name} ${create}`
  let sql = sqlCache.get(key)
  if (!sql) {
    sql = buildSql(resource, create)
    sqlCache.set(key, sql)
  }
  return sql
}

/**
 * Everything hangs on `written`: a missing reference or a moved version leaves it empty, and then no other table is
 * touched. The waiting side of two concurrent updates sees the winner's version and writes nothing.
 */
function buildSql(resource: Resource, create: boolean): string {
  const fields = columns(resource)
  const names = fields.map((column) => column.name)
  const typed = fields.map((column) => `${column.name} ${column.type}`)
  const { name } = resource
  const written = create
    ? `insert into ${name} (org_id, id, version, created_at, updated_at, archived_at, deleted_at, contested, search, body, ${names.join(', ')})
    select $1::bigint, i._id, 1, i.created_at, $2::timestamptz, i.archived_at, i.deleted_at, i._contested, i._search, i._body, ${names.map((n) => `i.${n}`).join(', ')}
    from input i where not exists (select from missing)
    returning id`
    : `update ${name} t set version = i._expected + 1, updated_at = $2::timestamptz, archived_at = i.archived_at, deleted_at = i.deleted_at,
      contested = i._contested, search = i._search, body = i._body, ${names.map((n) => `${n} = i.${n}`).join(', ')}
    from input i
    where t.org_id = $1::bigint and t.id = i._id and t.version = i._expected and t.deleted_at is null
      and not exists (select from missing)
    returning t.id`
  return `with input as materialized (
    select * from json_to_recordset($3::json) as i(_n integer, _id bigint, _expected integer, _op text, _changed text[],
      _previous jsonb, _contested boolean, _search text, _body text, _event boolean,
      created_at timestamptz, archived_at timestamptz, deleted_at timestamptz, ${typed.join(', ')})
  ), missing as materialized (
    select r.target, r.id from json_to_recordset($4::json) as r(target text, id bigint)
    where not ${existsSql(resource)}
  ), written as (
    ${written}
  ), tx as (
    insert into tx (org_id, tx_id, at, events, source_id, actor_type, actor_id, actor_name, request_id, job_id)
    select $1::bigint, nextval('app.tx_seq'), $2::timestamptz, (select count(*) from written), $7::bigint, $8::text, $9::text, $10::text, $11::text, $12::bigint
    where exists (select from written)
    returning tx_id
  ), claimed as (
    insert into assertion (org_id, object_id, source_id, valid_from, tx_id, valid_to, attrs, retracts, confidence, row_no)
    select $1::bigint, c.o, $7::bigint, c.f, tx.tx_id, c.t, c.a, c.r, c.c, c.w
    from json_to_recordset($5::json) as c(o bigint, f timestamptz, t timestamptz, a jsonb, r text[], c smallint, w integer)
    join written on written.id = c.o cross join tx
  ), events as (
    insert into event (org_id, tx_id, n, at, object_type, object_id, operation, version, changed, previous, body)
    select $1::bigint, tx.tx_id, i._n, $2::timestamptz, '${name}', i._id, i._op, i._expected + 1, i._changed, i._previous, case when i._event then i._body end
    from input i join written on written.id = i._id cross join tx
  ), audited as (
    insert into audit_entry (org_id, tx_id, n, at, action, object_type, object_id, version, changed, previous)
    select $1::bigint, tx.tx_id, i._n, $2::timestamptz, '${name}.' || i._op, '${name}', i._id, i._expected + 1, i._changed, i._previous
    from input i join written on written.id = i._id cross join tx
  ), linked as (
    insert into external_key (org_id, object_type, system, external_id, object_id)
    select $1::bigint, '${name}', e.s, e.i, e.o from json_to_recordset($6::json) as e(add boolean, o bigint, s text, i text)
    join written on written.id = e.o where e.add
  ), unlinked as (
    delete from external_key k using json_to_recordset($6::json) as e(add boolean, o bigint, s text, i text), written
    where k.org_id = $1::bigint and k.object_type = '${name}' and k.system = e.s and k.external_id = e.i and not e.add
      and written.id = e.o
  ), remembered as (
    insert into idempotency (org_id, key, route, fingerprint, status, headers, body, at)
    select $1::bigint, $13::text, $14::text, $15::text, $16::integer, $17::jsonb, $18::text, $2::timestamptz
    where $13::text is not null and exists (select from written)
  )
  select (select count(*) from written) as count, (select tx_id from tx) as tx_id, (select json_agg(m) from missing m) as missing`
}

/** Does the referenced object exist? Only the types this resource can refer to are looked up. */
function existsSql(resource: Resource): string {
  const targets = resource.targets.map(
    (target) =>
      `when '${target}' then exists (select from ${target} t where t.org_id = $1::bigint and t.id = r.id and t.deleted_at is null)`,
  )
  return targets.length > 0 ? `(case r.target ${targets.join(' ')} else false end)` : 'false'
}
