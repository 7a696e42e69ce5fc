/**
 * Erasing for legal reasons: what sources and people said of objects is taken out of every place that holds a copy, for
 * good. What stays is that something was there, and a count of what was taken.
 */
import { createHash } from 'node:crypto'
import { canonical } from '../audit/index.ts'
import { flightsIn, inOrder } from '../db/db.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import { lockStatement } from '../kit/door-locks.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { ownResource, ownSchema } from '../kit/extended.ts'
import { extensionKey } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import type { Issue } from '../kit/errors.ts'
import { assertionsOf, ranksOf } from '../kit/history.ts'
import type { Known } from '../kit/history.ts'
import { pathId, publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answered } from '../kit/once.ts'
import { record } from '../kit/record.ts'
import { allFields, writableFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { factNames } from '../kit/row.ts'
import { find } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import type { WriteRequest } from '../kit/write.ts'
import { registry } from '../resources.ts'
import {
  emptyTombstone,
  eraseEvidence,
  eraseObject,
  holdTombstone,
  insertErasure,
  listErasures,
  membersIn,
  moveErasure,
  redactSealed,
  sealedOf,
  takeErasure,
} from './erasure-queries.ts'
import type { Erasure } from './erasure-queries.ts'
import { holdObjects } from './object-queries.ts'
import { objectOf } from './object.ts'
import { unknownAttribute } from './proposals.ts'
import { rewritten, writeRewritten } from './refold.ts'

export interface ErasureBody {
  object_ids: string[]
  attributes?: string[]
  reason: string
  confirm: string
}

export function erasureView(erasure: Erasure): Row {
  return {
    id: publicId('ers', erasure.id),
    object: 'erasure',
    state: erasure.state,
    object_ids: erasure.objects.map(([type, id]) => publicId(prefixOf(type), id)),
    attributes: erasure.attributes,
    reason: erasure.reason,
    objects_done: erasure.position,
    counts: erasure.counts,
    created_at: erasure.created_at.toISOString(),
    finished_at: erasure.finished_at?.toISOString() ?? null,
  }
}

function prefixOf(type: string): string {
  return registry.get(type)?.prefix ?? 'obj'
}

export async function getErasure(db: OrgDb, org_id: number, text: string): Promise<Erasure> {
  const id = pathId('ers', text)
  const [erasure] = await listErasures(db, org_id, id + 1, 1)
  if (erasure?.id !== id) throw notFound(`Erasure ${text}`)
  return erasure
}

/**
 * Queues an erasure. What was merged is erased where it stands, with all that stands there.
 * @throws 404 for objects that do not exist, 409 for one that would be erased as a whole and was not deleted, 422 for
 *   attributes that may not be empty.
 */
export async function askErasure(
  store: Store,
  request: WriteRequest,
  body: ErasureBody,
): Promise<Answered> {
  const { org_id, actor } = request
  const { registry: own } = await ownSchema(store, org_id)
  const named = body.object_ids.map((text, i) => objectOf(own, text, `object_ids[${i}]`))
  const issues = named.flatMap(({ resource }) => attributeIssues(resource, body.attributes ?? []))
  if (issues.length > 0) throw invalid(issues)
  const [id] = (await store.db.ids(1)) as [number]
  return await once(store, request, async (tx) => {
    const ids = named.map(({ id: object_id }) => object_id)
    const heads = await headsOf(store.db, org_id, ids)
    const standing = named.map((one) => ({ ...one, id: heads.get(one.id) ?? one.id }))
    const objects = [...new Map(standing.map((one) => [one.id, one])).values()]
    for (const { resource, id: object_id } of objects)
      await requireErasable(store, org_id, resource, object_id, body.attributes === undefined)
    const erasure: Erasure = {
      id,
      state: 'running',
      objects: objects.map(({ resource, id: object_id }) => [resource.name, object_id]),
      attributes: body.attributes ?? null,
      reason: body.reason,
      position: 0,
      counts: {},
      actor,
      created_at: new Date(),
      finished_at: null,
    }
    await insertErasure(tx, org_id, erasure)
    await record(tx, org_id, actor, [
      {
        type: 'erasure.requested',
        object_type: 'erasure',
        object_id: id,
        object: null,
        details: {
          objects: objects.length,
          attributes: body.attributes ?? null,
          reason: body.reason,
        },
      },
    ])
    return { status: 202, headers: {}, body: JSON.stringify(erasureView(erasure)) }
  })
}

function attributeIssues(resource: Resource, names: readonly string[]): Issue[] {
  return names.flatMap((name, i) => {
    const field = `attributes[${i}]`
    const [own] = ownFields(resource, name)
    if (!own && !factNames(resource).includes(name))
      return [unknownAttribute(field, resource, name)]
    if (!(own ?? writableFields(resource)[name])?.required) return []
    const message = `is required of a ${resource.title.toLowerCase()}; delete and erase the whole instead`
    return [{ field, code: 'required', message }]
  })
}

/** Fields of the organization's own that have or had the name, whatever has become of them. */
function ownFields({ extensions }: Resource, name: string): Extension[] {
  return extensions.filter((one) => calledOnce(one).includes(name))
}

function calledOnce({ name, aliases }: Extension): string[] {
  return [name, ...aliases.map((alias) => alias.name)].map((one) => `ext.${one}`)
}

/** The attributes under every name by which copies hold them: fields of the organization's own by their keys too. */
function heldNames(resource: Resource, attributes: readonly string[]): string[] {
  const own = attributes.flatMap((name) => ownFields(resource, name))
  const keys = own.flatMap((one) => [extensionKey(one.id), ...calledOnce(one)])
  return [...new Set([...attributes, ...keys])]
}

async function requireErasable(
  store: Store,
  org_id: number,
  resource: Resource,
  id: number,
  whole: boolean,
): Promise<void> {
  const text = publicId(resource.prefix, id)
  const stored = resource.name === 'organization' ? null : await find(store, org_id, resource, id)
  if (!stored) throw notFound(`${resource.title} ${text}`)
  if (!whole || stored.deleted) return
  const detail = `${text} is still in use; delete it first, then erase it.`
  throw new ApiError('conflict', detail, { object_id: text })
}

/** Erases the next object of the organization's oldest erasure. @returns whether there was anything to do. */
export async function stepErasure(store: Store, org_id: number): Promise<boolean> {
  return await store.db.transaction(org_id, async (tx) => {
    const erasure = await takeErasure(tx, org_id)
    if (!erasure) return false
    const [type, id] = erasure.objects[erasure.position] ?? []
    const resource = registry.get(type ?? '')
    if (resource && id !== undefined) {
      const counts = await eraseOne(tx, org_id, erasure, resource, id)
      for (const [name, count] of Object.entries(counts))
        erasure.counts[name] = (erasure.counts[name] ?? 0) + count
    }
    erasure.position++
    if (erasure.position >= erasure.objects.length) {
      erasure.state = 'completed'
      erasure.finished_at = new Date()
    }
    await moveErasure(tx, org_id, erasure)
    if (erasure.state === 'completed') {
      const [name, object] = ['erasure.completed', erasureView(erasure)]
      const happening = { type: name, object_type: 'erasure', object_id: erasure.id, object }
      await record(tx, org_id, erasure.actor, [happening])
    }
    return true
  })
}

async function eraseOne(
  tx: Tx,
  org_id: number,
  asked: Erasure,
  declared: Resource,
  id: number,
): Promise<Record<string, number>> {
  const resource = await ownResource({ db: flightsIn(tx), registry }, org_id, declared)
  const attributes = asked.attributes && heldNames(resource, asked.attributes)
  const erasure = { ...asked, attributes }
  const head = await holdStanding(tx, org_id, resource, id)
  const members = await membersIn(tx, org_id, head)
  const counts: Record<string, number> = {}
  const add = (more: Record<string, number>): void => {
    for (const [name, count] of Object.entries(more)) counts[name] = (counts[name] ?? 0) + count
  }
  for (const part of [head, ...members]) {
    await eraseRow(tx, org_id, erasure, resource, part)
    const text = publicId(resource.prefix, part)
    add(await eraseObject(tx, org_id, part, text, erasure.attributes))
    add({ sealed_entries: await redact(tx, org_id, erasure, part) })
  }
  // Why two were thought to be one quotes both.
  for (const merge of await eraseEvidence(tx, org_id, [head, ...members])) {
    const quoting = { ...erasure, attributes: ['evidence', 'reason'] }
    await eraseObject(tx, org_id, merge, publicId('mrg', merge), quoting.attributes)
    add({ sealed_entries: await redact(tx, org_id, quoting, merge) })
  }
  return counts
}

/** The object that the id stands for, which no merge moves until the transaction ends. */
async function holdStanding(
  tx: Tx,
  org_id: number,
  resource: Resource,
  id: number,
): Promise<number> {
  const { sql, params } = lockStatement(resource, org_id, id)
  await tx.query(sql, params)
  const head = (await headsOf(flightsIn(tx), org_id, [id])).get(id)
  return head === undefined ? id : await holdStanding(tx, org_id, resource, head)
}

/** The row without what is erased: that of a living object through the door, a tombstone as it stands. */
async function eraseRow(
  tx: Tx,
  org_id: number,
  { attributes, actor }: Erasure,
  resource: Resource,
  id: number,
): Promise<void> {
  const names = attributes ?? [...factNames(resource), ...resource.derived]
  const tombstone = await holdTombstone(tx, org_id, resource, id)
  if (tombstone) {
    const fields = allFields(resource)
    for (const name of names)
      if (name in fields) tombstone[name] = Array.isArray(fields[name]?.initial) ? [] : null
    const own = Object.entries((tombstone['ext'] ?? {}) as Row)
    const kept = own.filter(([key]) => attributes !== null && !attributes.includes(key))
    tombstone['ext'] = Object.fromEntries(kept)
    await emptyTombstone(tx, org_id, resource, id, tombstone, names)
    return
  }
  const [held] = await holdObjects(tx, org_id, resource, [id])
  // An object that was deleted since then, and erased as a whole, is gone.
  if (!held || attributes === null) return
  const db = flightsIn(tx)
  const [known, ranks] = await inOrder([assertionsOf(db, org_id, [id]), ranksOf(db, org_id)])
  const rest = (known.get(id) ?? []).map((claim) => without(claim, attributes))
  const at = new Date(Math.max(Date.now(), Date.parse(held.row['updated_at'] as string)))
  const change = rewritten(resource, held, rest, ranks, at)
  if (!change) return
  for (const name of attributes) delete change.previous[name]
  await writeRewritten(tx, org_id, resource, [change], { actor, ranks, at })
}

function without(claim: Known, attributes: readonly string[]): Known {
  const attrs = Object.entries(claim.attrs).filter(([name]) => !attributes.includes(name))
  const retracts = claim.retracts?.filter((name) => !attributes.includes(name)) ?? null
  return { ...claim, attrs: Object.fromEntries(attrs), retracts }
}

/**
 * Takes the values out of sealed audit entries. Their hashes stay, so the chain does; an entry of its own says which were
 * redacted and what the rest of each hashes to, which proves that nothing else was changed.
 */
async function redact(tx: Tx, org_id: number, erasure: Erasure, id: number): Promise<number> {
  const entries = (await sealedOf(tx, org_id, id)).flatMap(({ position, body }) => {
    const rest = redacted(body, erasure.attributes)
    return rest === body ? [] : [{ position, body: rest }]
  })
  if (entries.length === 0) return 0
  const hashes = entries.map(({ position, body }) => {
    return [position, createHash('sha256').update(body).digest('hex')] as const
  })
  const tx_id = await record(tx, org_id, erasure.actor, [
    {
      type: 'erasure.redacted',
      object_type: 'erasure',
      object_id: erasure.id,
      object: null,
      details: { entries: Object.fromEntries(hashes) },
    },
  ])
  await redactSealed(tx, org_id, entries, tx_id)
  return entries.length
}

function redacted(body: string, attributes: readonly string[] | null): string {
  const entry = JSON.parse(body) as Row
  const { before, after } = entry as { before: Row; after: Row }
  const rest = (values: Row): Row =>
    attributes === null
      ? {}
      : Object.fromEntries(Object.entries(values).filter(([name]) => !attributes.includes(name)))
  const details = attributes === null ? null : entry['details']
  return canonical({ ...entry, before: rest(before), after: rest(after), details })
}
