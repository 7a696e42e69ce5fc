/** One object in every view: its facts, their history, who won and who lost. */
import { headsOf } from '../kit/cluster-queries.ts'
import { assertionsOf, ownerOf, ranksOf, rowAt, settle } from '../kit/history.ts'
import type { Known, Source } from '../kit/history.ts'
import { invalid, notFound } from '../kit/errors.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import type { Registry, Times } from '../kit/query.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import { claimView } from '../kit/shape.ts'
import { find } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import { fold, liveClaims } from '../kit/timeline.ts'

export interface Found {
  resource: Resource
  id: number
  known: Known[]
  sources: ReadonlyMap<number, Source>
}

/** The type an id belongs to, by its prefix. @throws 422 for what is no id of a resource. */
export function resourceOf(registry: Registry, text: string): { resource: Resource; id: number } {
  for (const resource of registry.values()) {
    const id = idDigits(resource.prefix, text)
    if (id !== null) return { resource, id }
  }
  const allowed = [...registry.values()].map((resource) => `${resource.prefix}_…`)
  throw invalid([
    { field: 'id', code: 'invalid_id', message: `'${text}' is not the id of an object`, allowed },
  ])
}

/** The claims on an object and its members, deleted ones included: history outlives the object. @throws 404 */
export async function findClaims(
  store: Store,
  org_id: number,
  text: string,
  times: Times,
): Promise<Found> {
  const { resource, id: named } = resourceOf(store.registry, text)
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

/** Every claim ever made, oldest first, each with what became of it. */
export function factViews({ known, sources }: Found, times: Times, field: string | null): Row[] {
  const at = times.as_of ?? Date.now()
  const { values, winners } = fold(known, at, sources)
  const live = liveClaims(known, at)
  return known.flatMap((claim) =>
    Object.keys(claim.attrs)
      .filter((name) => field === null || name === field)
      .map((name) => {
        const status =
          winners.get(name) === claim ? 'current' : statusOf(claim, name, known, live, values)
        return { field: name, status, ...claimView(claim, name, sources) }
      }),
  )
}

function statusOf(
  claim: Known,
  name: string,
  known: readonly Known[],
  live: ReadonlyMap<string, readonly unknown[]>,
  values: Row,
): string {
  const retracted = known.some(
    (other) =>
      other.source_id === claim.source_id &&
      other.valid_from === claim.valid_from &&
      other.tx_id > claim.tx_id &&
      other.retracts?.includes(name),
  )
  if (retracted) return 'retracted'
  if (!live.get(name)?.includes(claim)) return 'superseded'
  return sameValue(claim.attrs[name] ?? null, values[name] ?? null) ? 'current' : 'conflicting'
}

/** Fields on which live claims of several sources differ: the winner, the losers and why. */
export function conflictViews({ known, sources }: Found, times: Times): Row[] {
  const at = times.as_of ?? Date.now()
  const { winners } = fold(known, at, sources)
  return [...liveClaims(known, at)].flatMap(([field, claims]) => {
    const winner = winners.get(field) as Known | undefined
    const losers = claims.filter(
      (claim) =>
        claim !== winner && !sameValue(claim.attrs[field] ?? null, winner?.attrs[field] ?? null),
    )
    if (!winner || losers.length === 0) return []
    return [
      {
        field,
        winner: claimView(winner, field, sources),
        others: losers.map((claim) => claimView(claim, field, sources)),
        rule: ruleOf(winner, losers, sources),
      },
    ]
  })
}

function ruleOf(
  winner: Known,
  losers: readonly Known[],
  sources: ReadonlyMap<number, Source>,
): string {
  const rank = sources.get(winner.source_id)?.rank ?? 0
  const outranked = losers.every((claim) => (sources.get(claim.source_id)?.rank ?? 0) > rank)
  if (outranked) return 'source_rank'
  return losers.every((claim) => claim.valid_from < winner.valid_from)
    ? 'most_recent'
    : 'latest_write'
}

/** How the object's values followed each other in valid time: per field, from when to when, and by whom. */
export function timelineViews({ known, sources }: Found, field: string | null): Row[] {
  const ends = known.flatMap((claim) => (claim.valid_to === null ? [] : [claim.valid_to]))
  const moments = [...new Set([...known.map((claim) => claim.valid_from), ...ends])].sort(
    (a, b) => a - b,
  )
  const spans = new Map<string, (Row & { from: number; to: number | null; claim: Known })[]>()
  for (const at of moments) {
    const { winners, present, deleted } = fold(known, at, sources)
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
