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
}

/** A related object: its id, or null when it was there and has been deleted. */
type Found = string | null

export class Resolver {
  /** What the records need of the objects found. */
  readonly checks: NeedChecks
  private readonly load: Load
  private readonly rules: ReadonlyMap<string, Resolve>
  private readonly mapping: Mapping
  private readonly cache = new Map<string, Found>()

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
    if (this.rules.size === 0) return { items: [...items], issues: [], stubs: [], references: [] }
    await this.lookUp(items)
    const stubs = await this.missingStubs(items, cells)
    // The chunk that writes them is committed before the next one is, so that one may refer to them already.
    for (const { rule, key, resource, change } of stubs)
      this.cache.set(cacheKey(rule, key), publicId(resource.prefix, change.id))
    const issues: RowIssue[] = []
    const resolved = items.flatMap((item) => {
      const missing = refsIn(item.stated).filter((ref) => !this.find(ref))
      for (const ref of missing) issues.push(this.issueOf(item, ref))
      if (missing.some(({ $ref: [path] }) => this.rule(path).missing === 'error')) return []
      const stated = statedWith(item.stated as Row, (ref) => this.find(ref))
      // What was left open is looked for again the next time, though the row be the same.
      return [{ ...item, stated, ...(missing.length > 0 ? { hash: '0' } : {}) }]
    })
    return { items: resolved, issues, stubs, references: this.references(items, stubs) }
  }

  /** Forgets what it found: an object was deleted meanwhile. */
  forget(): void {
    this.cache.clear()
  }

  /** Everything is sent before this waits for the first answer. */
  async writeStubs(tx: Tx, stubs: readonly Stub[]): Promise<void> {
    const { load } = this
    const sent: Promise<void>[] = []
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
        sent.push(saveRecords(tx, load, stream, true, rows))
      }
    }
    await inOrder(sent)
  }

  private references(items: readonly LoadItem[], stubs: readonly Stub[]): Reference[] {
    const made = new Set(stubs.map(({ change }) => change.id))
    const found = new Map<string, Reference>()
    for (const ref of items.flatMap((item) => refsIn(item.stated))) {
      const text = this.find(ref)
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
    return this.cache.get(cacheKey(this.rule(path), key))
  }

  private issueOf(item: LoadItem, ref: Ref): RowIssue {
    const [path, key] = ref.$ref
    const { type, stream, missing } = this.rule(path)
    const what = type.replaceAll('_', ' ')
    const deleted = this.find(ref) === null
    return {
      row: item.row ?? 0,
      field: path,
      code: 'unresolved_reference',
      message: deleted
        ? `the ${what} with the key ${key} of stream ${stream} has been deleted`
        : `no ${what} with the key ${key} was loaded from stream ${stream}`,
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
      if (this.cache.has(cacheKey(rule, key))) continue
      const place = `${rule.type} ${rule.stream}`
      const { keys } = wanted.get(place) ?? { keys: new Set() }
      wanted.set(place, { rule, keys: keys.add(key) })
    }
    for (const { rule, keys } of wanted.values()) {
      const prefix = load.store.registry.get(rule.type)?.prefix ?? ''
      const found = await relatedObjects(load.store.db, load, rule, [...keys])
      for (const [key, id] of found)
        this.cache.set(cacheKey(rule, key), id === null ? null : publicId(prefix, id))
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

function cacheKey({ type, stream }: Resolve, key: string): string {
  return `${type}\0${stream}\0${key}`
}

function isRef(value: object): value is Ref {
  return '$ref' in value
}

/** References that a value holds. */
function refsIn(value: unknown): Ref[] {
  if (typeof value !== 'object' || value === null) return []
  if (isRef(value)) return [value]
  return Object.values(value).flatMap(refsIn)
}

/** The value with ids in the place of references, null where there is none. */
function withIds(value: unknown, find: (ref: Ref) => Found | undefined): unknown {
  if (Array.isArray(value)) return value.map((item) => withIds(item, find))
  if (typeof value !== 'object' || value === null) return value
  if (isRef(value)) return find(value) ?? null
  return Object.fromEntries(
    Object.entries(value).map(([name, part]) => [name, withIds(part, find)]),
  )
}

/** References without an object are not stated. */
function statedWith(stated: Row, find: (ref: Ref) => Found | undefined): Row {
  return Object.fromEntries(
    Object.entries(stated)
      .map(([name, value]) => [name, withIds(value, find)] as const)
      .filter(([, value]) => value !== null),
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
