/** Writes a chunk of records: finds their objects, plans the claims, passes the write door, keeps identity and blanks. */
import { newRow } from '../kit/apply.ts'
import { writeStatement } from '../kit/door.ts'
import type { Change, WriteContext } from '../kit/door.ts'
import { assertionsOf, foldedRow } from '../kit/history.ts'
import type { Source } from '../kit/history.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { changedFacts, changedFields, sameValue } from '../kit/row.ts'
import type { Store } from '../kit/store.ts'
import type { Assertion, Claim } from '../kit/timeline.ts'
import { PRESENT } from '../kit/timeline.ts'
import type { Actor, Tx } from '../kit/types.ts'
import { difference, emptied, externalIds } from '../kit/write.ts'
import { planLoad } from './plan.ts'
import type { Blanks, NextRun, Plan } from './plan.ts'
import { blanksOf, presentRows, saveBlanks, saveRecords } from './queries.ts'
import type { RecordRow } from './queries.ts'

/** What stays the same over a job's chunks. */
export interface Load {
  store: Store
  org_id: number
  job_id: number
  actor: Actor
  source_id: number
  sources: ReadonlyMap<number, Source>
  stream: string
  resource: Resource
  /** Attributes the adapter fills; what else the source claimed at creation is not its rows' business. */
  names: ReadonlySet<string>
  /** Valid time of the claims. */
  at: number
  next: NextRun | null
}

/** A record to write: new (no object yet), known, or known and missing from a full snapshot (`stated` null). */
export interface LoadItem {
  key: string
  row: number | null
  hash: string
  object_id: number | null
  stated: Row | null
}

export interface LoadCounts {
  created: number
  changed: number
  unchanged: number
  ended: number
  facts: number
  changed_fields: Record<string, number>
}

/** Everything a chunk writes, ready before its transaction begins. */
export interface Prepared {
  creates: Change[]
  updates: Change[]
  records: RecordRow[]
  blanks: (Blanks & { object_id: number })[]
  counts: LoadCounts
}

/** An object changed between reading and writing: the chunk is prepared anew. */
export class ChunkConflict extends Error {}

export function noCounts(): LoadCounts {
  return { created: 0, changed: 0, unchanged: 0, ended: 0, facts: 0, changed_fields: {} }
}

/** Plans the claims of a chunk and the rows that follow from them. Reads, writes nothing. */
export async function prepare(load: Load, items: readonly LoadItem[]): Promise<Prepared> {
  const prepared: Prepared = {
    creates: [],
    updates: [],
    records: [],
    blanks: [],
    counts: noCounts(),
  }
  const fresh = items.filter((item) => item.object_id === null)
  const ids = await load.store.db.ids(fresh.length)
  fresh.forEach((item, i) => prepareNew(load, item, ids[i] as number, prepared))
  const known = items.filter((item) => item.object_id !== null)
  if (known.length > 0) await prepareKnown(load, known, prepared)
  return prepared
}

function prepareNew(load: Load, item: LoadItem, id: number, prepared: Prepared): void {
  const { resource } = load
  const stated = item.stated as Row
  const now = new Date()
  const plan = planLoad({ claims: [], blanks: [] }, load.at, stated, load.next)
  const request = { org_id: load.org_id, actor: load.actor, defaults: {} }
  const row = newRow(resource, request, id, now, stated)
  const gone = plan.claims.some((claim) => claim.attrs[PRESENT] === false)
  if (gone) row['archived_at'] = now.toISOString()
  // The first claim also carries what the platform set at creation, such as the initial status.
  const [first, ...rest] = plan.claims as [Claim, ...Claim[]]
  const claims = [
    { ...first, attrs: { ...first.attrs, ...changedFacts(resource, row, null) } },
    ...rest,
  ]
  prepared.creates.push({
    id,
    operation: 'created',
    expected: 0,
    after: row,
    previous: {},
    changed: changedFields(row, emptied(row)),
    claims: claims.map((claim) => ({ ...claim, row: item.row })),
    contested: rankOf(load) !== 50,
    external: { add: externalIds(row), remove: [] },
  })
  prepared.records.push({ key: item.key, object_id: id, hash: item.hash, gone, keep_hash: false })
  prepared.blanks.push(...plan.blanks.map((blanks) => ({ ...blanks, object_id: id })))
  prepared.counts.created++
  prepared.counts.facts += factCount(claims)
}

async function prepareKnown(
  load: Load,
  items: readonly LoadItem[],
  prepared: Prepared,
): Promise<void> {
  const { store, org_id, resource } = load
  const ids = [...new Set(items.map((item) => item.object_id as number))]
  const [rows, assertions, blanks] = await Promise.all([
    presentRows(store.db, org_id, resource.name, ids),
    assertionsOf(store.db, org_id, ids),
    blanksOf(store.db, org_id, load.source_id, ids),
  ])
  for (const item of items) {
    const id = item.object_id as number
    const present = rows.get(id)
    if (!present || present.deleted) {
      prepared.counts.unchanged++
      continue
    }
    const known = assertions.get(id) ?? []
    const history = { claims: ownClaims(load, known), blanks: blanks.get(id) ?? [] }
    const plan = planLoad(history, load.at, item.stated, load.next)
    prepared.blanks.push(...plan.blanks.map((b) => ({ ...b, object_id: id })))
    const gone = item.stated === null || plan.claims.some((claim) => claim.attrs[PRESENT] === false)
    const ended = item.stated === null && load.next === null
    prepared.records.push({
      key: item.key,
      object_id: id,
      hash: item.hash,
      gone: gone && load.next === null,
      keep_hash: load.next !== null || (item.stated === null && plan.claims.length === 0),
    })
    if (plan.claims.length === 0) {
      prepared.counts.unchanged++
      continue
    }
    const change = changeOf(load, id, present, known, plan, item.row)
    prepared.updates.push(change)
    prepared.counts.facts += factCount(change.claims)
    if (ended) prepared.counts.ended++
    else if (change.changed.length === 0) prepared.counts.unchanged++
    else {
      prepared.counts.changed++
      for (const name of change.changed) {
        prepared.counts.changed_fields[name] = (prepared.counts.changed_fields[name] ?? 0) + 1
      }
    }
  }
}

