/** What can be asked of a sandbox: to be emptied, filled, or to have its clock moved. */
import { Signal } from '../events/wake.ts'
import { ApiError, invalid, notFound } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answered } from '../kit/once.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, Caller, OrgRows } from '../kit/types.ts'
import type { WriteRequest } from '../kit/write.ts'
import { resources } from '../resources.ts'
import {
  aheadDays,
  findTask,
  holdsObjects,
  insertTask,
  listTasks,
  objectCounts,
} from './queries.ts'
import { hasEnded, taskView } from './tasks.ts'
import type { Task, TaskArgs, TaskKind } from './tasks.ts'

/** A task was asked for in this process. */
export const taskAsked = new Signal()

/** How long a request waits for its task to end, and how often it looks, in milliseconds. */
const WAIT_MS = 10_000
const LOOK_MS = 50

/** Days that the clock can be ahead: longer than any lease runs. */
export const AHEAD_MAX = 36_500

/** What a sandbox holds besides itself. */
export const TYPES = resources.filter(({ name }) => name !== 'organization').map(({ name }) => name)

/** @throws 403 `sandbox_only` for a live key. */
export function requireSandbox({ environment, org_id }: Caller): void {
  if (environment === 'sandbox') return
  const detail = `${publicId('org', org_id)} is live; its data is not touched. Call with a key of a sandbox.`
  throw new ApiError('sandbox_only', detail)
}

/**
 * Queues a task.
 * @throws 409 while another one is under way in the sandbox.
 */
export async function askFor<K extends TaskKind>(
  store: Store,
  request: WriteRequest,
  kind: K,
  argsOf: (db: OrgRows) => Promise<TaskArgs[K]>,
): Promise<Answered> {
  const { org_id, actor } = request
  const [id = 0] = await store.db.ids(1)
  const args = await argsOf(store.db)
  const answered = await once(store, request, async (tx) => {
    const task = newTask(org_id, id, kind, args, actor)
    if (!(await insertTask(tx, task))) throw underWay(org_id)
    const location = `/api/v1/sandbox/tasks/${publicId('sbt', id)}`
    return { status: 202, headers: { location }, body: JSON.stringify(taskView(task)) }
  })
  taskAsked.wake()
  return answered
}

export function underWay(org_id: number): ApiError {
  const detail = `Another task is under way in ${publicId('org', org_id)}; see GET /sandbox/tasks, and try again when it has ended.`
  return new ApiError('conflict', detail)
}

export function newTask(
  org_id: number,
  id: number,
  kind: TaskKind,
  args: TaskArgs[TaskKind],
  actor: Actor,
): Task {
  return {
    org_id,
    id,
    kind,
    args,
    state: 'queued',
    result: null,
    error: null,
    attempts: 0,
    actor_type: actor.type,
    actor_id: actor.id,
    actor_name: actor.name,
    request_id: actor.request_id,
    created_at: new Date(),
    started_at: null,
    finished_at: null,
  }
}

/** A sandbox is filled when it is empty, so that what is made up never mixes with what somebody entered. */
export async function seedArgs(
  db: OrgRows,
  org_id: number,
  body: TaskArgs['seed'] & { replace: boolean },
): Promise<TaskArgs['seed']> {
  const { replace, ...args } = body
  if (!replace && (await holdsObjects(db, org_id, TYPES))) {
    const detail = 'The sandbox holds objects already; send replace: true to empty it first.'
    throw new ApiError('conflict', detail)
  }
  return args
}

export async function clockArgs(
  db: OrgRows,
  org_id: number,
  advance_days: number,
): Promise<TaskArgs['clock']> {
  const from_days = await aheadDays(db, org_id)
  const to_days = from_days + advance_days
  if (to_days <= AHEAD_MAX) return { from_days, to_days }
  const message = `the clock is ${from_days} days ahead and can be ${AHEAD_MAX} at most`
  throw invalid([{ field: 'advance_days', code: 'out_of_range', message }])
}

/** @throws 404 */
export async function getTask(db: OrgRows, org_id: number, id: number): Promise<Task> {
  const task = await findTask(db, org_id, id)
  if (!task) throw notFound(`Sandbox task ${publicId('sbt', id)}`)
  return task
}

/** The task once it has ended, or as it is after ten seconds: a small sandbox is emptied and filled in less. */
export async function awaited(db: OrgRows, org_id: number, id: number): Promise<Task> {
  const until = Date.now() + WAIT_MS
  let task = await getTask(db, org_id, id)
  while (!hasEnded(task) && Date.now() < until) {
    await new Promise((resolve) => setTimeout(resolve, LOOK_MS))
    task = await getTask(db, org_id, id)
  }
  return task
}

/** What the caller's organization is as a sandbox, and what it holds. */
export async function stateOf(db: OrgRows, { org_id, environment }: Caller): Promise<Row> {
  const [days, [last], objects] = await Promise.all([
    aheadDays(db, org_id),
    listTasks(db, org_id, null, 1),
    objectCounts(db, org_id, TYPES),
  ])
  return {
    object: 'sandbox',
    organization_id: publicId('org', org_id),
    environment,
    clock: {
      ahead_days: days,
      now: new Date(Date.now() + days * 86_400_000).toISOString(),
    },
    objects,
    last_task: last ? taskView(last) : null,
  }
}
