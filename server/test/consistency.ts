/** Is what an organization's tables say of each other true? Slow and thorough; for tests that crash or race things. */
import { isDeepStrictEqual } from 'node:util'
import type { Client } from 'pg'
import { parseDecimal } from '../src/kit/decimal.ts'
import { meaningsOf } from '../src/kit/door.ts'
import type { Operation } from '../src/kit/door.ts'
import { withHeads } from '../src/kit/cluster-queries.ts'
import { assertionsEver, assertionsOf, foldedRow, ranksOf } from '../src/kit/history.ts'
import type { Held, Known, Sources } from '../src/kit/history.ts'
import { publicId } from '../src/kit/ids.ts'
import type { Resource, Row } from '../src/kit/resource.ts'
import { columns, columnValue, searchText } from '../src/kit/row.ts'
import type { Column } from '../src/kit/row.ts'
import type { Folded } from '../src/kit/timeline.ts'
import type { OrgDb } from '../src/kit/types.ts'
import { resources } from '../src/resources.ts'
import { contractFaults } from './event-schemas.ts'
import { owner } from './grid.ts'

/** Ids of objects that are merged now, and all that ever were, each with where that led to. */
interface Merges {
  now: ReadonlySet<string>
  ever: ReadonlyMap<string, string>
}

interface Stored {
  merges: Merges
  resource: Resource
  id: number
  body: Row
  cells: Record<string, string | null>
}

interface EventRow {
  object_id: string
  at: Date
  version: number
  tx_id: string
  n: number
  type: string
  /** Null when it tells what a change also means, or what happened beside the changes. */
  operation: Operation | null
  changed: string[]
  previous: Row
  body: string | null
}

/**
 * Compares an organization's rows, claims, events, audit entries, keys and transactions with each other.
 * @param given a connection that sees every row, when it is not the database of the test run.
 * @returns what does not fit, as sentences; empty when all is well.
 */
export async function checkOrganization(org_id: number, given?: Client): Promise<string[]> {
  const client = given ?? (await owner())
  await client.query('begin isolation level repeatable read')
  try {
    const db = asDb(client)
    const rows: Stored[] = []
    const merges = await mergesOf(client, org_id)
    for (const resource of resources) rows.push(...(await stored(client, resource, org_id, merges)))
    const ids = rows.map(({ id }) => id)
    const known = await assertionsOf(db, org_id, ids)
    const ever = await assertionsEver(db, org_id, ids)
    const ranks = await ranksOf(db, org_id)
    return [
      ...rows.flatMap(columnFaults),
      ...rows.flatMap((row) => claimFaults(row, known.get(row.id) ?? [], ranks)),
      ...(await eventFaults(client, org_id, rows, ever, ranks)),
      ...(await contractFaults(client, db, org_id)),
      ...(await transactionFaults(client, org_id)),
      ...(await keyFaults(client, org_id, rows)),
      ...(await orphans(client, org_id, new Set(ids))),
    ]
  } finally {
    await client.query('rollback')
    if (!given) await client.end()
  }
}

/** The reads of the kit on one plain connection. */
function asDb(client: Client): OrgDb {
  const refuse = (): never => {
    throw new Error('only reads by fly')
  }
  return {
    fly: async (_org_id, statements) => {
      const results = []
      for (const { sql, params } of statements) {
        const raw = { getTypeParser: () => (text: string) => text }
        const query = { text: sql, values: [...params], rowMode: 'array', types: raw }
        const { rows } = await client.query<(string | null)[]>(query as never)
        results.push(
          rows.map((row) => row.map((cell) => (cell === null ? null : Buffer.from(cell)))),
        )
      }
      return results
    },
    query: refuse,
    transaction: refuse,
    ids: refuse,
  }
}

const BOOKKEEPING = ['version', 'created_at', 'updated_at', 'archived_at', 'deleted_at']

async function mergesOf(client: Client, org_id: number): Promise<Merges> {
  const { rows } = await client.query<{ id: string; head: string; holds: boolean }>(
    `select object_type || '_' || loser_id as id, object_type || '_' || winner_id as head, unmerged_at is null as holds
     from object_merge where org_id = $1 order by id`,
    [org_id],
  )
  const named = (text: string): string =>
    text.replace(
      /^[a-z_]+(?=_)/,
      (type) => resources.find(({ name }) => name === type)?.prefix ?? '',
    )
  const ever = new Map(rows.map(({ id, head }) => [named(id), named(head)]))
  const last = (id: string, hops = 0): string => {
    const head = ever.get(id)
    return head === undefined || hops > ever.size ? id : last(head, hops + 1)
  }
  return {
    now: new Set(rows.flatMap(({ id, holds }) => (holds ? [named(id)] : []))),
    ever: new Map([...ever.keys()].map((id) => [id, last(id)])),
  }
}

