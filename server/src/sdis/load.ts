/** Writes a chunk of records: plans the claims, passes the write door, keeps identity and blanks. */
import { newRow } from '../kit/apply.ts'
import { inOrder } from '../db/db.ts'
import type { Statement } from '../db/pipeline.ts'
import { bulkStatement } from '../kit/bulk-door.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import type { Change, Reference } from '../kit/door.ts'
import type { Fields } from '../kit/field.ts'
import { assertionsOf, ranksOf } from '../kit/history.ts'
import type { Source, Sources } from '../kit/history.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { changedFacts, complete, filledFields } from '../kit/row.ts'
import type { Store } from '../kit/store.ts'
import type { Assertion, Claim } from '../kit/timeline.ts'
import { PRESENT } from '../kit/timeline.ts'
import type { Actor, Tx } from '../kit/types.ts'
import { externalIds } from '../kit/write.ts'
import { effectOfChange, effectOfNew } from './effects.ts'
import type { Effect } from './effects.ts'
import { changeOf, plannedClaims } from './load-change.ts'
import { planLoad, stateAt } from './plan.ts'
import type { Blanks, History, NextRun, Plan } from './plan.ts'
import { blanksOf, presentRows, saveBlanks, saveRecords } from './record-queries.ts'
import type { Present, RecordRow } from './record-queries.ts'

/** What stays the same over a job's chunks. */
export interface Load {
  store: Store
  org_id: number
  job_id: number
  actor: Actor
  source_id: number
  /** The source itself, which before its first load only the job knows. */
  source: Source
  /** How far claims are to be believed, 0 to 1000. */
  confidence: number
  stream: string
  resource: Resource
  /** Attributes the adapter fills; what else the source claimed at creation is not its rows' business. */
  names: ReadonlySet<string>
  /** Structured attributes, which rows give part by part. */
  parts: ReadonlyMap<string, Fields>
  /** Valid time of the claims. */
  at: number
  next: NextRun | null
  /** Every record is looked at, also those whose row is as it was. */
  all: boolean
  /** What would change is told beside what is to be written. */
  watched: boolean
  /** What the run makes is not seen by its reads: it is not written, or not committed yet. */
  unseen: boolean
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
  /** When the latest of the objects to change was last written, epoch milliseconds. */
  latest: number
  /** What the changes come to, of a watched load. */
  effects: Effect[]
  /** Of the rules by which known objects were weighed; null when all are new. */
  revision: number | null
}

/** An object changed between reading and writing: the chunk is prepared anew. */
export class ChunkConflict extends Error {}

function noCounts(): LoadCounts {
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
    latest: 0,
    effects: [],
    revision: null,
  }
  const fresh = items.filter((item) => item.object_id === null)
  const ids = await load.store.db.ids(fresh.length)
  const now = new Date()
  fresh.forEach((item, i) => prepareNew(load, item, ids[i] as number, now, prepared))
  const known = items.filter((item) => item.object_id !== null)
  if (known.length > 0) await prepareKnown(load, known, prepared)
  return prepared
}

function prepareNew(load: Load, item: LoadItem, id: number, now: Date, prepared: Prepared): void {
  const { resource } = load
  const stated = wholeValues(load, item.stated as Row, () => null)
  const plan = planNew(load, stated)
  const request = { org_id: load.org_id, actor: load.actor, defaults: {} }
  const row = newRow(resource, request, id, now, stated)
  const gone = plan.claims.some((claim) => claim.attrs[PRESENT] === false)
  if (gone) row['archived_at'] = now.toISOString()
  // The first claim also carries what the platform set at creation, such as the initial status.
  const [first, ...rest] = plan.claims as [Claim, ...Claim[]]
  const claims = [{ ...first, attrs: changedFacts(resource, row, null) }, ...rest]
  prepared.creates.push({
    id,
    operation: 'created',
    expected: 0,
    after: row,
    previous: {},
    changed: filledFields(row),
    claims: claims.map((claim) => ({ ...claim, row: item.row, confidence: load.confidence })),
    contested: true,
    external: { add: externalIds(row), remove: [] },
  })
  prepared.records.push({ key: item.key, object_id: id, hash: item.hash, gone, keep_hash: false })
  for (const blanks of plan.blanks) prepared.blanks.push({ ...blanks, object_id: id })
  prepared.counts.created++
  prepared.counts.facts += factCount(claims)
  if (load.watched)
    prepared.effects.push(effectOfNew(load.resource, item, prepared.creates.at(-1) as Change))
}

