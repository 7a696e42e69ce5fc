/** The write door for loads: the same statement with its rows as arrays, a parameter for each column that is written. */
import type { Param, Statement } from '../db/pipeline.ts'
import { bigintArray, booleanArray, integerArray, textArray, timeArray } from './arrays.ts'
import { doorText, meaningsOf, wantedJson } from './door.ts'
import {
  extColumn,
  toldNames,
  toldPrevious,
  toldValues,
  touchesExtensions,
} from './extension-door.ts'
import type { Change, DoorInput, WriteContext } from './door.ts'
import { arrayLiteral } from './filter.ts'
import { columns, columnValue, render, searchText } from './row.ts'
import type { Column } from './row.ts'
import type { Resource } from './resource.ts'

/** Parameters of the door's statement that are the same for every way in. */
const FIXED_PARAMS = 19

/**
 * The door's statement for up to some thousand changes of one resource, all creates or all updates, for `Tx.query`.
 * JSON costs the database more than the writing itself; so do columns without a value. Events carry no body.
 */
export function bulkStatement(
  resource: Resource,
  changes: readonly Change[],
  context: WriteContext,
): Statement {
  const create = changes[0]?.expected === 0
  const { actor, job_id = null } = context
  const input = new Columns()
  const written = create ? columns(resource) : changedColumns(resource, changes)
  const names = written.filter((column) => addColumn(input, column, changes, create))
  addRows(input, resource, changes)
  const meanings = addMeanings(input, resource, changes)
  const extensions = changes.some(touchesExtensions)
  const claims = claimColumns(changes, input.next)
  const external = externalColumns(changes, claims.next)
  const door: DoorInput = {
    names: names.map(({ name }) => name),
    rows: `select (u._n - 1)::integer as _n, u._id, null::boolean as _event, ${input.values.join(', ')}
    from unnest($3::bigint[], ${input.arrays.join(', ')}) with ordinality as u(_id, ${input.names.join(', ')}, _n)`,
    claims: claims.relation('$5::bigint[]', 'o', 'c'),
    external: external.relation('$6::bigint[]', 'o', 'e'),
  }
  return {
    sql: doorText(resource, create, door, [], {
      external: true,
      remembered: true,
      meanings,
      extensions,
      weighed: typeof context.revision === 'number',
    }),
    params: [
      context.org_id,
      context.at.toISOString(),
      bigintArray(changes.map(({ id }) => id)),
      wantedJson(context),
      claims.objects,
      external.objects,
      context.source_id,
      actor.type,
      actor.id,
      actor.name,
      actor.request_id,
      job_id,
      null,
      null,
      null,
      null,
      null,
      null,
      context.revision ?? null,
      ...input.params,
      ...claims.params,
      ...external.params,
    ],
  }
}

/** Columns on their way into the statement: their arrays, and how the values of the other types come out of them. */
class Columns {
  readonly names: string[] = []
  readonly arrays: string[] = []
  readonly values: string[] = []
  readonly params: Param[] = []
  objects: Buffer = bigintArray([])
  private readonly first: number

  constructor(first = FIXED_PARAMS + 1) {
    this.first = first
  }

  /** Number of the next parameter. */
  get next(): number {
    return this.first + this.params.length
  }

  /** @param cast type of the column when its values travel as text. */
  add(name: string, type: string, array: Buffer, cast?: string): void {
    this.arrays.push(`$${this.next}::${type}[]`)
    this.names.push(name)
    this.values.push(cast ? `u.${name}::${cast} as ${name}` : `u.${name}`)
    this.params.push(array)
  }

  /** A column that has the same value in every row. */
  constant(name: string, sql: string): void {
    this.values.push(`${sql} as ${name}`)
  }

  relation(objects: string, key: string, alias: string): string {
    return `(select u.${key}, ${this.values.join(', ')} from unnest(${[objects, ...this.arrays].join(', ')}) as u(${[key, ...this.names].join(', ')})) ${alias}`
  }
}

/** The columns whose field one of the updates changed; all others hold what the row says already. */
function changedColumns(resource: Resource, changes: readonly Change[]): Column[] {
  const changed = new Set(changes.flatMap((change) => change.changed))
  return columns(resource).filter(({ name }) => changed.has(name))
}