async function stored(
  client: Client,
  resource: Resource,
  org_id: number,
  merges: Merges,
): Promise<Stored[]> {
  const names = [...BOOKKEEPING, 'search', ...columns(resource).map(({ name }) => name)]
  const texts = names.map((name) =>
    columns(resource).some((c) => c.name === name && c.type === 'text[]')
      ? `array_to_json(t.${name})::text as ${name}`
      : `t.${name}::text as ${name}`,
  )
  const { rows } = await client.query<{ _id: string; _body: string } & Stored['cells']>(
    `select t.id::text as _id, t.body as _body, ${texts.join(', ')} from ${resource.name} t where t.org_id = $1 order by t.id`,
    [org_id],
  )
  return rows.map(({ _id, _body, ...cells }) => ({
    merges,
    resource,
    id: Number(_id),
    body: JSON.parse(_body) as Row,
    cells,
  }))
}

const label = ({ resource, id }: Stored): string => publicId(resource.prefix, id)

function columnFaults(row: Stored): string[] {
  const { resource, body, cells } = row
  const faults: string[] = []
  const differ = (name: string, cell: unknown): number =>
    faults.push(
      `${label(row)}: column ${name} is ${String(cell)}, its body says ${JSON.stringify(body[name])}`,
    )
  for (const column of columns(resource)) {
    const cell = cells[column.name] ?? null
    if (!sameCell(column, cell, columnValue(column, body[column.name] ?? null)))
      differ(column.name, cell)
  }
  for (const name of BOOKKEEPING) {
    const cell = cells[name] ?? null
    const same = name === 'version' ? Number(cell) === body[name] : sameInstant(cell, body[name])
    if (!same) differ(name, cell)
  }
  if (body['id'] !== label(row)) differ('id', row.id)
  if (cells['search'] !== searchText(resource, body))
    faults.push(`${label(row)}: search text is stale`)
  return faults
}

function sameCell(column: Column, cell: string | null, value: unknown): boolean {
  if (cell === null || value === null) return cell === null && value === null
  if (column.type === 'numeric') return parseDecimal(cell, 20) === parseDecimal(value, 20)
  if (column.type === 'timestamptz') return sameInstant(cell, value)
  if (column.type === 'text[]') return isDeepStrictEqual(JSON.parse(cell), value)
  return cell === String(value)
}

function sameInstant(cell: string | null, value: unknown): boolean {
  if (cell === null || value === null) return cell === value
  return new Date(cell).toISOString() === value
}

/** The row must be what its claims fold to now. */
function claimFaults(row: Stored, known: readonly Known[], ranks: Sources): string[] {
  const { body } = row
  const strict = { ...row, merges: { ...row.merges, ever: new Map<string, string>() } }
  const { folded, faults } = foldFaults(strict, body, known, ranks, Date.now())
  // What was merged into another object left the lists without having been deleted.
  if (row.merges.now.has(label(row)))
    return body['deleted_at'] === null ? [`${label(row)}: is listed`] : []
  // Of what was erased as a whole nothing is claimed but that it was deleted.
  const erased = known.every(({ attrs }) => Object.keys(attrs).every((name) => name === '_deleted'))
  if (folded.deleted && erased)
    return body['deleted_at'] === null ? [`${label(row)}: is listed`] : []
  if (folded.deleted !== (body['deleted_at'] !== null))
    faults.push(`${label(row)}: deletion is not claimed`)
  if (folded.present === (body['archived_at'] !== null))
    faults.push(`${label(row)}: presence and archived_at differ`)
  return faults
}

/** Where a state of the row is not what these claims say of that time; what is derived is derived again. */
function foldFaults(
  row: Stored,
  body: Row,
  claims: readonly Known[],
  ranks: Sources,
  at: number,
): { folded: Folded; faults: string[] } {
  const { row: made, folded } = foldedRow(row.resource, body, claims, ranks, at)
  const names = [...new Set([...Object.keys(made), ...Object.keys(body)])]
  const faults = names
    .filter((name) => !isDeepStrictEqual(told(row, name, made), told(row, name, body)))
    .map((name) => `${label(row)} v${String(body['version'])}: ${differing(name, body, made)}`)
  return { folded, faults }
}

