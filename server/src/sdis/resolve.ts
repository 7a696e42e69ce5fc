/** Ids of related objects: records name them by the key they have in the source. */
import { inOrder } from '../db/db.ts'
import { newRow } from '../kit/apply.ts'
import type { Change, Reference } from '../kit/door.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { changedFacts, filledFields } from '../kit/row.ts'
import type { Tx } from '../kit/types.ts'
import type { Resolve, Stream } from './adapter.ts'
import type { Mapping, Ref, RowIssue } from './mapping.ts'
import { doorWrite, passDoor } from './load.ts'
import type { Load, LoadItem } from './load.ts'
import type { Cell } from './readers/types.ts'
import { NeedChecks } from './needs.ts'
import { dropPending, objectsWith, savePending } from './pending-queries.ts'
import type { Lookup, Pending } from './pending-queries.ts'
import { relatedObjects, saveRecords } from './record-queries.ts'

/** Keys looked up and kept; the map starts over when it is full. */
const CACHE_MAX = 50_000

/** An object to be made in place of a missing one. */
export interface Stub {
  rule: Resolve
  resource: Resource
  key: string
  change: Change
}

/** Records with their references found. */
export interface Resolved {
  items: LoadItem[]
  issues: RowIssue[]
  stubs: Stub[]
  /** What the records refer to, to be held until they are written. */
  references: Reference[]
  /** References that wait for their object from now on. */
  pending: Pending[]
  /** Fields of records that may have waited and do no longer. */
  settled: { key: string; field: string }[]
}

/** A related object: its id, null when it was there and has been deleted, or that several may be meant. */
type Found = string | null | typeof SEVERAL

const SEVERAL = Symbol('several')

export class Resolver {
  /** What the records need of the objects found. */
  readonly checks: NeedChecks
  private readonly load: Load
  private readonly rules: ReadonlyMap<string, Resolve>
  private readonly mapping: Mapping
  private readonly cache = new Map<string, Found>()
  /** Objects that the run makes and its reads do not see; see `Load.unseen`. */
  private readonly made = new Map<string, string>()

  constructor(load: Load, stream: Stream, mapping: Mapping) {
    this.load = load
    this.rules = new Map(Object.entries(stream.resolve))
    this.mapping = mapping
    this.checks = new NeedChecks(load, stream)
  }

  /**
   * Replaces keys by ids. Records whose related object is missing and required are left out, with an issue.
   * @param cells the first row of each item.
   */
  async resolve(
    items: readonly LoadItem[],
    cells: readonly (readonly Cell[])[],
  ): Promise<Resolved> {
    const nothing = { issues: [], stubs: [], references: [], pending: [], settled: [] }
    if (this.rules.size === 0) return { items: [...items], ...nothing }
    await this.lookUp(items)
    const stubs = await this.missingStubs(items, cells)
    // The chunk that writes them is committed before the next one is, so that one may refer to them already.
    for (const { rule, key, resource, change } of stubs)
      this.note(cacheKey(rule, key), publicId(resource.prefix, change.id))
    const issues: RowIssue[] = []
    const resolved = items.flatMap((item) => {
      if (item.stated === null) return [item]
      const missing = refsIn(item.stated).filter((ref) => this.idOf(ref) === null)
      for (const ref of missing) issues.push(this.issueOf(item, ref))
      if (missing.some(({ $ref: [path] }) => this.rule(path).missing === 'error')) return []
      const stated = statedWith(item.stated, (ref) => this.idOf(ref))
      // What was left open is looked for again the next time, though the row be the same.
      return [{ ...item, stated, ...(missing.length > 0 ? { hash: '0' } : {}) }]
    })
    const references = this.references(items, stubs)
    return { items: resolved, issues, stubs, references, ...this.waiting(items) }
  }

  /** Lets later records refer to these, which are about to be made. */
  remember(records: readonly { key: string; id: number }[]): void {
    const { load } = this
    if (!load.unseen) return
    const own = [...this.rules.values()].find(
      ({ type, stream }) => type === load.resource.name && stream === load.stream,
    )
    if (!own) return
    for (const { key, id } of records)
      this.note(cacheKey(own, key), publicId(load.resource.prefix, id))
  }

  private note(key: string, id: string): void {
    this.cache.set(key, id)
    if (this.load.unseen) this.made.set(key, id)
  }

  /** Forgets what it found: an object was deleted meanwhile. */
  forget(): void {
    this.cache.clear()
  }

