/** Facts of all objects, each with what became of it. */
import { headsOf } from '../kit/cluster-queries.ts'
import { invalid, notFound } from '../kit/errors.ts'
import { ownSchema } from '../kit/extended.ts'
import { factKey } from '../kit/extension.ts'
import { assertionsOf, ranksOf } from '../kit/history.ts'
import { idDigits } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { factsWhere } from './fact-queries.ts'
import type { FactFilter, Found } from './fact-queries.ts'
import { typesOf } from './object-queries.ts'
import { objectOf } from './object.ts'
import { statuses } from './views.ts'
import type { Status } from './views.ts'

/** Facts looked at for one page: where few have the status asked for, a page may hold less. */
const SCAN_MAX = 5_000

export interface FactQuery {
  job?: string
  source?: string
  object?: string
  attribute?: string
  status?: Status
}

export interface FactPage {
  data: Row[]
  next: string | null
}

/** @param after position of the last fact looked at, or null. @throws 404 for a source that is none, 422 for what is no id */
export async function factsWith(
  store: Store,
  org_id: number,
  query: FactQuery,
  after: string | null,
  limit: number,
): Promise<FactPage> {
  const filter = await filterOf(store, org_id, query)
  const data: Row[] = []
  let position = after
  for (let scanned = 0; scanned < SCAN_MAX;) {
    const batch = await factsWhere(store, org_id, filter, position, limit + 1)
    const rows = batch.slice(0, limit)
    const views = await withStatus(store, org_id, rows)
    for (const [i, view] of views.entries()) {
      position = rows[i]?.position ?? position
      // An object of a property that the key is not for.
      if (view === null) continue
      if (query.status !== undefined && view['status'] !== query.status) continue
      data.push(view)
      const more = i < rows.length - 1 || batch.length > limit
      if (data.length === limit) return { data, next: more ? position : null }
    }
    if (batch.length <= limit) return { data, next: null }
    scanned += rows.length
  }
  return { data, next: position }
}

async function filterOf(store: Store, org_id: number, query: FactQuery): Promise<FactFilter> {
  const { job, source, object, attribute = null } = query
  const filter = {
    job_id: job === undefined ? null : digits('job', 'job', job),
    source_id: source === undefined ? null : digits('source', 'src', source),
    object_id: object === undefined ? null : objectOf(store.registry, object, 'object').id,
    attributes: await keysOf(store, org_id, attribute),
  }
  if (filter.source_id !== null && !(await ranksOf(store.db, org_id)).has(filter.source_id))
    throw notFound(`Source ${source}`)
  return filter
}

/** Names under which facts hold the attribute; a field of the organization's own has another key for each type. */
async function keysOf(
  store: Store,
  org_id: number,
  attribute: string | null,
): Promise<string[] | null> {
  if (attribute === null) return null
  const { registry } = await ownSchema(store, org_id)
  const keys = [...registry.values()].map(({ extensions }) => factKey(extensions, attribute))
  return [...new Set(keys)].filter((key) => key !== null)
}

function digits(field: string, prefix: string, text: string): number {
  const id = idDigits(prefix, text)
  if (id !== null) return id
  const message = `must look like ${prefix}_1001, got '${text}'`
  throw invalid([{ field, code: 'invalid_id', message }])
}

/** Each fact with what became of it where its object stands; null for one of an object that the caller may not see. */
async function withStatus(
  store: Store,
  org_id: number,
  rows: readonly Found[],
): Promise<(Row | null)[]> {
  const members = [...new Set(rows.map(({ object_id }) => object_id))]
  const heads = await headsOf(store.db, org_id, members)
  const ids = [...new Set(members.map((id) => heads.get(id) ?? id))]
  const [known, types, sources] = await Promise.all([
    assertionsOf(store.db, org_id, ids),
    typesOf(store.db, org_id, ids),
    ranksOf(store.db, org_id),
  ])
  const now = Date.now()
  const judges = new Map(
    ids.flatMap((id) => {
      const resource = types.get(id)
      const claims = known.get(id) ?? []
      return resource ? [[id, statuses({ resource, known: claims, sources }, now)] as const] : []
    }),
  )
  return rows.map(({ view, object_id, claim, field }) => {
    const head = heads.get(object_id)
    const own = known
      .get(head ?? object_id)
      ?.find(
        (one) =>
          one.member === (head && object_id) &&
          one.tx_id === claim.tx_id &&
          one.source_id === claim.source_id &&
          one.valid_from === claim.valid_from,
      )
    const statusOf = judges.get(head ?? object_id)
    if (!statusOf) return null
    const { object_id: id, field: name, ...rest } = view
    const status = own ? statusOf(own, field) : 'superseded'
    return { object_id: id, field: name, status, ...rest }
  })
}
