/** What other rules would change: the current values of contested objects weighed twice, batch by batch. */
import { createHash } from 'node:crypto'
import { assertionsOf } from '../kit/history.ts'
import type { Known, Sources } from '../kit/history.ts'
import { fingerprintOf } from '../kit/idempotency.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { sameValue } from '../kit/row.ts'
import type { OrgDb } from '../kit/types.ts'
import { fold } from '../kit/timeline.ts'
import { contestedIds } from './object-queries.ts'

/** Objects weighed by one read. */
const BATCH = 1_000

/** Differences shown as examples. */
const SAMPLES = 20

/** What a change of rules can reach. */
export interface Scope {
  resources: readonly Resource[]
  /** Null for all. */
  attribute: string | null
  /** Single claims too: thresholds or who may speak changed. */
  alone: boolean
}

export interface Difference {
  resource: Resource
  id: number
  attribute: string
  before: Known | null
  after: Known | null
}

/** Values that would be others by other rules, in the order of types and objects. */
export async function* differences(
  db: OrgDb,
  org_id: number,
  { resources, attribute, alone }: Scope,
  before: Sources,
  after: Sources,
): AsyncGenerator<Difference[]> {
  const now = Date.now()
  for (const resource of resources) {
    for (let last = 0; ;) {
      const ids = await contestedIds(db, org_id, { resource, alone, attribute }, last, BATCH)
      const known = await assertionsOf(db, org_id, ids)
      yield ids.flatMap((id) => {
        const claims = known.get(id) ?? []
        const [old, next] = [before, after].map(
          (ranks) => fold(claims, now, ranks, resource.name).winners as Map<string, Known>,
        ) as [Map<string, Known>, Map<string, Known>]
        const names = attribute === null ? new Set([...old.keys(), ...next.keys()]) : [attribute]
        return [...names].flatMap((name) => {
          const pair = { before: old.get(name) ?? null, after: next.get(name) ?? null }
          const same = sameValue(valueIn(pair.before, name), valueIn(pair.after, name))
          return same ? [] : [{ resource, id, attribute: name, ...pair }]
        })
      })
      if (ids.length < BATCH) break
      last = ids.at(-1) as number
    }
  }
}

function valueIn(claim: Known | null, name: string): unknown {
  return claim?.attrs[name] ?? null
}

export interface Preview {
  /** Names the change, the rules it starts from and every value it changes. */
  hash: string
  revision: number
  objects: number
  values: number
  attributes: Row[]
  samples: Row[]
}

/** Counts every value that would change, and shows some. */
export async function preview(
  db: OrgDb,
  org_id: number,
  { about, scope, before, after }: Proposal,
): Promise<Preview> {
  const digest = createHash('sha256').update(fingerprintOf([about, before.revision]))
  const counts = new Map<string, Row & { values: number }>()
  const samples: Row[] = []
  let [objects, values, last] = [0, 0, 0]
  for await (const batch of differences(db, org_id, scope, before, after)) {
    for (const difference of batch) {
      const { resource, id, attribute } = difference
      if (id !== last) objects++
      last = id
      values++
      const key = `${resource.name}.${attribute}`
      const count = counts.get(key) ?? { type: resource.name, attribute, values: 0 }
      count.values++
      counts.set(key, count)
      const view = differenceView(difference, before)
      digest.update(fingerprintOf(view))
      if (samples.length < SAMPLES) samples.push(view)
    }
  }
  return {
    hash: digest.digest('hex'),
    revision: before.revision,
    objects,
    values,
    attributes: [...counts.values()],
    samples,
  }
}

/** A change of rules or sources that is thought of. */
export interface Proposal {
  /** As the audit log tells it. */
  about: Row
  scope: Scope
  before: Sources
  after: Sources
}

function differenceView(
  { resource, id, attribute, before, after }: Difference,
  sources: Sources,
): Row {
  const side = (claim: Known | null): Row => ({
    value: valueIn(claim, attribute),
    source_id: claim && publicId('src', claim.source_id),
    source: claim && (sources.get(claim.source_id)?.name ?? 'unknown'),
  })
  return {
    object_id: publicId(resource.prefix, id),
    type: resource.name,
    attribute,
    before: side(before),
    after: side(after),
  }
}