  /** Writes what records need beside them. Everything is sent before this waits for the first answer. */
  async writeBeside(tx: Tx, { stubs, pending, settled }: Resolved): Promise<void> {
    const { load } = this
    const sent: Promise<void>[] = [
      savePending(tx, load, new Date(load.at), pending),
      dropPending(tx, load, settled),
    ]
    for (const [resource, group] of Map.groupBy(stubs, (stub) => stub.resource)) {
      const changes = group.map((stub) => stub.change)
      sent.push(passDoor(tx, doorWrite(load, resource, changes, new Date())))
      for (const [stream, records] of Map.groupBy(group, (stub) => stub.rule.stream)) {
        const rows = records.map((stub) => ({
          key: stub.key,
          object_id: stub.change.id,
          hash: '0',
          gone: false,
          keep_hash: false,
        }))
        sent.push(saveRecords(tx, load, stream as string, true, rows))
      }
    }
    await inOrder(sent)
  }

  /** Which references wait for their object, and which fields do not though they may have. */
  private waiting(items: readonly LoadItem[]): Pick<Resolved, 'pending' | 'settled'> {
    const pending: Pending[] = []
    const settled: Resolved['settled'] = []
    const rules = [...this.rules].filter(([, { missing }]) => missing === 'pending')
    for (const { key, stated, object_id } of rules.length > 0 ? items : []) {
      for (const [field, { type, stream, by }] of rules) {
        const value = stated?.[field]
        const ref = typeof value === 'object' && value !== null && isRef(value) ? value : null
        const lookup = { type, stream, by }
        if (ref && this.idOf(ref) === null)
          pending.push({
            key,
            object_type: this.load.resource.name,
            field,
            lookup,
            value: ref.$ref[1],
          })
        else if (object_id !== null) settled.push({ key, field })
      }
    }
    return { pending, settled }
  }

  private references(items: readonly LoadItem[], stubs: readonly Stub[]): Reference[] {
    const made = new Set(stubs.map(({ change }) => change.id))
    const found = new Map<string, Reference>()
    for (const ref of items.flatMap((item) => refsIn(item.stated))) {
      const text = this.idOf(ref)
      if (!text || found.has(text)) continue
      const id = idDigits(text.slice(0, text.indexOf('_')), text) as number
      if (!made.has(id)) found.set(text, { target: this.rule(ref.$ref[0]).type, id })
    }
    return [...found.values()]
  }

  private rule(path: string): Resolve {
    return this.rules.get(path) as Resolve
  }

  private find({ $ref: [path, key] }: Ref): Found | undefined {
    const place = cacheKey(this.rule(path), key)
    const found = this.cache.get(place)
    return found === undefined ? this.made.get(place) : found
  }

  private idOf(ref: Ref): string | null {
    const found = this.find(ref)
    return typeof found === 'string' ? found : null
  }

  private issueOf(item: LoadItem, ref: Ref): RowIssue {
    const [path, key] = ref.$ref
    const { type, stream, by, missing } = this.rule(path)
    const what = type.replaceAll('_', ' ')
    const found = this.find(ref)
    const how = by ? `${by.join(' or ')} ${key}` : `key ${key} of stream ${stream}`
    const none = by
      ? `no ${what} has the ${how}`
      : `no ${what} with the key ${key} was loaded from stream ${stream}`
    const deleted = `the ${what} with the ${how} has been deleted`
    const several = `several objects of the type ${what} have the ${how}`
    return {
      row: item.row ?? 0,
      field: path,
      code: found === SEVERAL ? 'ambiguous_reference' : 'unresolved_reference',
      message: found === SEVERAL ? several : found === null ? deleted : none,
      level: missing === 'error' ? 'error' : 'warning',
    }
  }

  private async lookUp(items: readonly LoadItem[]): Promise<void> {
    const { load } = this
    if (this.cache.size > CACHE_MAX) this.cache.clear()
    const wanted = new Map<string, { rule: Resolve; keys: Set<string> }>()
    for (const { $ref } of items.flatMap((item) => refsIn(item.stated))) {
      const [path, key] = $ref
      const rule = this.rule(path)
      if (this.find({ $ref }) !== undefined) continue
      const place = cacheKey(rule, '')
      const { keys } = wanted.get(place) ?? { keys: new Set() }
      wanted.set(place, { rule, keys: keys.add(key) })
    }
    for (const { rule, keys } of wanted.values()) {
      const found = await findObjects(load, rule, [...keys])
      for (const [key, object] of found) this.cache.set(cacheKey(rule, key), object)
    }
  }

