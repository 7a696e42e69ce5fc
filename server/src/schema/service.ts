/** Plans from their first words to the schema, and back. */
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { forgetSchema } from '../kit/extended.ts'
import { LIMITS } from '../kit/extension-limits.ts'
import { publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answered } from '../kit/once.ts'
import { record } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, Tx } from '../kit/types.ts'
import type { WriteRequest } from '../kit/write.ts'
import { deploy, rollBack } from './deploy.ts'
import { readSentence } from './grammar/sentence.ts'
import type { Operation, Planned } from './operations.ts'
import {
  allFields,
  findPlan,
  insertPlan,
  lockSchema,
  savePlan,
  trimDrafts,
  whoOf,
} from './queries.ts'
import type { Plan, Question } from './queries.ts'
import { resolve } from './resolve.ts'
import { planView, toConfirm } from './views.ts'

/** What a plan is made of. */
type Draft = Pick<Plan, 'text' | 'operations' | 'questions' | 'unread'>

function newPlan(org_id: number, id: number, actor: Actor, draft: Draft): Plan {
  const at = new Date()
  return {
    ...draft,
    org_id,
    id,
    state: 'draft',
    inverse: null,
    fields: [],
    schema_version: null,
    created_by: whoOf(actor),
    approved_by: null,
    approved_at: null,
    deployed_at: null,
    rolled_back_at: null,
    version: 1,
    created_at: at,
    updated_at: at,
  }
}

/** Reads a sentence as a plan. Nothing is guessed: what it leaves open becomes a question. */
export async function propose(
  store: Store,
  request: WriteRequest,
  text: string,
  answers: Readonly<Record<string, string>>,
): Promise<Answered> {
  return await write(store, request, async (tx) => {
    const extensions = await allFields(tx, request.org_id)
    const read = readSentence(text, { extensions, answers })
    const ids = read.operations.map((_, i) => -1 - i)
    const context = { registry: store.registry, extensions, ids, now: new Date() }
    const { planned, issues } = resolve(read.operations, context)
    const problems = issues.map(({ field, message }, i): Question => ({
      id: `problem_${i + 1}`,
      question: `${field}: ${message}`,
      choices: null,
      text,
      start: 0,
      end: text.length,
    }))
    const questions = [...read.questions, ...problems]
    return { text, operations: planned, questions, unread: read.unread }
  })
}

/** A plan written as operations. @throws 422 naming everything about them that does not fit. */
export async function createPlan(
  store: Store,
  request: WriteRequest,
  operations: readonly Operation[],
): Promise<Answered> {
  return await write(store, request, async (tx) => {
    const planned = await checked(tx, store, request.org_id, operations)
    return { text: null, operations: planned, questions: [], unread: [] }
  })
}

async function checked(
  tx: Tx,
  { registry }: Pick<Store, 'registry'>,
  org_id: number,
  operations: readonly Operation[],
): Promise<Planned[]> {
  const extensions = await allFields(tx, org_id)
  const ids = operations.map((_, i) => -1 - i)
  const { planned, issues } = resolve(operations, { registry, extensions, ids, now: new Date() })
  if (issues.length > 0) throw invalid(issues)
  return planned
}

async function write(
  store: Store,
  request: WriteRequest,
  draft: (tx: Tx) => Promise<Draft>,
): Promise<Answered> {
  const { org_id, actor } = request
  const [id] = (await store.db.ids(1)) as [number]
  return await once(store, request, async (tx) => {
    const plan = newPlan(org_id, id, actor, await draft(tx))
    await insertPlan(tx, plan)
    await trimDrafts(tx, org_id, LIMITS.drafts)
    await tell(tx, actor, 'schema_plan.proposed', plan)
    return answer(plan, 201)
  })
}

function answer(
  plan: Plan,
  status = 200,
): { status: number; headers: Record<string, string>; body: string } {
  const location = `/api/v1/schema-extensions/${publicId('pln', plan.id)}`
  return {
    status,
    headers: status === 201 ? { location } : {},
    body: JSON.stringify(planView(plan)),
  }
}

async function tell(tx: Tx, actor: Actor, type: string, plan: Plan): Promise<void> {
  const details = {
    operations: plan.operations.map(({ op, object_type, field, label }) => ({
      op,
      object_type,
      field: field ?? label ?? null,
    })),
  }
  const { id, org_id, version } = plan
  await record(tx, org_id, actor, [
    { type, object_type: 'schema_plan', object_id: id, object: null, version, details },
  ])
}

/** @throws 404 */
export async function getPlan(tx: Tx, org_id: number, id: number): Promise<Plan> {
  const plan = await findPlan(tx, org_id, id)
  if (!plan) throw notFound(`Schema plan ${publicId('pln', id)}`)
  return plan
}

