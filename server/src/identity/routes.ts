import type { FastifyInstance, FastifyRequest } from 'fastify'
import { flightsIn } from '../db/db.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { idDigits, pathId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answer, Answered } from '../kit/once.ts'
import { paging } from '../kit/paging.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { JSON_TYPE } from '../kit/object-routes.ts'
import { sendAnswered, sendPage, writeRequest } from '../kit/routes.ts'
import type { Store } from '../kit/store.ts'
import type { Tx } from '../kit/types.ts'
import { requestOf } from '../kit/write.ts'
import { findCandidate, listCandidates, lockCandidate } from './candidate-queries.ts'
import type { Candidate } from './candidate-queries.ts'
import * as docs from './docs.ts'
import { findMerge, listMerges } from './merge-queries.ts'
import { merge, requireBoth, unmerge } from './merge.ts'
import type { Doer } from './merge.ts'
import { deletePair, keepApart, listPairs, tellPair } from './pair-queries.ts'
import { followAtOnce } from './references.ts'
import { findRun, insertRun, listRuns } from './run-queries.ts'
import { candidateView, mergeView, pairView, runView } from './views.ts'
import { identityAsked } from './work.ts'

interface OneRequest {
  Params: { id: string }
}

interface Paged {
  limit: number
  cursor?: string
}

/** Merges and what leads to them. */
export function identityRoutes(app: FastifyInstance): void {
  mergeRoutes(app)
  pairRoutes(app)
  candidateRoutes(app)
  decisionRoutes(app)
  runRoutes(app)
}

function doerOf({ store }: FastifyInstance, { caller, id }: FastifyRequest): Doer {
  const { org_id, actor } = requestOf(caller, id)
  return { store, org_id, actor }
}

/** What concerns all objects of the organization is not for a key of some properties. */
function requireWhole({ caller }: FastifyRequest): number {
  if (!caller.property_ids) return caller.org_id
  const detail = 'Merges concern the whole organization; this key is restricted to some properties.'
  throw new ApiError('property_restricted', detail)
}

/** The type and digits of ids that a body names. @throws 422 unless all are of one type that can be merged. */
function objectsOf(
  store: Store,
  given: readonly (readonly [field: string, id: string])[],
): { resource: Resource; ids: number[] } {
  const found = given.map(([field, text]) => {
    for (const resource of store.registry.values()) {
      const id = idDigits(resource.prefix, text)
      if (id !== null && resource.name !== 'organization') return { field, resource, id }
    }
    const message = `'${text}' is not the id of an object that can be merged`
    throw invalid([{ field, code: 'invalid_id', message }])
  })
  const [first] = found
  const other = found.find(({ resource }) => resource !== first?.resource)
  if (other) {
    const message = `is no ${first?.resource.name.replaceAll('_', ' ')}; both must be of one type`
    throw invalid([{ field: other.field, code: 'type_mismatch', message }])
  }
  if (found.some(({ id }, i) => i > 0 && id === first?.id))
    throw invalid([
      { field: found[1]?.field ?? '', code: 'same_object', message: 'names the same object' },
    ])
  return { resource: first?.resource as Resource, ids: found.map(({ id }) => id) }
}

function json(status: number, view: Row, headers: Record<string, string> = {}): Answer {
  return { status, headers, body: JSON.stringify(view) }
}

/** Lets references follow what was merged: a little at once, the rest in the background. */
async function followed(
  doer: Doer,
  resource: Resource | null,
  id: number,
  { replayed }: Pick<Answered, 'replayed'>,
): Promise<void> {
  if (replayed || !resource) return
  await followAtOnce(doer, resource, id)
  identityAsked.wake()
}