  private async missingStubs(
    items: readonly LoadItem[],
    cells: readonly (readonly Cell[])[],
  ): Promise<Stub[]> {
    const { load } = this
    const wanted = new Map<string, Omit<Stub, 'change'> & { values: Row }>()
    items.forEach((item, i) => {
      for (const ref of refsIn(item.stated)) {
        const [path, key] = ref.$ref
        const rule = this.rule(path)
        // A deleted object stays deleted.
        if (rule.missing !== 'create_stub' || this.find(ref) !== undefined) continue
        const resource = load.store.registry.get(rule.type) as Resource
        const values = this.mapping.stubs.get(path)?.(cells[i] ?? []) ?? {}
        wanted.set(cacheKey(rule, key), { rule, resource, key, values })
      }
    })
    const ids = await load.store.db.ids(wanted.size)
    return [...wanted.values()].map(({ values, ...stub }, i) => ({
      ...stub,
      change: stubChange(load, stub.resource, ids[i] as number, values),
    }))
  }
}

function cacheKey({ type, stream, by }: Resolve, key: string): string {
  return `${type}\0${stream}\0${by?.join('\0')}\0\0${key}`
}

/**
 * The objects that keys stand for, those left out that stand for none.
 * @param keys each a key in the stream, or what one field or, as a JSON list, each of several fields says.
 */
export async function findObjects(
  { store, org_id, source_id }: Pick<Load, 'store' | 'org_id' | 'source_id'>,
  { type, stream, by }: Lookup,
  keys: readonly string[],
): Promise<Map<string, Found>> {
  const prefix = store.registry.get(type)?.prefix ?? ''
  const found = new Map<string, Found>()
  if (stream !== null) {
    const rows = await relatedObjects(store.db, { org_id, source_id }, { type, stream }, keys)
    for (const [key, id] of rows) found.set(key, id === null ? null : publicId(prefix, id))
  }
  for (const [i, field] of (by ?? []).entries()) {
    const open = keys.filter((key) => typeof found.get(key) !== 'string')
    const values = new Map(open.map((key) => [key, partOf(key, i, by?.length ?? 1)]))
    const stated = [...new Set(values.values())].filter((value) => value !== '')
    if (stated.length === 0) continue
    const objects = await objectsWith(store.db, org_id, { type, field }, stated)
    for (const [key, value] of values) {
      const id = objects.get(value)
      if (id !== undefined) found.set(key, id === null ? SEVERAL : publicId(prefix, id))
    }
  }
  return found
}

/** What a key says of the field in the given place. */
function partOf(key: string, place: number, fields: number): string {
  return fields === 1 ? key : ((JSON.parse(key) as string[])[place] ?? '')
}

function isRef(value: object): value is Ref {
  return '$ref' in value
}

/** References that a value holds. */
export function refsIn(value: unknown): Ref[] {
  if (typeof value !== 'object' || value === null) return []
  if (isRef(value)) return [value]
  return Object.values(value).flatMap(refsIn)
}

/** The value with ids in the place of references, null where there is none. */
function withIds(value: unknown, find: (ref: Ref) => string | null): unknown {
  if (Array.isArray(value)) return value.map((item) => withIds(item, find))
  if (typeof value !== 'object' || value === null) return value
  if (isRef(value)) return find(value)
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, withIds(part, find)]),
  )
}

/** References without an object are not stated. */
function statedWith(stated: Row, find: (ref: Ref) => string | null): Row {
  return Object.fromEntries(
    Object.entries(stated).flatMap(([name, value]) => {
      const isOpen = typeof value === 'object' && value !== null && isRef(value) && !find(value)
      return isOpen ? [] : [[name, withIds(value, find)] as const]
    }),
  )
}

function stubChange(load: Load, resource: Resource, id: number, values: Row): Change {
  const request = { org_id: load.org_id, actor: load.actor, defaults: {} }
  const row = newRow(resource, request, id, new Date(), values)
  const claim = {
    valid_from: load.at,
    valid_to: null,
    attrs: changedFacts(resource, row, null),
    retracts: null,
  }
  return {
    id,
    operation: 'created',
    expected: 0,
    after: row,
    previous: {},
    changed: filledFields(row),
    claims: [claim],
    contested: true,
    external: { add: [], remove: [] },
  }
}