/**
 * Approves a plan, so that it can be deployed.
 * @param confirm names of the fields whose values it hides or converts; all of them must be given.
 */
export async function approve(
  store: Store,
  request: WriteRequest,
  id: number,
  confirm: readonly string[],
): Promise<Answered> {
  const { org_id, actor } = request
  return await once(store, request, async (tx) => {
    await lockSchema(tx, org_id)
    const plan = await getPlan(tx, org_id, id)
    requireState(plan, 'draft', 'approved')
    if (plan.questions.length > 0)
      throw new ApiError('conflict', 'The plan has open questions; answer them in a new proposal.')
    if (plan.operations.length === 0) throw new ApiError('conflict', 'The plan has no operations.')
    refuseUnconfirmed(plan.operations, confirm)
    await checked(tx, store, org_id, plan.operations)
    const at = new Date()
    const approved: Plan = {
      ...plan,
      state: 'validating',
      approved_by: whoOf(actor),
      approved_at: at,
      updated_at: at,
      version: plan.version + 1,
    }
    await savePlan(tx, approved)
    await tell(tx, actor, 'schema_plan.approved', approved)
    return answer(approved)
  })
}

function refuseUnconfirmed(operations: Planned[], confirm: readonly string[]): void {
  const missing = toConfirm({ operations }).filter((name) => !confirm.includes(name))
  if (missing.length === 0) return
  const message = 'must name each field whose values are hidden or converted'
  throw invalid([{ field: 'confirm', code: 'required', message, allowed: missing }])
}

function requireState(plan: Plan, state: Plan['state'], what: string): void {
  if (plan.state === state) return
  const detail = `The plan is ${plan.state}; only a plan that is ${state} can be ${what}.`
  throw new ApiError('conflict', detail, { state: plan.state })
}

/** Deploys an approved plan: at once, for all that is read and written from now on. */
export async function deployPlan(
  store: Store,
  request: WriteRequest,
  id: number,
): Promise<Answered> {
  const { org_id, actor } = request
  const { registry } = store
  return await changing(store, request, async (tx) => {
    const plan = await getPlan(tx, org_id, id)
    requireState(plan, 'validating', 'deployed')
    const ids = await store.db.ids(plan.operations.length)
    return answer(await deploy(tx, plan, { registry, actor, ids }))
  })
}

export async function rollBackPlan(
  store: Store,
  request: WriteRequest,
  id: number,
): Promise<Answered> {
  const { org_id, actor } = request
  return await changing(store, request, async (tx) =>
    answer(await rollBack(tx, await getPlan(tx, org_id, id), actor)),
  )
}

/** Changes one field at once: a plan of one operation, approved by who asks for it. */
export async function changeField(
  store: Store,
  request: WriteRequest,
  operation: Operation,
  confirm: readonly string[],
  view: (tx: Tx) => Promise<Row>,
): Promise<Answered> {
  const ids = await store.db.ids(2)
  return await changing(store, request, async (tx) => {
    await deployAtOnce(tx, store, request, [operation], { ids, confirm })
    return { status: 200, headers: {}, body: JSON.stringify(await view(tx)) }
  })
}

/**
 * Deploys operations as a plan approved by who asks for them, in a transaction that may do more. This process sees it after
 * `forgetSchema`.
 * @param ids one for the plan and one for each operation.
 * @throws 422 naming everything about the operations that does not fit.
 */
export async function deployAtOnce(
  tx: Tx,
  store: Pick<Store, 'registry'>,
  { org_id, actor }: Pick<WriteRequest, 'org_id' | 'actor'>,
  operations: readonly Operation[],
  { ids, confirm }: { ids: readonly number[]; confirm: readonly string[] },
): Promise<void> {
  const { registry } = store
  await lockSchema(tx, org_id)
  const planned = await checked(tx, store, org_id, operations)
  refuseUnconfirmed(planned, confirm)
  const draft = { text: null, operations: planned, questions: [], unread: [] }
  const plan = newPlan(org_id, ids[0] as number, actor, draft)
  const approved = { ...plan, approved_by: whoOf(actor), approved_at: plan.created_at }
  await deploy(tx, approved, { registry, actor, ids: ids.slice(1) }, true)
}

/** Runs what changes the schema; the next read of this process sees it. */
async function changing(
  store: Store,
  request: WriteRequest,
  run: Parameters<typeof once>[2],
): Promise<Answered> {
  const answered = await once(store, request, run)
  forgetSchema(store.db, request.org_id)
  return answered
}
