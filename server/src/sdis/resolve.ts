/** Ids of related objects: records name them by the key they have in the source. */
import { newRow } from '../kit/apply.ts'
import { writeStatement } from '../kit/door.ts'
import type { Change } from '../kit/door.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { changedFacts, changedFields } from '../kit/row.ts'
import type { Tx } from '../kit/types.ts'
import { emptied } from '../kit/write.ts'
import type { Resolve, Stream } from './adapter.ts'
import type { HashedRecord } from './chunks.ts'
import type { ErrorRow } from './jobs.ts'
import { refKey, refsIn, withIds } from './load.ts'
import type { Load, LoadItem } from './load.ts'
import type { Mapping } from './mapping.ts'
import { knownRecords, saveRecords } from './queries.ts'

/** Keys looked up and kept; the map starts over when it is full. */
const CACHE_MAX = 50_000

/** An object to be made in place of a missing one. */
export interface Stub {
  rule: Resolve
  resource: Resource
  key: string
  change: Change
}

export class Resolver {
  private readonly load: Load
  private readonly stream: Stream
  private readonly mapping: Mapping
  private readonly cache = new Map<string, string>()

  constructor(load: Load, stream: Stream, mapping: Mapping) {
    this.load = load
    this.stream = stream
    this.mapping = mapping
  }

  /** Replaces keys by ids. Records whose related object is missing and required are left out, with an error. */
  async resolve(
    items: readonly LoadItem[],
    sources: readonly HashedRecord[],
  ): Promise<{ items: LoadItem[]; errors: ErrorRow[]; stubs: Stub[] }> {
    if (Object.keys(this.stream.resolve).length === 0)
      return { items: [...items], errors: [], stubs: [] }
    await this.lookUp(items)
    const stubs = await this.missingStubs(items, sources)
    const ids = new Map([...this.cache, ...stubs.map((stub) => stubEntry(stub))])
    const errors: ErrorRow[] = []
    const resolved = items.flatMap((item) => {
      const missing = this.missingIn(item, ids)
      for (const { key, rule } of missing) {
        const message = `no ${rule.type} with the key ${key} was loaded from stream ${rule.stream}`
        const level = rule.missing === 'error' ? 'error' : 'warning'
        errors.push({
          row: item.row ?? 0,
          field: rule.value,
          code: 'unresolved_reference',
          message,
          level,
          raw: {},
        })
      }
      if (missing.some(({ rule }) => rule.missing === 'error')) return []
      return [{ ...item, stated: statedWith(item.stated as Row, ids) }]
    })
    return { items: resolved, errors, stubs }
  }

  /** Remembers objects once the transaction that made them has committed. */
  keep(stubs: readonly Stub[]): void {
    for (const stub of stubs) this.cache.set(...stubEntry(stub))
  }

  async writeStubs(tx: Tx, stubs: readonly Stub[]): Promise<void> {
    const { load } = this
    for (const [resource, group] of Map.groupBy(stubs, (stub) => stub.resource)) {
      const context = {
        org_id: load.org_id,
        actor: load.actor,
        source_id: load.source_id,
        at: new Date(),
        job_id: load.job_id,
        bulk: true,
      }
      const { sql, params } = writeStatement(
        resource,
        group.map((stub) => stub.change),
        context,
      )
      const [written] = await tx.query<{ tx_id: string }>(sql, params)
      for (const [stream, records] of Map.groupBy(group, (stub) => stub.rule.stream)) {
        const rows = records.map((stub) => ({
          key: stub.key,
          object_id: stub.change.id,
          hash: '0',
          gone: false,
          keep_hash: false,
        }))
        await saveRecords(tx, load.org_id, load.source_id, stream, Number(written?.tx_id), rows)
      }
    }
  }

  private async lookUp(items: readonly LoadItem[]): Promise<void> {
    const { load } = this
    if (this.cache.size > CACHE_MAX) this.cache.clear()
    const wanted = new Map<string, Set<string>>()
    for (const item of items) refsIn(item.stated, wanted)
    for (const [stream, keys] of wanted) {
      const unknown = [...keys].filter((key) => !this.cache.has(refKey([stream, key])))
      if (unknown.length === 0) continue
      const rule = this.ruleOf(stream)
      const prefix = load.store.registry.get(rule.type)?.prefix ?? ''
      const found = await knownRecords(load.store.db, load.org_id, load.source_id, stream, unknown)
      unknown.forEach((key, i) => {
        const record = found[i]
        if (record) this.cache.set(refKey([stream, key]), publicId(prefix, record.object_id))
      })
    }
  }

  private async missingStubs(
    items: readonly LoadItem[],
    sources: readonly HashedRecord[],
  ): Promise<Stub[]> {
    const { load } = this
    const wanted = new Map<string, { rule: Resolve; key: string; cells: HashedRecord['cells'] }>()
    items.forEach((item, i) => {
      for (const { rule, key } of this.missingIn(item, this.cache)) {
        if (rule.missing !== 'create_stub') continue
        wanted.set(refKey([rule.stream, key]), { rule, key, cells: sources[i]?.cells ?? [] })
      }
    })
    const ids = await load.store.db.ids(wanted.size)
    return [...wanted.values()].map(({ rule, key, cells }, i) => {
      const resource = load.store.registry.get(rule.type) as Resource
      const values =
        [...this.mapping.stubs.values()].find((stub) => stub.rule === rule)?.values(cells) ?? {}
      return { rule, resource, key, change: stubChange(load, resource, ids[i] as number, values) }
    })
  }

  private missingIn(
    item: LoadItem,
    ids: ReadonlyMap<string, string>,
  ): { rule: Resolve; key: string }[] {
    const refs = new Map<string, Set<string>>()
    refsIn(item.stated, refs)
    return [...refs].flatMap(([stream, keys]) =>
      [...keys]
        .filter((key) => !ids.has(refKey([stream, key])))
        .map((key) => ({ rule: this.ruleOf(stream), key })),
    )
  }

  private ruleOf(stream: string): Resolve {
    return Object.values(this.stream.resolve).find((rule) => rule.stream === stream) as Resolve
  }
}

function stubEntry(stub: Stub): [string, string] {
  return [refKey([stub.rule.stream, stub.key]), publicId(stub.resource.prefix, stub.change.id)]
}

/** References without an object are not stated. */
function statedWith(stated: Row, ids: ReadonlyMap<string, string>): Row {
  return Object.fromEntries(
    Object.entries(stated)
      .map(([name, value]) => [name, withIds(value, ids)] as const)
      .filter(([, value]) => value !== null),
  )
}

function stubChange(load: Load, resource: Resource, id: number, values: Row): Change {
  const row = newRow(
    resource,
    { org_id: load.org_id, actor: load.actor, defaults: {} },
    id,
    new Date(),
    values,
  )
  return {
    id,
    operation: 'created',
    expected: 0,
    after: row,
    previous: {},
    changed: changedFields(row, emptied(row)),
    claims: [
      {
        valid_from: load.at,
        valid_to: null,
        attrs: changedFacts(resource, row, null),
        retracts: null,
      },
    ],
    contested: false,
    external: { add: [], remove: [] },
  }
}
