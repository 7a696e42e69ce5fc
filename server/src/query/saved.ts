/** Queries that are kept under a name, with parameters in the places of values. */
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answered } from '../kit/once.ts'
import { record } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, Caller, OrgDb, Tx } from '../kit/types.ts'
import type { WriteRequest } from '../kit/write.ts'
import { filled, parametersOf, unasked } from './parameters.ts'
import { problemsOf } from './run.ts'
import {
  countSaved,
  deleteSaved,
  findSaved,
  insertSaved,
  lockSaved,
  updateSaved,
} from './saved-queries.ts'
import type { SavedQuery } from './saved-queries.ts'
import type { QueryBody } from './types.ts'

/** Saved queries that an organization may have. */
const SAVED_MAX = 1_000

/** What a client says of a saved query. */
export interface SavedChoices {
  name: string
  description?: string | null
  query: QueryBody
  defaults?: Row
}

/** What a client says of one run. */
export interface RunChoices extends Pick<
  QueryBody,
  'limit' | 'cursor' | 'as_of' | 'explain' | 'format'
> {
  parameters?: Row
}

/** @throws 422 for a query that could not be run; 409 for a name that is taken. */
export async function createSaved(
  store: Store,
  caller: Caller,
  request: WriteRequest,
  { name, description = null, query, defaults = {} }: SavedChoices,
): Promise<Answered> {
  await requireSound(store, caller, query, defaults)
  const { org_id, actor } = request
  const [id] = (await store.db.ids(1)) as [number]
  return await once(store, request, async (tx) => {
    if ((await countSaved(tx, org_id)) >= SAVED_MAX)
      throw new ApiError('conflict', `An organization may have ${SAVED_MAX} saved queries.`)
    const at = new Date()
    const saved = {
      org_id,
      id,
      name,
      description,
      query,
      defaults,
      version: 1,
      created_at: at,
      updated_at: at,
    }
    if (!(await insertSaved(tx, saved))) throw taken(name)
    await note(tx, actor, 'saved_query.created', saved)
    const headers = { location: `/api/v1/grid/v2/queries/${publicId('qry', id)}`, etag: '"v1"' }
    return { status: 201, headers, body: JSON.stringify(savedView(saved)) }
  })
}

/** @throws 404, 409, 412 when it has another version than `expected`, 422 */
export async function patchSaved(
  store: Store,
  caller: Caller,
  { org_id, actor }: WriteRequest,
  id: number,
  choices: Partial<SavedChoices>,
  expected: number | null,
): Promise<SavedQuery> {
  return await store.db.transaction(org_id, async (tx) => {
    const before = await locked(tx, org_id, id, expected)
    const after = {
      ...before,
      ...choices,
      description: choices.description === undefined ? before.description : choices.description,
    }
    await requireSound(store, caller, after.query, after.defaults)
    if (JSON.stringify(after) === JSON.stringify(before)) return before
    const next = { ...after, version: before.version + 1, updated_at: new Date() }
    if (!(await updateSaved(tx, next))) throw taken(next.name)
    await note(tx, actor, 'saved_query.updated', next)
    return next
  })
}

/** @throws 404, 412 */
export async function removeSaved(
  db: OrgDb,
  { org_id, actor }: WriteRequest,
  id: number,
  expected: number | null,
): Promise<void> {
  await db.transaction(org_id, async (tx) => {
    const saved = await locked(tx, org_id, id, expected)
    await deleteSaved(tx, org_id, id)
    await note(tx, actor, 'saved_query.deleted', saved)
  })
}

/** @throws 404 */
export async function getSaved(db: OrgDb, org_id: number, id: number): Promise<SavedQuery> {
  const saved = await findSaved(db, org_id, id)
  if (!saved) throw notFound(`Saved query ${publicId('qry', id)}`)
  return saved
}

/** The query of one run. @throws 422 naming parameters that lack a value and values that nothing asks for. */
export function runOf({ query, defaults }: SavedQuery, run: RunChoices): QueryBody {
  const { parameters = {}, ...rest } = run
  const issues: Issue[] = []
  const body = filled(query, defaults, parameters, issues)
  if (issues.length > 0) throw invalid(issues)
  return { ...body, ...rest }
}

export function savedView(saved: SavedQuery): Row {
  const { org_id, id, name, description, query, defaults, version, created_at, updated_at } = saved
  return {
    id: publicId('qry', id),
    object: 'saved_query',
    organization_id: publicId('org', org_id),
    name,
    description,
    query,
    parameters: parametersOf(query),
    defaults,
    version,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}

/** @throws 422 naming what is wrong in the query and in its defaults. */
async function requireSound(
  store: Store,
  caller: Caller,
  query: QueryBody,
  defaults: Row,
): Promise<void> {
  const found = await problemsOf(store, caller, query)
  const issues = found.map((issue) => ({
    ...issue,
    field: `query.${issue.field}`,
  }))
  issues.push(...unasked('defaults', parametersOf(query), defaults))
  if (issues.length > 0) throw invalid(issues)
}

async function locked(
  tx: Tx,
  org_id: number,
  id: number,
  expected: number | null,
): Promise<SavedQuery> {
  const saved = await lockSaved(tx, org_id, id)
  if (!saved) throw notFound(`Saved query ${publicId('qry', id)}`)
  if (expected === null || expected === saved.version) return saved
  const detail = `The query is at version ${saved.version} now.`
  throw new ApiError('version_conflict', detail, { current_version: saved.version })
}

function taken(name: string): ApiError {
  return new ApiError('conflict', `Another saved query is named '${name}'.`)
}

async function note(
  tx: Tx,
  actor: Actor,
  type: string,
  { org_id, id, name, version }: SavedQuery,
): Promise<void> {
  const what = { type, object_type: 'saved_query', object_id: id, object: null, version }
  await record(tx, org_id, actor, [{ ...what, details: { name } }])
}
