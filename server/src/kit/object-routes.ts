/** Answers one object in either model, at the present or at another time. */
import type { FastifyReply } from 'fastify'
import { headsOf, membersOf } from './cluster-queries.ts'
import { notFound } from './errors.ts'
import { etagOf, names } from './etags.ts'
import { ownResource } from './extended.ts'
import { assertionsOf, ownerOf, ranksOf, rowAt, settle } from './history.ts'
import { publicId } from './ids.ts'
import { parseGetQuery } from './query.ts'
import type { Query, Shape, Times } from './query.ts'
import type { Resource, Row } from './resource.ts'
import { gridObject, isPlain, shapeRows } from './shape.ts'
import { find, getStanding, parseBody } from './store.ts'
import type { Store } from './store.ts'
import type { Caller } from './types.ts'

export const JSON_TYPE = 'application/json; charset=utf-8'

/** Which generation of the model an answer is in. */
export type Model = 'v1' | 'grid'

/** Sends the version as ETag. @returns whether If-None-Match names it, so that a 304 will do. */
export function tellVersion(reply: FastifyReply, version: number, schema_version = 0): boolean {
  const etag = etagOf(version, schema_version)
  reply.header('etag', etag)
  return names(reply.request.headers['if-none-match'], etag)
}

/** Members of a cluster that an answer names, at most. */
const MEMBERS_MAX = 200

/** Answers one object in either model, at the present or at another time; for a merged one, the one it stands at. */
export async function sendObject(
  store: Store,
  caller: Caller,
  declared: Resource,
  id: number,
  query: Query,
  reply: FastifyReply,
  model: Model,
): Promise<FastifyReply> {
  const resource = await ownResource(store, caller.org_id, declared)
  const shape = parseGetQuery(resource, store.registry, query, caller.time_zone)
  if (shape.as_of !== null || shape.known_at !== null) {
    const { head, row } = await rowThen(store, caller.org_id, resource, id, shape)
    tellStanding(resource, id, head, reply, model)
    return await sendShaped(store, caller, resource, row, shape, { id, head }, reply, model)
  }
  const stored = await getStanding(store, caller.org_id, resource, id)
  const { id: head, version, body } = stored
  tellStanding(resource, id, head, reply, model)
  // What other objects add (rollups, expanded ones) changes without a new version of this one.
  const alone = shape.expand.length === 0 && !shape.include.has('rollups')
  const same = tellVersion(reply, version, resource.schema_version)
  if (same && alone) return reply.code(304).send()
  if (model === 'v1' && isPlain(shape) && resource.extensions.length === 0)
    return reply.type(JSON_TYPE).send(body)
  const row = parseBody(body)
  return await sendShaped(store, caller, resource, row, shape, { id, head }, reply, model)
}

/** Says where the object lives whose old id was asked for. */
function tellStanding(
  resource: Resource,
  id: number,
  head: number,
  reply: FastifyReply,
  model: Model,
): void {
  if (id === head) return
  const base = model === 'grid' ? '/api/v1/grid/v2' : '/api/v1'
  reply.header('content-location', `${base}/${resource.path}/${publicId(resource.prefix, head)}`)
}

async function sendShaped(
  store: Store,
  { org_id }: Caller,
  resource: Resource,
  row: Row,
  shape: Shape & Times,
  { id, head }: { id: number; head: number },
  reply: FastifyReply,
  model: Model,
): Promise<FastifyReply> {
  const [shaped] = await shapeRows(store, org_id, resource, [row], shape)
  if (model === 'v1') return reply.type(JSON_TYPE).send(JSON.stringify(shaped))
  const merged = await membersOf(store.db, org_id, head, MEMBERS_MAX)
  const standing = publicId(resource.prefix, head)
  const body = {
    ...gridObject(resource, store.registry, shaped as Row),
    members: [standing, ...merged],
    ...(id === head ? {} : { merged_into: standing }),
  }
  return reply.type(JSON_TYPE).send(JSON.stringify(body))
}

/** One object as it was, with the id it stands at now. @throws 404 for what did not exist then. */
export async function rowThen(
  store: Store,
  org_id: number,
  resource: Resource,
  id: number,
  times: Times,
): Promise<{ head: number; row: Row }> {
  await settle(store.db, org_id, times.known_at)
  const owner = ownerOf(resource, org_id, id)
  if (owner !== org_id && !(await find(store, org_id, resource, id)))
    throw notFound(`${resource.title} ${resource.prefix}_${id}`)
  const head = (await headsOf(store.db, owner, [id])).get(id) ?? id
  const [known, ranks] = await Promise.all([
    assertionsOf(store.db, owner, [head], times.known_at),
    ranksOf(store.db, owner),
  ])
  const row = rowAt(resource, owner, head, known.get(head) ?? [], ranks, times)
  if (!row) throw notFound(`${resource.title} ${resource.prefix}_${id} at that time`)
  return { head, row }
}
