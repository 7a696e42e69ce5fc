/** Answers that show more or less than the stored row: expand, include, fields, and the grid/v2 form. */
import { ownSchema } from './extended.ts'
import { claimName, shownClaim } from './extension.ts'
import { shownRow } from './extension-row.ts'
import { assertionsOf, byOwner, ranksOf } from './history.ts'
import type { Known, Source } from './history.ts'
import { idDigits, publicId } from './ids.ts'
import { expandable, relationsOf } from './relations.ts'
import type { Registry, Shape, Times } from './query.ts'
import type { Resource, Row } from './resource.ts'
import { findMany } from './store.ts'
import type { Store } from './store.ts'
import { fold } from './timeline.ts'

/** True when the stored bytes are the answer as they are. */
export function isPlain(shape: Shape & Times): boolean {
  const { include } = shape
  const extra = include.has('facts') || include.has('provenance') || include.has('rollups')
  return (
    !shape.fields &&
    shape.expand.length === 0 &&
    !extra &&
    shape.as_of === null &&
    shape.known_at === null
  )
}

/** Adds what was asked for to rows of one resource, with one query per kind of thing, then drops unwanted fields. */
export async function shapeRows(
  store: Store,
  org_id: number,
  declared: Resource,
  stored: readonly Row[],
  shape: Shape & Times,
): Promise<Row[]> {
  const { registry } = await ownSchema(store, org_id)
  const resource = registry.get(declared.name) ?? declared
  const rows = stored.map((row) => shownRow(resource, row))
  await expandRows({ ...store, registry }, org_id, resource, rows, shape.expand)
  const ids = rows.map((row) => rowId(resource, row))
  const rollup = shape.include.has('rollups') ? store.rollups.get(resource.name) : undefined
  if (rollup) {
    const values = await rollup(store.db, org_id, ids)
    rows.forEach((row, i) => (row['rollups'] = values.get(ids[i] as number) ?? null))
  }
  if (shape.include.has('facts') || shape.include.has('provenance')) {
    const provenance = await byOwner(resource, org_id, ids, (owner, own) =>
      provenanceOf(store, resource, owner, own, shape),
    )
    const name = shape.include.has('facts') ? 'facts' : 'provenance'
    rows.forEach((row, i) => (row[name] = provenance.get(ids[i] as number) ?? {}))
  }
  return shape.fields ? rows.map((row) => pick(row, shape)) : rows
}

function rowId(resource: Resource, row: Row): number {
  return idDigits(resource.prefix, String(row['id'])) as number
}

/** Per object and field: the claim that won, and who made it. Fields that are not asked for are left out. */
export async function provenanceOf(
  store: Store,
  resource: Resource,
  org_id: number,
  ids: readonly number[],
  { fields: asked, ...times }: Times & Pick<Shape, 'fields'>,
): Promise<Map<number, Row>> {
  const { extensions } = resource
  const [known, sources] = await Promise.all([
    assertionsOf(store.db, org_id, ids, times.known_at),
    ranksOf(store.db, org_id),
  ])
  const at = times.as_of ?? Date.now()
  const wanted = (name: string): boolean =>
    !asked || asked.includes(name) || asked.includes(name.split('.')[0] as string)
  return new Map(
    [...known].map(([id, list]) => {
      const { winners } = fold(list, at, sources, resource.name)
      const fields = [...winners].flatMap(([field, claim]) => {
        const name = claimName(extensions, field)
        if (!wanted(name)) return []
        return [[name, shownClaim(extensions, field, claimView(claim as Known, field, sources))]]
      })
      return [id, Object.fromEntries(fields) as Row]
    }),
  )
}

/** A claim as clients see it. */
export function claimView(claim: Known, field: string, sources: ReadonlyMap<number, Source>): Row {
  const source = sources.get(claim.source_id)
  return {
    value: claim.attrs[field] ?? null,
    valid_from: new Date(claim.valid_from).toISOString(),
    valid_to: claim.valid_to === null ? null : new Date(claim.valid_to).toISOString(),
    recorded_at: new Date(claim.recorded_at).toISOString(),
    confidence_pct: claim.confidence / 10,
    source: {
      id: publicId('src', claim.source_id),
      kind: source?.kind ?? 'unknown',
      name: source?.name ?? 'unknown',
      job_id: claim.job_id === null ? null : publicId('job', claim.job_id),
      row: claim.row_no,
    },
    actor: { type: claim.actor_type, id: claim.actor_id, name: claim.actor_name },
    ...(claim.member_id === undefined ? {} : { member_id: claim.member_id }),
    transaction: publicId('tx', claim.tx_id),
    reason: claim.reason,
  }
}

