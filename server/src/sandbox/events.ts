/** What is told of a sandbox: it was emptied, filled, its clock moved on. */
import type { EventDeclaration, Happening } from '../kit/record.ts'
import { taskSchema } from './task-schema.ts'
import { taskView } from './tasks.ts'
import type { Task, TaskKind } from './tasks.ts'

const TYPES: Readonly<Record<TaskKind, [verb: string, title: string, description: string]>> = {
  reset: [
    'reset',
    'Sandbox emptied',
    'Objects, claims, jobs and earlier events of the sandbox are gone; this event is the first of its feed.',
  ],
  seed: [
    'seeded',
    'Sandbox filled',
    'The sandbox holds a made-up portfolio; result says how much.',
  ],
  clock: [
    'clock_advanced',
    'Clock of the sandbox moved',
    'What was due by then has happened; result says what.',
  ],
}

export const sandboxEvents: readonly EventDeclaration[] = Object.values(TYPES).map(
  ([verb, title, description]) => ({
    type: `sandbox.${verb}`,
    title,
    description,
    object_type: 'sandbox_task',
    object: taskSchema,
  }),
)

/** That a task has ended well. */
export function ended(task: Task): Happening {
  return {
    type: `sandbox.${TYPES[task.kind][0]}`,
    object_type: 'sandbox_task',
    object_id: task.id,
    object: taskView(task),
  }
}
