/** Writes the demo portfolio into an organization, through the same door as everything else. */
import { Readable } from 'node:stream'
import type { FileKey } from '../documents/files.ts'
import { versionOf, withVersion } from '../documents/service.ts'
import type { Storage } from '../documents/storage.ts'
import { lease } from '../leases/resource.ts'
import { createMany } from '../kit/bulk.ts'
import type { NewObject } from '../kit/bulk.ts'
import { writeStatement } from '../kit/door.ts'
import type { Change } from '../kit/door.ts'
import { assertionsOf, foldedRow, ranksOf } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { get, parseBody } from '../kit/store.ts'
import type { Store } from '../kit/store.ts'
import type { WriteRequest } from '../kit/write.ts'
import { SYSTEM } from '../organizations/service.ts'
import { registry } from '../resources.ts'
import type { Draft } from './model.ts'
import { pdf } from './pdf.ts'
import { demoPortfolio } from './portfolio.ts'
import type { Portfolio, PortfolioOptions } from './portfolio.ts'

/** Built-in sources of claims. */
const DEMO_SOURCE = 6
const EXTRACTION_SOURCE = 3
/** In thousandths; machines that read are believed from 800 on. */
const READING_CONFIDENCE = 900

/** Statements under way at once: while the database writes one, the next is made ready. */
const LANES = 3
const CHUNK = 500
/** Leases are ten times as large as work orders. */
const LEASE_CHUNK = 200
/** Files on their way to their places at once. */
const FILE_LANES = 16
/** A drawn file is a few kilobytes. */
const FILE_MAX_BYTES = 1024 * 1024

/** The portfolio that everyone gets who asks for no other. */
export const DEMO_SEED = 10

/** What was written: the number of objects by type. */
export type Seeded = Record<string, number>

/** @throws when the organization has property already: what is made up must not mix with what is real. */
export async function seedDemo(
  store: Store,
  storage: Storage,
  org_id: number,
  options: PortfolioOptions,
): Promise<Seeded> {
  await refuseSecond(store, org_id)
  const request: WriteRequest = { org_id, actor: SYSTEM, defaults: {}, source_id: DEMO_SOURCE }
  return await new Seeder(store, storage, request, demoPortfolio(options)).run()
}

/** The day that the portfolio is made for: today, in the organization's time zone. */
export function demoStart(time_zone: string, now = new Date()): string {
  return new Intl.DateTimeFormat('en-CA', { timeZone: time_zone }).format(now)
}

async function refuseSecond(store: Store, org_id: number): Promise<void> {
  const [found] = await store.db.query<{ name: string; properties: string }>(
    org_id,
    `select o.name, (select count(*) from property p where p.org_id = $1) as properties
     from organization o where o.org_id = $1 and o.id = $1`,
    [org_id],
  )
  const name = publicId('org', org_id)
  if (!found) throw new Error(`organization ${name} does not exist`)
  if (found.properties === '0') return
  throw new Error(
    `${name} (${found.name}) has ${found.properties} properties already; name another organization`,
  )
}

/** One run over one portfolio. */
class Seeder {
  private readonly written: Seeded = {}
  private readonly store: Store
  private readonly storage: Storage
  private readonly request: WriteRequest
  private readonly portfolio: Portfolio
  /** Public ids by local key. */
  private readonly ids = new Map<string, string>()

  constructor(store: Store, storage: Storage, request: WriteRequest, portfolio: Portfolio) {
    this.store = store
    this.storage = storage
    this.request = request
    this.portfolio = portfolio
  }

  /** What is referred to comes first. Documents name leases and leases documents, so leases have their ids before. */
  async run(): Promise<Seeded> {
    const { portfolio } = this
    await this.name('lease', portfolio.lease)
    await this.write('party', portfolio.party)
    await Promise.all([
      this.write('document', portfolio.document),
      this.write('contact', portfolio.contact),
      this.writePlaces(),
    ])
    await this.inLanes('lease', chunked(portfolio.lease, LEASE_CHUNK))
    await Promise.all([this.contradict(), this.writeWorkOrders()])
    return this.written
  }

  private async writePlaces(): Promise<void> {
    for (const name of ['property', 'building', 'floor', 'space'] as const) {
      await this.write(name, this.portfolio[name])
    }
  }

  /** Gives every draft its id. */
  private async name(name: string, drafts: readonly Draft[]): Promise<void> {
    const { prefix } = resourceOf(name)
    const ids = await this.store.db.ids(drafts.length)
    drafts.forEach(({ key }, i) => this.ids.set(key, publicId(prefix, ids[i] as number)))
  }

  private async write(name: string, drafts: readonly Draft[]): Promise<void> {
    const resource = resourceOf(name)
    await this.name(
      name,
      drafts.filter(({ key }) => !this.ids.has(key)),
    )
    const files = await this.placeFiles(drafts)
    const objects = drafts.map((draft) => this.object(draft, files.get(draft.key)?.fields))
    const { rent_gaps } = this.portfolio.planted
    const gaps = new Set(rent_gaps.map((key) => this.digits(key)))
    await createMany(this.store, resource, this.request, objects, {
      tolerates: ({ code }, { id }) => code === 'gap' && gaps.has(id as number),
    })
    await Promise.all([...files.values()].map(({ key }) => this.storage.spool.drop(key)))
    this.written[name] = (this.written[name] ?? 0) + drafts.length
  }