/** Puts related objects beside their ids: `tenant` beside `tenant_party_id`. One query per type and level. */
async function expandRows(
  store: Store,
  org_id: number,
  resource: Resource,
  rows: Row[],
  paths: readonly string[],
): Promise<void> {
  const names = expandable(resource, store.registry)
  const heads = Map.groupBy(paths, (path) => path.split('.')[0] as string)
  const wanted = [...heads.keys()].flatMap((name) => {
    const relation = names.get(name)
    const target = relation ? store.registry.get(relation.target) : undefined
    return relation && target ? [{ name, field: relation.field, target }] : []
  })
  for (const [target, relations] of Map.groupBy(wanted, (w) => w.target)) {
    const ids = new Set<number>()
    for (const row of rows)
      for (const { field } of relations) for (const id of idsIn(target, row[field])) ids.add(id)
    const stored = await findMany(store, org_id, target, [...ids])
    const found = new Map([...stored].map(([id, row]) => [id, shownRow(target, row)]))
    const deeper = relations.flatMap(({ name }) =>
      (heads.get(name) ?? []).flatMap((path) =>
        path.includes('.') ? [path.slice(path.indexOf('.') + 1)] : [],
      ),
    )
    if (deeper.length > 0) await expandRows(store, org_id, target, [...found.values()], deeper)
    for (const row of rows) {
      for (const { name, field } of relations) {
        const objects = idsIn(target, row[field]).map((id) => found.get(id) ?? null)
        row[name] = Array.isArray(row[field]) ? objects : (objects[0] ?? null)
      }
    }
  }
}

function idsIn(target: Resource, value: unknown): number[] {
  return [value].flat().flatMap((text) => {
    const id = typeof text === 'string' ? idDigits(target.prefix, text) : null
    return id === null ? [] : [id]
  })
}

function pick(row: Row, shape: Shape): Row {
  const result = members(
    row,
    (shape.fields ?? []).map((path) => path.split('.')),
  ) as Row
  for (const path of shape.expand) {
    const head = path.split('.')[0] as string
    if (!(head in result)) result[head] = row[head]
  }
  for (const name of ['rollups', 'facts', 'provenance']) if (name in row) result[name] = row[name]
  return result
}

/** What paths lead to, in its place; in lists that of every item. */
function members(value: unknown, paths: readonly string[][]): unknown {
  if (Array.isArray(value)) return value.map((item) => members(item, paths))
  if (typeof value !== 'object' || value === null) return null
  const heads = Map.groupBy(paths, ([head]) => head as string)
  return Object.fromEntries(
    [...heads].map(([head, own]) => {
      const inner = (value as Row)[head]
      const deeper = own.map((path) => path.slice(1))
      return [head, deeper.some((path) => path.length === 0) ? inner : members(inner, deeper)]
    }),
  )
}

/** The second-generation form of a row: identity, attributes, relations and extensions apart. */
export function gridObject(resource: Resource, registry: Registry, row: Row): Row {
  const related = new Set([...relationsOf(resource, registry).values()].map(({ column }) => column))
  for (const { field } of expandable(resource, registry).values()) related.add(field)
  const attributes: Row = {}
  const relations: Row = {}
  for (const name of Object.keys(resource.fields)) {
    if (!(name in row)) continue
    if (related.has(name)) relations[name] = row[name]
    else attributes[name] = row[name]
  }
  const extra = ['rollups', 'facts', 'provenance', ...expandable(resource, registry).keys()]
  return {
    id: row['id'],
    type: resource.name,
    attributes: { ...attributes, external_ids: row['external_ids'], tags: row['tags'] },
    relations,
    ext: row['ext'],
    version: row['version'],
    created_at: row['created_at'],
    updated_at: row['updated_at'],
    archived_at: row['archived_at'],
    deleted_at: row['deleted_at'],
    ...Object.fromEntries(extra.flatMap((name) => (name in row ? [[name, row[name]]] : []))),
  }
}