/** Of a record without a past: all it states. */
function planNew(load: Load, stated: Row): Plan {
  if (load.next) return planLoad({ claims: [], blanks: [] }, load.at, stated, load.next)
  const claim = { valid_from: load.at, valid_to: null, attrs: stated, retracts: null }
  return { claims: [claim], blanks: [] }
}

/** Structured values made whole: parts that the row leaves blank stay as they were. */
function wholeValues(load: Load, stated: Row, before: (name: string) => unknown): Row {
  if (load.parts.size === 0) return stated
  const whole: Row = { ...stated }
  for (const [name, fields] of load.parts) {
    const given = stated[name] as Row | undefined
    if (given) whole[name] = complete(fields, { ...(before(name) as Row | null), ...given })
  }
  return whole
}

async function prepareKnown(
  load: Load,
  items: readonly LoadItem[],
  prepared: Prepared,
): Promise<void> {
  const { store, org_id, resource } = load
  const members = [...new Set(items.map((item) => item.object_id as number))]
  const heads = await headsOf(store.db, org_id, members)
  const ids = [...new Set(members.map((id) => heads.get(id) ?? id))]
  const [sources, rows, assertions, blanks] = await Promise.all([
    ranksOf(store.db, org_id),
    presentRows(store.db, org_id, resource.name, ids),
    assertionsOf(store.db, org_id, ids),
    blanksOf(store.db, org_id, load.source_id, members),
  ])
  if (!sources.has(load.source_id)) sources.set(load.source_id, load.source)
  prepared.revision = sources.revision
  const met = new Set<number>()
  for (const item of items) {
    const member = item.object_id as number
    const id = heads.get(member) ?? member
    const present = rows.get(id)
    if (!present || present.deleted) prepareDeleted(item, member, prepared)
    else {
      const earlier = met.has(id) ? prepared.updates.find((change) => change.id === id) : undefined
      const stored = assertions.get(id) ?? []
      const known = earlier ? [...stored, ...plannedClaims(load, earlier.claims)] : stored
      const history = {
        claims: ownClaims(load, known, member === id ? undefined : member),
        blanks: blanks.get(member) ?? [],
      }
      prepareChange(load, item, id, present, { known, sources }, history, prepared)
      if (earlier) fuse(prepared, earlier)
    }
    met.add(id)
  }
}

/** All that was said of an object, and how it is weighed. */
export interface Said {
  known: readonly Assertion[]
  sources: Sources
}

/** Two records that became one object change it once. */
function fuse(prepared: Prepared, earlier: Change): void {
  const last = prepared.updates.at(-1)
  if (!last || last === earlier || last.id !== earlier.id) return
  prepared.updates.pop()
  Object.assign(earlier, last, { claims: [...earlier.claims, ...last.claims] })
}

/** An object that a person deleted stays deleted, whatever the source goes on saying. */
function prepareDeleted(item: LoadItem, object_id: number, prepared: Prepared): void {
  const { key, hash, stated } = item
  prepared.records.push({ key, object_id, hash, gone: stated === null, keep_hash: false })
  if (stated !== null) prepared.counts.unchanged++
}