/** @returns false for a column of a create in which every row is null. */
function addColumn(
  input: Columns,
  column: Column,
  changes: readonly Change[],
  create: boolean,
): boolean {
  const { name, type } = column
  const values = changes.map(({ after }) => columnValue(column, after[name]) ?? null)
  if (create && values.every((value) => value === null)) return false
  switch (type) {
    case 'bigint':
      input.add(name, type, bigintArray(values as (number | null)[]))
      break
    case 'integer':
      input.add(name, type, integerArray(values as (number | null)[]))
      break
    case 'boolean':
      input.add(name, type, booleanArray(values as (boolean | null)[]))
      break
    case 'text':
      input.add(name, type, textArray(values as (string | null)[]))
      break
    case 'text[]':
      input.add(name, 'text', textArray(values.map((value) => arrayText(value as string[]))), type)
      break
    case 'numeric':
    case 'date':
    case 'timestamptz':
      input.add(name, 'text', textArray(values.map((v) => (v === null ? null : String(v)))), type)
      break
  }
  return true
}

function addRows(input: Columns, resource: Resource, changes: readonly Change[]): void {
  const rows = changes.map(({ after }) => after)
  input.add('_expected', 'integer', integerArray(changes.map(({ expected }) => expected)))
  input.add('_op', 'text', textArray(changes.map(({ operation }) => operation)))
  input.add(
    '_changed',
    'text',
    textArray(changes.map((c) => `{${toldNames(resource, c).join(',')}}`)),
    'text[]',
  )
  input.add(
    '_previous',
    'text',
    textArray(changes.map((c) => JSON.stringify(toldPrevious(resource, c)))),
    'jsonb',
  )
  input.add('_contested', 'boolean', booleanArray(changes.map(({ contested }) => contested)))
  input.add('_search', 'text', textArray(rows.map((row) => searchText(resource, row))))
  input.add('_body', 'text', textArray(rows.map(render)))
  const own = changes.map(extColumn)
  if (own.every((values) => values === null)) input.constant('_ext', 'null::jsonb')
  else {
    const texts = own.map((values) => (values === null ? null : JSON.stringify(values)))
    input.add('_ext', 'text', textArray(texts), 'jsonb')
  }
  const told = changes.map((change) => toldValues(resource, change))
  if (told.some((values) => values !== null)) {
    const texts = told.map((values) => (values === null ? null : JSON.stringify(values)))
    input.add('_told', 'text', textArray(texts), 'jsonb')
  }
  for (const name of ['created_at', 'archived_at', 'deleted_at']) {
    const times = rows.map((row) => (row[name] ? Date.parse(row[name] as string) : null))
    if (times.every((time) => time === null)) input.constant(name, 'null::timestamptz')
    else input.add(name, 'timestamptz', timeArray(times))
  }
}

/** @returns whether some change means more than itself. */
function addMeanings(input: Columns, resource: Resource, changes: readonly Change[]): boolean {
  const means = changes.map((change) => meaningsOf(resource, change))
  const some = means.some((types) => types.length > 0)
  if (some) input.add('_means', 'text', textArray(means.map(arrayText)), 'text[]')
  return some
}

function claimColumns(changes: readonly Change[], first: number): Columns {
  const found = changes.flatMap(({ id, claims }) => claims.map((claim) => ({ id, ...claim })))
  const columns = new Columns(first)
  columns.objects = bigintArray(found.map(({ id }) => id))
  const members = found.map(({ member = null }) => member)
  if (members.every((member) => member === null)) columns.constant('m', 'null::bigint')
  else columns.add('m', 'bigint', bigintArray(members))
  columns.add('f', 'timestamptz', timeArray(found.map((claim) => claim.valid_from)))
  columns.add('t', 'timestamptz', timeArray(found.map((claim) => claim.valid_to)))
  columns.add('a', 'text', textArray(found.map((claim) => JSON.stringify(claim.attrs))), 'jsonb')
  const retracts = found.map((claim) => arrayText(claim.retracts))
  columns.add('r', 'text', textArray(retracts), 'text[]')
  columns.add('c', 'integer', integerArray(found.map((c) => c.confidence ?? 1_000)), 'smallint')
  columns.add('w', 'integer', integerArray(found.map((claim) => claim.row ?? null)))
  return columns
}

function externalColumns(changes: readonly Change[], first: number): Columns {
  const found = changes.flatMap(({ id, external: { add, remove } }) => [
    ...add.map((key) => ({ id, add: true, key })),
    ...remove.map((key) => ({ id, add: false, key })),
  ])
  const columns = new Columns(first)
  columns.objects = bigintArray(found.map(({ id }) => id))
  columns.add('add', 'boolean', booleanArray(found.map(({ add }) => add)))
  columns.add('s', 'text', textArray(found.map(({ key }) => key.system)))
  columns.add('i', 'text', textArray(found.map(({ key }) => key.id)))
  return columns
}

function arrayText(values: readonly string[] | null): string | null {
  return values === null ? null : arrayLiteral(values)
}