/** What was told of a loser while it was merged, or before, is no fault. */
function told({ merges: { ever } }: Stored, name: string, row: Row): unknown {
  if (ever.size === 0) return row[name]
  if (name !== 'ext') return withHeads({ [name]: row[name] }, ever)[name]
  // Fields of the organization's own name objects by number.
  const heads = new Map([...ever].map(([id, head]) => [digits(id), digits(head)]))
  const own = Object.entries((row[name] ?? {}) as Row)
  return Object.fromEntries(own.map(([key, value]) => [key, heads.get(value) ?? value]))
}

const digits = (id: string): unknown => Number(id.replace(/^.*_/, ''))

function differing(name: string, body: Row, made: Row): string {
  return `${name} is ${JSON.stringify(body[name])}, its claims say ${JSON.stringify(made[name])}`
}

/**
 * Versions 1 to n, each with one event and one audit entry; the last event shows the row as it is, and every event what
 * the claims known by then say of that moment. Beside each stand the events that tell what it also means, and no others.
 */
async function eventFaults(
  client: Client,
  org_id: number,
  rows: readonly Stored[],
  known: ReadonlyMap<number, Held[]>,
  ranks: Sources,
): Promise<string[]> {
  const sql = (table: string, columns: string): string =>
    `select object_id, version, tx_id, n, at, changed, previous, ${columns} from ${table} where org_id = $1 order by version, n`
  const events = await client.query<EventRow>(sql('event', 'type, operation, body'), [org_id])
  const audit = await client.query<EventRow>(sql('audit_entry', 'action as type'), [org_id])
  const eventsOf = Map.groupBy(events.rows, (event) => Number(event.object_id))
  const auditOf = Map.groupBy(audit.rows, (entry) => Number(entry.object_id))
  return rows.flatMap((row) => {
    const told = eventsOf.get(row.id) ?? []
    const changes = told.filter(({ operation }) => operation !== null)
    const expected = Array.from({ length: row.body['version'] as number }, (_, i) => i + 1)
    const faults: string[] = []
    if (
      !isDeepStrictEqual(
        changes.map(({ version }) => version),
        expected,
      )
    )
      faults.push(
        `${label(row)}: version ${expected.length} has events ${changes.map(place).join(', ')}`,
      )
    const entries = (auditOf.get(row.id) ?? []).filter(isChange)
    if (!isDeepStrictEqual(changes.map(place), entries.map(place)))
      faults.push(`${label(row)}: events and audit entries differ`)
    const last = changes.at(-1)?.body
    if (last && !isDeepStrictEqual(JSON.parse(last), row.body))
      faults.push(`${label(row)}: its last event shows another state`)
    const claims = known.get(row.id) ?? []
    return [
      ...faults,
      ...changes.flatMap((change) => changeFaults(row, change, told, claims, ranks)),
    ]
  })
}

const place = ({ version, tx_id, n, type }: EventRow): string =>
  `${type} v${version} in ${tx_id}.${n}`
const isChange = ({ type }: EventRow): boolean => /\.(created|updated|deleted)$/.test(type)

/** Where one change is not what the claims known by then say, or is told otherwise than it means. */
function changeFaults(
  row: Stored,
  change: EventRow,
  told: readonly EventRow[],
  claims: readonly Held[],
  ranks: Sources,
): string[] {
  const { resource } = row
  const { tx_id, at, previous, changed, body } = change
  const operation = change.operation as Operation
  const then = claims.filter(
    ({ tx_id: made, since_tx = 0, until_tx = Infinity }) =>
      made <= Number(tx_id) && since_tx <= Number(tx_id) && Number(tx_id) < until_tx,
  )
  const state = body
    ? (JSON.parse(body) as Row)
    : foldedRow(resource, row.body, then, ranks, at.getTime()).row
  // What other rules chose cannot be told from the claims once the rules are others.
  const ruled = ranks.revision > 0
  const faults = body && !ruled ? foldFaults(row, state, then, ranks, at.getTime()).faults : []
  if (change.type !== `${resource.name}.${operation}`)
    faults.push(`${label(row)}: ${operation} is called ${change.type}`)
  const beside = told.filter((event) => event.operation === null && event.tx_id === tx_id)
  const means = meaningsOf(resource, { operation, after: state, previous })
  const types = beside.map(({ type }) => type)
  if (!ruled && !isDeepStrictEqual(types, means))
    faults.push(`${label(row)}: ${place(change)} means ${means.join()}, told is ${types.join()}`)
  const same = (event: EventRow): boolean =>
    isDeepStrictEqual(
      [event.version, event.changed, event.previous, event.body, event.at],
      [change.version, changed, previous, body, at],
    )
  if (!beside.every(same)) faults.push(`${label(row)}: ${place(change)} is told in different words`)
  return faults
}