function mergeRoutes(app: FastifyInstance): void {
  const { store } = app
  app.post<{ Body: { winner: string; loser: string; reason?: string | null; force?: boolean } }>(
    '/grid/v2/merges',
    docs.createMerge,
    async (request, reply) => {
      const { body } = request
      const doer = doerOf(app, request)
      const given = [['winner', body.winner] as const, ['loser', body.loser] as const]
      const { resource, ids } = objectsOf(store, given)
      const [winner, loser] = ids as [number, number]
      const { reason = null, force = false } = body
      const answered = await once(store, writeRequest(request), async (tx) => {
        const asked = { rule: 'manual', score: null, evidence: [], reason, force } as const
        const done = await merge(doer, tx, { resource, winner, loser, ...asked, evidence: [] })
        const view = mergeView(store.registry, done)
        return json(201, view, { location: `/api/v1/grid/v2/merges/${String(view['id'])}` })
      })
      await followed(doer, resource, loser, answered)
      return sendAnswered(reply, answered)
    },
  )

  app.get<{ Querystring: Paged & { object_id?: string; state?: string } }>(
    '/grid/v2/merges',
    docs.listMerges,
    async (request, reply) => {
      const org_id = requireWhole(request)
      const { limit, cursor, object_id, state = null } = request.query
      const object =
        object_id === undefined ? null : objectsOf(store, [['object_id', object_id]]).ids[0]
      const page = paging(store, org_id, ['merges', object_id ?? '', state ?? ''], cursor)
      const filter = { object_id: object ?? null, state, before: page.after, limit: limit + 1 }
      const merges = await listMerges(store.db, org_id, filter)
      const views = merges.map((one) => mergeView(store.registry, one))
      return sendPage(
        reply,
        page.of(views, limit, (_, i) => String(merges[i]?.id)),
      )
    },
  )

  app.get<OneRequest>('/grid/v2/merges/:id', docs.getMerge, async (request, reply) => {
    const id = pathId('mrg', request.params.id)
    const found = await findMerge(store.db, requireWhole(request), id)
    if (!found) throw notFound(`Merge ${request.params.id}`)
    return reply.type(JSON_TYPE).send(JSON.stringify(mergeView(store.registry, found)))
  })

  app.delete<OneRequest>('/grid/v2/merges/:id', docs.deleteMerge, async (request, reply) => {
    const id = pathId('mrg', request.params.id)
    const doer = doerOf(app, request)
    const { resource, head } = await store.db.transaction(
      doer.org_id,
      async (tx) => await unmerge(doer, tx, id),
    )
    await followed(doer, resource, head, { replayed: null })
    return reply.code(204).send()
  })
}

function pairRoutes(app: FastifyInstance): void {
  const { store } = app
  app.post<{ Body: { objects: [string, string]; reason?: string | null } }>(
    '/grid/v2/do-not-link',
    docs.createDoNotLink,
    async (request, reply) => {
      const { objects, reason = null } = request.body
      const doer = doerOf(app, request)
      const given = objects.map((id, i) => [`objects[${i}]`, id] as const)
      const { resource, ids } = objectsOf(store, given)
      const [a, b] = ids as [number, number]
      const answered = await once(store, writeRequest(request), async (tx) => {
        const [id] = (await store.db.ids(1)) as [number]
        await requireBoth(tx, doer.org_id, resource, given, [a, b])
        const pair = await keepApart(tx, doer, resource.name, { id, a, b, reason })
        return json(201, pairView(store.registry, pair))
      })
      return sendAnswered(reply, answered)
    },
  )

  app.get<{ Querystring: Paged }>(
    '/grid/v2/do-not-link',
    docs.listDoNotLink,
    async (request, reply) => {
      const org_id = requireWhole(request)
      const { limit, cursor } = request.query
      const page = paging(store, org_id, ['do-not-link'], cursor)
      const pairs = await listPairs(store.db, org_id, page.after, limit + 1)
      const views = pairs.map((pair) => pairView(store.registry, pair))
      return sendPage(
        reply,
        page.of(views, limit, (_, i) => String(pairs[i]?.id)),
      )
    },
  )

  app.delete<OneRequest>(
    '/grid/v2/do-not-link/:id',
    docs.deleteDoNotLink,
    async (request, reply) => {
      const id = pathId('dnl', request.params.id)
      const doer = doerOf(app, request)
      await store.db.transaction(doer.org_id, async (tx) => {
        const pair = await deletePair(tx, doer.org_id, id)
        if (!pair) throw notFound(`Pair ${request.params.id}`)
        await tellPair(tx, doer, 'do_not_link.deleted', pair)
      })
      return reply.code(204).send()
    },
  )
}

function candidateRoutes(app: FastifyInstance): void {
  const { store } = app
  app.get<{ Querystring: Paged & { state: string; type?: string } }>(
    '/grid/v2/match-candidates',
    docs.listCandidates,
    async (request, reply) => {
      const org_id = requireWhole(request)
      const { limit, cursor, state, type = null } = request.query
      const page = paging(store, org_id, ['match-candidates', state, type ?? ''], cursor)
      const filter = { state, type, after: page.after ?? 0, limit: limit + 1 }
      const candidates = await listCandidates(store.db, org_id, filter)
      const views = candidates.map((one) => candidateView(store.registry, one))
      return sendPage(
        reply,
        page.of(views, limit, (_, i) => String(candidates[i]?.id)),
      )
    },
  )

  app.get<OneRequest>(
    '/grid/v2/match-candidates/:id',
    docs.getCandidate,
    async (request, reply) => {
      const id = pathId('mat', request.params.id)
      const found = await findCandidate(store.db, requireWhole(request), id)
      if (!found) throw notFound(`Match candidate ${request.params.id}`)
      return reply.type(JSON_TYPE).send(JSON.stringify(candidateView(store.registry, found)))
    },
  )
}