  private digits(key: string): number {
    const id = this.ids.get(key)
    if (!id) throw new Error(`the demo portfolio has no ${key}`)
    return Number(id.slice(id.indexOf('_') + 1))
  }

  private object({ key, body, valid_from, later = [] }: Draft, file: Row = {}): NewObject {
    return {
      id: this.digits(key),
      valid_from,
      input: { ...(this.resolved(body) as Row), ...file },
      later: later.map((stage) => ({ ...stage, values: this.resolved(stage.values) as Row })),
    }
  }

  /** Puts ids in the place of local keys. */
  private resolved(value: unknown): unknown {
    if (typeof value === 'string') {
      if (!value.startsWith('@')) return value
      const id = this.ids.get(value.slice(1))
      if (!id) throw new Error(`the demo portfolio has no ${value.slice(1)}`)
      return id
    }
    if (Array.isArray(value)) return value.map((item) => this.resolved(item))
    if (typeof value !== 'object' || value === null) return value
    const resolved: Row = {}
    for (const [name, part] of Object.entries(value)) resolved[name] = this.resolved(part)
    return resolved
  }

  /** Work orders are made while earlier ones are written; those that continue another one come last. */
  private async writeWorkOrders(): Promise<void> {
    const repeats: Draft[] = []
    const first = function* (drafts: Iterable<Draft>): Generator<Draft> {
      for (const draft of drafts) {
        if ('parent_work_order_id' in draft.body) repeats.push(draft)
        else yield draft
      }
    }
    await this.inLanes('work_order', chunked(first(this.portfolio.work_order), CHUNK))
    await this.write('work_order', repeats)
  }

  private async inLanes(name: string, chunks: Iterable<Draft[]>): Promise<void> {
    const lane = async (): Promise<void> => {
      for (const chunk of chunks) await this.write(name, chunk)
    }
    await Promise.all(Array.from({ length: LANES }, lane))
  }

  /** Draws the files there are and puts them at their places before the documents that name them are written. */
  private async placeFiles(
    drafts: readonly Draft[],
  ): Promise<Map<string, { key: FileKey; fields: Row }>> {
    const drawn = drafts.filter(({ pages }) => pages !== undefined)
    const ids = await this.store.db.ids(drawn.length)
    const placed: [string, { key: FileKey; fields: Row }][] = []
    const place = async ({ key: draftKey, body, pages = [] }: Draft, id: number): Promise<void> => {
      const document_id = this.digits(draftKey)
      const { org_id } = this.request
      const key: FileKey = { org_id, document_id, version_id: id }
      const bytes = pdf(pages)
      const file = await this.storage.spool.take(key, Readable.from([bytes]), FILE_MAX_BYTES)
      await this.storage.put(key, file)
      const filename = `${String(body['title'])
        .toLowerCase()
        .replaceAll(/[^a-z0-9]+/g, '-')}.pdf`
      const uploaded = { ...file, filename, content_type: 'application/pdf' }
      const version = versionOf(this.request, key, uploaded, 1, null)
      const fields = { ...withVersion(version, []), ...readingOf(body), page_count: pages.length }
      placed.push([draftKey, { key, fields }])
    }
    const waiting = drawn.entries()
    const lane = async (): Promise<void> => {
      for (const [i, draft] of waiting) await place(draft, ids[i] as number)
    }
    await Promise.all(Array.from({ length: FILE_LANES }, lane))
    return new Map(placed)
  }

  /** What was read from two leases contradicts the record; it ranks lower, so it stays visible and changes nothing. */
  private async contradict(): Promise<void> {
    const { store, request } = this
    const ranks = await ranksOf(store.db, request.org_id)
    for (const { lease: key, expiration_date, valid_from } of this.portfolio.planted.conflicts) {
      const id = this.digits(key)
      const [stored, known] = await Promise.all([
        get(store, request.org_id, lease, id),
        assertionsOf(store.db, request.org_id, [id]),
      ])
      const at = new Date()
      const claim = {
        valid_from,
        valid_to: null,
        attrs: { expiration_date },
        retracts: null,
        confidence: READING_CONFIDENCE,
      }
      const own = { ...claim, source_id: EXTRACTION_SOURCE, tx_id: Number.MAX_SAFE_INTEGER }
      const before = parseBody(stored.body)
      const all = [...(known.get(id) ?? []), own]
      const { row } = foldedRow(lease, before, all, ranks, at.getTime())
      const after = { ...row, version: stored.version + 1, updated_at: at.toISOString() }
      const change: Change = {
        id,
        operation: 'updated',
        expected: stored.version,
        after,
        previous: {},
        changed: [],
        claims: [claim],
        contested: true,
        external: { add: [], remove: [] },
      }
      const context = { org_id: request.org_id, actor: SYSTEM, source_id: EXTRACTION_SOURCE, at }
      await store.db.fly(request.org_id, [writeStatement(lease, [change], context)])
    }
  }
}

/** What is said to have been read from a file stays beside what the upload sets. */
function readingOf({ text_status = null, extractions = null }: Row): Row {
  return { text_status, extractions }
}

function resourceOf(name: string): Resource {
  return registry.get(name) as Resource
}

function* chunked(drafts: Iterable<Draft>, size: number): Generator<Draft[]> {
  let chunk: Draft[] = []
  for (const draft of drafts) {
    chunk.push(draft)
    if (chunk.length < size) continue
    yield chunk
    chunk = []
  }
  yield chunk
}