/** The row that follows when the planned claims join all claims on the object. */
function changeOf(
  load: Load,
  id: number,
  present: { version: number; contested: boolean; body: string },
  known: readonly Assertion[],
  plan: Plan,
  row: number | null,
): Change {
  const { resource } = load
  const before = JSON.parse(present.body) as Row
  const now = new Date()
  const planned = plan.claims.map((claim, i) => ({
    ...claim,
    source_id: load.source_id,
    tx_id: Number.MAX_SAFE_INTEGER - plan.claims.length + i,
    confidence: 1_000,
  }))
  const { row: after, folded } = foldedRow(
    resource,
    before,
    [...known, ...planned],
    load.sources,
    now.getTime(),
  )
  after['version'] = present.version + 1
  after['updated_at'] = now.toISOString()
  after['archived_at'] = folded.present ? null : (before['archived_at'] ?? now.toISOString())
  noteTransition(load, before, after, plan, now)
  const changed = changedFields(after, before)
  return {
    id,
    operation: 'updated',
    expected: present.version,
    after,
    previous: Object.fromEntries(changed.map((name) => [name, before[name] ?? null])),
    changed: after['archived_at'] === before['archived_at'] ? changed : [...changed, 'archived_at'],
    claims: plan.claims.map((claim) => ({ ...claim, row })),
    contested: present.contested || rankOf(load) !== 50,
    external: difference(externalIds(before), externalIds(after)),
  }
}

/** A status that a source moved is kept in the history like one that a person moved. */
function noteTransition(load: Load, before: Row, after: Row, plan: Plan, now: Date): void {
  const { lifecycle } = load.resource
  const [claim] = plan.claims
  if (!lifecycle || !claim || sameValue(before[lifecycle.field], after[lifecycle.field])) return
  if (!('status_history' in after)) return
  const by = { type: load.actor.type, id: load.actor.id }
  const entry = {
    from: before[lifecycle.field],
    to: after[lifecycle.field],
    at: now.toISOString(),
    by,
    reason: null,
  }
  after['status_history'] = [...((before['status_history'] as Row[] | null) ?? []), entry]
  claim.attrs['status_history'] = after['status_history']
}

function ownClaims(load: Load, known: readonly Assertion[]): Claim[] {
  return known
    .filter((assertion) => assertion.source_id === load.source_id)
    .sort((a, b) => a.valid_from - b.valid_from || a.tx_id - b.tx_id)
    .map((assertion) => ({
      ...assertion,
      attrs: Object.fromEntries(
        Object.entries(assertion.attrs).filter(
          ([name]) => name === PRESENT || load.names.has(name),
        ),
      ),
    }))
}

/** Writes a prepared chunk in the caller's transaction. @throws ChunkConflict when an object moved on meanwhile. */
export async function write(load: Load, tx: Tx, prepared: Prepared): Promise<void> {
  const context: WriteContext = {
    org_id: load.org_id,
    actor: load.actor,
    source_id: load.source_id,
    at: new Date(),
    job_id: load.job_id,
    bulk: true,
  }
  let tx_id = 0
  for (const changes of [prepared.creates, prepared.updates]) {
    if (changes.length === 0) continue
    const { sql, params } = writeStatement(load.resource, changes, context)
    const [written] = await tx.query<{ count: string; tx_id: string | null }>(sql, params)
    if (Number(written?.count) !== changes.length)
      throw new ChunkConflict('an object changed while it was loaded')
    tx_id = Number(written?.tx_id)
  }
  await saveRecords(tx, load.org_id, load.source_id, load.stream, tx_id, prepared.records)
  await saveBlanks(tx, load.org_id, load.source_id, prepared.blanks)
}

function rankOf(load: Load): number {
  return load.sources.get(load.source_id)?.rank ?? 50
}

function factCount(claims: readonly Claim[]): number {
  return claims.reduce(
    (sum, { attrs }) => sum + Object.keys(attrs).filter((name) => !name.startsWith('_')).length,
    0,
  )
}

/** Puts the ids of related objects where the records name them by key. Fields without an object are left out. */
export function withIds(value: unknown, ids: ReadonlyMap<string, string>): unknown {
  if (Array.isArray(value)) return value.map((item) => withIds(item, ids))
  if (typeof value !== 'object' || value === null) return value
  const ref = (value as { $ref?: [string, string] }).$ref
  if (ref) return ids.get(refKey(ref)) ?? null
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, withIds(part, ids)]))
}

export function refKey([stream, key]: readonly [string, string]): string {
  return `${stream}\0${key}`
}

/** Keys that records name, by stream. */
export function refsIn(value: unknown, found: Map<string, Set<string>>): void {
  if (Array.isArray(value)) for (const item of value) refsIn(item, found)
  else if (typeof value === 'object' && value !== null) {
    const ref = (value as { $ref?: [string, string] }).$ref
    if (!ref) for (const part of Object.values(value)) refsIn(part, found)
    else {
      const keys = found.get(ref[0])
      if (keys) keys.add(ref[1])
      else found.set(ref[0], new Set([ref[1]]))
    }
  }
}