/** The candidate, open and kept from other decisions. @throws 404, 409 */
async function openCandidate(tx: Tx, org_id: number, id: string): Promise<Candidate> {
  const found = await lockCandidate(tx, org_id, pathId('mat', id))
  if (!found) throw notFound(`Match candidate ${id}`)
  if (found.state !== 'open')
    throw new ApiError('conflict', `The candidate is ${found.state} already.`)
  return found
}

async function answerOf(tx: Tx, { store, org_id }: Doer, { id }: Candidate): Promise<Answer> {
  const decided = (await lockCandidate(tx, org_id, id)) as Candidate
  return json(200, candidateView(store.registry, decided))
}

function decisionRoutes(app: FastifyInstance): void {
  const { store } = app
  app.post<OneRequest & { Body: { winner?: string; reason?: string | null; force?: boolean } }>(
    '/grid/v2/match-candidates/:id/accept',
    docs.acceptCandidate,
    async (request, reply) => {
      const doer = doerOf(app, request)
      const { winner: chosen, reason = null, force = false } = request.body
      let resource: Resource | null = null
      let loser = 0
      const answered = await once(store, writeRequest(request), async (tx) => {
        const found = await openCandidate(tx, doer.org_id, request.params.id)
        const { low_id, high_id, score, evidence } = found
        resource = store.registry.get(found.object_type) as Resource
        const heads = await headsOf(flightsIn(tx), doer.org_id, [low_id, high_id])
        const both = [low_id, high_id].map((id) => heads.get(id) ?? id)
        const second = chosen !== undefined && isSecond(resource, chosen, [low_id, high_id])
        const [winner, other] = (second ? both.toReversed() : both) as [number, number]
        loser = other
        const asked = { rule: 'review', score, evidence, reason, force } as const
        await merge(doer, tx, { resource, winner, loser, ...asked })
        return await answerOf(tx, doer, found)
      })
      await followed(doer, resource, loser, answered)
      return sendAnswered(reply, answered)
    },
  )

  app.post<OneRequest & { Body: { reason?: string | null } }>(
    '/grid/v2/match-candidates/:id/reject',
    docs.rejectCandidate,
    async (request, reply) => {
      const doer = doerOf(app, request)
      const { reason = null } = request.body
      const answered = await once(store, writeRequest(request), async (tx) => {
        const found = await openCandidate(tx, doer.org_id, request.params.id)
        const [id] = (await store.db.ids(1)) as [number]
        const { low_id: a, high_id: b, object_type } = found
        await keepApart(tx, doer, object_type, { id, a, b, reason })
        return await answerOf(tx, doer, found)
      })
      return sendAnswered(reply, answered)
    },
  )
}

/** @throws 422 unless the id is that of one of both. */
function isSecond({ prefix }: Resource, text: string, ids: readonly number[]): boolean {
  const place = ids.indexOf(idDigits(prefix, text) ?? 0)
  if (place >= 0) return place === 1
  const allowed = ids.map((id) => `${prefix}_${id}`)
  const message = 'must be one of the two objects of the candidate'
  throw invalid([{ field: 'winner', code: 'unknown_value', message, allowed }])
}

function runRoutes(app: FastifyInstance): void {
  const { store } = app
  app.post<{ Body: { type: string } }>(
    '/grid/v2/match-runs',
    docs.createRun,
    async (request, reply) => {
      const { org_id, actor } = doerOf(app, request)
      const answered = await once(store, writeRequest(request), async (tx) => {
        const [id] = (await store.db.ids(1)) as [number]
        const view = runView(await insertRun(tx, org_id, id, request.body.type, actor))
        return json(202, view, { location: `/api/v1/grid/v2/match-runs/${String(view['id'])}` })
      })
      identityAsked.wake()
      return sendAnswered(reply, answered)
    },
  )

  app.get<{ Querystring: Paged }>('/grid/v2/match-runs', docs.listRuns, async (request, reply) => {
    const org_id = requireWhole(request)
    const { limit, cursor } = request.query
    const page = paging(store, org_id, ['match-runs'], cursor)
    const runs = await listRuns(store.db, org_id, page.after, limit + 1)
    return sendPage(
      reply,
      page.of(runs.map(runView), limit, (_, i) => String(runs[i]?.id)),
    )
  })

  app.get<OneRequest>('/grid/v2/match-runs/:id', docs.getRun, async (request, reply) => {
    const id = pathId('mrn', request.params.id)
    const run = await findRun(store.db, requireWhole(request), id)
    if (!run) throw notFound(`Match run ${request.params.id}`)
    return reply.type(JSON_TYPE).send(JSON.stringify(runView(run)))
  })
}
