/** What is done to a sandbox as a whole, and the form in which clients see it. */
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'

export const TASK_KINDS = ['reset', 'seed', 'clock'] as const
export type TaskKind = (typeof TASK_KINDS)[number]

export const TASK_STATES = ['queued', 'running', 'completed', 'failed'] as const
export type TaskState = (typeof TASK_STATES)[number]

export const PORTFOLIOS = ['demo', 'empty'] as const
export const SIZES = ['s', 'm', 'l'] as const

/** What a task is told, by its kind. */
export interface TaskArgs {
  reset: Record<string, never>
  seed: { portfolio: (typeof PORTFOLIOS)[number]; size: (typeof SIZES)[number]; seed: number }
  /** The clock goes to so many days ahead, whatever it shows when the task begins. */
  clock: { from_days: number; to_days: number }
}

export interface Task<K extends TaskKind = TaskKind> {
  org_id: number
  id: number
  kind: K
  args: TaskArgs[K]
  state: TaskState
  result: Row | null
  error: { code: string; message: string } | null
  attempts: number
  actor_type: string
  actor_id: string | null
  actor_name: string
  request_id: string | null
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
}

export function hasEnded({ state }: Task): boolean {
  return state === 'completed' || state === 'failed'
}

export function taskView(task: Task): Row {
  return {
    id: publicId('sbt', task.id),
    object: 'sandbox_task',
    organization_id: publicId('org', task.org_id),
    kind: task.kind,
    state: task.state,
    args: task.args,
    result: task.result,
    error: task.error,
    attempts: task.attempts,
    created_by: task.actor_name,
    created_at: task.created_at.toISOString(),
    started_at: task.started_at?.toISOString() ?? null,
    finished_at: task.finished_at?.toISOString() ?? null,
  }
}