/** Each transaction has the events it counts, numbered from 0; numbers in the feed follow without gap or overlap. */
async function transactionFaults(client: Client, org_id: number): Promise<string[]> {
  const { rows } = await client.query<{ what: string }>(
    `select 'transaction ' || t.tx_id || ' counts ' || t.events || ' events and has ' || count(e.n) as what
     from tx t left join event e on e.org_id = t.org_id and e.tx_id = t.tx_id
     where t.org_id = $1 group by t.tx_id, t.events
     having count(e.n) <> t.events or count(distinct e.n) <> count(e.n) or max(e.n) <> t.events - 1
     union all
     select 'event ' || e.tx_id || '.' || e.n || ' has no transaction' from event e
     where e.org_id = $1 and not exists (select from tx t where t.org_id = e.org_id and t.tx_id = e.tx_id)
     union all
     select 'transaction ' || s.tx_id || ' begins at ' || s.first_seq || ' instead of ' || s.due from (
       select t.tx_id, t.first_seq, 1 + coalesce(sum(t.events) over (order by t.first_seq, t.events rows between unbounded preceding and 1 preceding), 0) as due
       from tx t where t.org_id = $1 and t.first_seq is not null) s
     where s.first_seq <> s.due`,
    [org_id],
  )
  return rows.map(({ what }) => what)
}

async function keyFaults(
  client: Client,
  org_id: number,
  rows: readonly Stored[],
): Promise<string[]> {
  const found = await client.query<{ key: string }>(
    `select json_build_array(object_type, object_id, system, external_id)::text as key from external_key where org_id = $1`,
    [org_id],
  )
  const kept = new Set(found.rows.map(({ key }) => JSON.stringify(JSON.parse(key))))
  const named = new Set(
    rows.flatMap(({ resource, id, body }) =>
      body['deleted_at'] === null
        ? (body['external_ids'] as Row[]).map((key) =>
            JSON.stringify([resource.name, id, key['system'], key['id']]),
          )
        : [],
    ),
  )
  return [
    ...[...named].filter((key) => !kept.has(key)).map((key) => `external key ${key} is not kept`),
    ...[...kept].filter((key) => !named.has(key)).map((key) => `external key ${key} is left over`),
  ]
}

/** Whatever names an object or a transaction must find it. */
async function orphans(
  client: Client,
  org_id: number,
  ids: ReadonlySet<number>,
): Promise<string[]> {
  const { rows } = await client.query<{ what: string; object_id: string | null; tx: boolean }>(
    `select 'claim' as what, a.object_id, exists (select from tx t where t.org_id = a.org_id and t.tx_id = a.tx_id) as tx
     from assertion a where a.org_id = $1
     union all select 'event', e.object_id, true from event e where e.org_id = $1 and e.object_type = any($2)
     union all select 'audit entry', e.object_id, exists (select from tx t where t.org_id = e.org_id and t.tx_id = e.tx_id)
     from audit_entry e where e.org_id = $1 and e.object_type = any($2)
     union all select 'source record', s.object_id, true from source_record s where s.org_id = $1
     union all select 'stored answer', substring((i.body::json ->> 'id') from '[0-9]+$')::bigint, true
     from idempotency i where i.org_id = $1 and i.status = 201 and i.body::json ->> 'object' = any($2)`,
    [org_id, resources.map(({ name }) => name)],
  )
  return rows.flatMap(({ what, object_id, tx }) => [
    ...(object_id !== null && ids.has(Number(object_id))
      ? []
      : [`${what} of ${object_id}: no such object`]),
    ...(tx ? [] : [`${what} of ${object_id}: no such transaction`]),
  ])
}
