/** One object in every view: its facts, their history, who won and who lost. */
import { headsOf } from '../kit/cluster-queries.ts'
import { assertionsOf, ownerOf, ranksOf, rowAt, settle } from '../kit/history.ts'
import type { Known, Sources } from '../kit/history.ts'
import { notFound } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import type { Times } from '../kit/query.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import { claimView } from '../kit/shape.ts'
import { find } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import { fold } from '../kit/timeline.ts'
import { objectOf } from '../truth/index.ts'

export interface Found {
  resource: Resource
  id: number
  known: Known[]
  sources: Sources
}

/** The claims on an object and its members, deleted ones included: history outlives the object. @throws 404 */
export async function findClaims(
  store: Store,
  org_id: number,
  text: string,
  times: Times,
): Promise<Found> {
  const { resource, id: named } = objectOf(store.registry, text)
  await settle(store.db, org_id, times.known_at)
  // What the caller may not see is refused before its claims are read in their owner's context.
  const stored = await find(store, org_id, resource, named)
  if (!stored) throw notFound(`${resource.title} ${text}`)
  const head = stored.deleted ? (await headsOf(store.db, org_id, [named])).get(named) : undefined
  const id = head ?? named
  if (head !== undefined && !(await find(store, org_id, resource, head)))
    throw notFound(`${resource.title} ${text}`)
  const owner = ownerOf(resource, org_id, id)
  const [known, sources] = await Promise.all([
    assertionsOf(store.db, owner, [id], times.known_at),
    ranksOf(store.db, owner),
  ])
  const list = (known.get(id) ?? []).sort(
    (a, b) => a.valid_from - b.valid_from || a.tx_id - b.tx_id,
  )
  return { resource, id, known: list, sources }
}

/** How the object's values followed each other in valid time: per field, from when to when, and by whom. */
export function timelineViews({ resource, known, sources }: Found, field: string | null): Row[] {
  const ends = known.flatMap((claim) => (claim.valid_to === null ? [] : [claim.valid_to]))
  const moments = [...new Set([...known.map((claim) => claim.valid_from), ...ends])].sort(
    (a, b) => a - b,
  )
  const spans = new Map<string, (Row & { from: number; to: number | null; claim: Known })[]>()
  for (const at of moments) {
    const { winners, present, deleted } = fold(known, at, sources, resource.name)
    const names = new Set([...spans.keys(), ...winners.keys()])
    for (const name of names) {
      if (field !== null && name !== field) continue
      const claim = present && !deleted ? (winners.get(name) as Known | undefined) : undefined
      extend(spans, name, at, claim)
    }
  }
  return [...spans].flatMap(([name, list]) =>
    list.map(({ from, to, claim }) => ({
      field: name,
      from: new Date(from).toISOString(),
      to: to === null ? null : new Date(to).toISOString(),
      ...claimView(claim, name, sources),
    })),
  )
}

function extend(
  spans: Map<string, (Row & { from: number; to: number | null; claim: Known })[]>,
  name: string,
  at: number,
  claim: Known | undefined,
): void {
  const list = spans.get(name) ?? []
  spans.set(name, list)
  const last = list.at(-1)
  const open = last && last.to === null ? last : undefined
  if (open && claim && sameValue(open.claim.attrs[name] ?? null, claim.attrs[name] ?? null)) return
  if (open) open.to = at
  if (claim) list.push({ from: at, to: null, claim })
}

/** Objects it refers to and objects that refer to it, at most `max` per field. */
export async function relationViews(
  store: Store,
  org_id: number,
  found: Found,
  max: number,
): Promise<Row[]> {
  const { resource, id } = found
  const row =
    rowAt(resource, org_id, id, found.known, found.sources, { as_of: null, known_at: null }) ?? {}
  const outgoing = Object.entries(resource.fields)
    .filter(([, field]) => field.target)
    .flatMap(([name]) =>
      [row[name] ?? []].flat().map((to) => ({ direction: 'outgoing', field: name, object_id: to })),
    )
  const users = [...store.registry.values()].flatMap((other) =>
    Object.entries(other.fields)
      .filter(([, field]) => field.kind === 'reference' && field.target === resource.name)
      .map(([name]) => ({ other, name })),
  )
  const results = await store.db.fly(
    org_id,
    users.map(({ other, name }) => ({
      sql: `select id from ${other.name} where org_id = $1::bigint and ${name} = $2::bigint and deleted_at is null order by id limit ${max}`,
      params: [org_id, id],
    })),
  )
  const incoming = users.flatMap(({ other, name }, i) =>
    (results[i] ?? []).map((cells) => ({
      direction: 'incoming',
      field: name,
      object_id: publicId(other.prefix, String(cells[0])),
      object_type: other.name,
    })),
  )
  return [...outgoing, ...incoming]
}