function prepareChange(
  load: Load,
  item: LoadItem,
  id: number,
  present: Present,
  said: Said,
  history: History,
  prepared: Prepared,
): void {
  const { counts } = prepared
  const stated = item.stated && wholeValues(load, item.stated, valueBefore(load, history))
  const plan = planLoad(history, load.at, stated, load.next)
  const member = item.object_id as number
  for (const blanks of plan.blanks) prepared.blanks.push({ ...blanks, object_id: member })
  prepared.records.push({
    key: item.key,
    object_id: member,
    hash: item.hash,
    gone: stated === null,
    // A load between two earlier ones says nothing of the present.
    keep_hash: load.next !== null,
  })
  const ending = stated === null && load.next === null
  if (plan.claims.length === 0) {
    if (!ending) counts.unchanged++
    return
  }
  const before = JSON.parse(present.body) as Row
  const { change, folded } = changeOf(load, { id, member }, present, before, said, plan, item.row)
  prepared.updates.push(change)
  if (load.watched)
    prepared.effects.push(effectOfChange(load, item, change, { history, said, folded, ending }))
  prepared.latest = Math.max(prepared.latest, Date.parse(before['updated_at'] as string))
  counts.facts += factCount(change.claims)
  if (ending) counts.ended++
  else if (change.changed.length === 0) counts.unchanged++
  else {
    counts.changed++
    for (const name of change.changed)
      counts.changed_fields[name] = (counts.changed_fields[name] ?? 0) + 1
  }
}

function valueBefore(load: Load, history: History): (name: string) => unknown {
  let values: ReadonlyMap<string, unknown> | null = null
  return (name) => (values ??= stateAt(history, load.at).values).get(name) ?? null
}

/** What the source said of one record, among all claims on the object that it became. */
function ownClaims(load: Load, known: readonly Assertion[], member: number | undefined): Claim[] {
  return known
    .filter((claim) => claim.source_id === load.source_id && claim.member === member)
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

/** Changes of one resource as the door's statement, built before it is sent. */
export interface DoorWrite {
  statement: Statement
  count: number
}

/**
 * The door's statements of what was prepared. They carry the time of now, so the transaction that will send them must
 * have an id already: who asks what was known at a time then waits for it, and nothing is added to that past.
 */
export function doorWrites(
  load: Load,
  prepared: Prepared,
  references: readonly Reference[],
): DoorWrite[] {
  const at = new Date(Math.max(Date.now(), prepared.latest))
  return [prepared.creates, prepared.updates]
    .filter((changes) => changes.length > 0)
    .map((changes) => {
      const revision = changes === prepared.updates ? prepared.revision : null
      return doorWrite(load, load.resource, changes, at, references, revision)
    })
}

export function doorWrite(
  load: Load,
  resource: Resource,
  changes: readonly Change[],
  at: Date,
  references: readonly Reference[] = [],
  revision: number | null = null,
): DoorWrite {
  const now = at.toISOString()
  for (const { after, expected, changed } of changes) {
    after['updated_at'] = now
    if (expected === 0) after['created_at'] = now
    const isEnded = after['archived_at'] !== null
    if (isEnded && (expected === 0 || changed.includes('archived_at'))) after['archived_at'] = now
  }
  const statement = bulkStatement(resource, changes, {
    org_id: load.org_id,
    actor: load.actor,
    source_id: load.source_id,
    at,
    job_id: load.job_id,
    bulk: true,
    references,
    revision,
  })
  return { statement, count: changes.length }
}

/** @throws ChunkConflict when an object moved on, or one referred to is gone. */
export async function passDoor(tx: Tx, { statement, count }: DoorWrite): Promise<void> {
  const [written] = await tx.query<{ count: string }>(statement.sql, statement.params)
  if (Number(written?.count) !== count)
    throw new ChunkConflict('an object changed while it was loaded, or was deleted')
}

/** Writes what was prepared and the rows beside it; everything is sent before this waits for the first answer. */
export async function write(
  load: Load,
  tx: Tx,
  prepared: Prepared,
  writes: readonly DoorWrite[],
): Promise<void> {
  await inOrder([
    ...writes.map(async (one) => await passDoor(tx, one)),
    saveRecords(tx, load, load.stream, writes.length > 0, prepared.records),
    saveBlanks(tx, load, prepared.blanks),
  ])
}

function factCount(claims: readonly Claim[]): number {
  let count = 0
  for (const { attrs } of claims) for (const name in attrs) if (!name.startsWith('_')) count++
  return count
}
