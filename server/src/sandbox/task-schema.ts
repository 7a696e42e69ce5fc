/** The schema of a task, apart from the endpoints: the catalogue of events shows it too. */
import type { JsonSchema } from '../kit/field.ts'
import { TASK_KINDS, TASK_STATES } from './tasks.ts'

export const taskSchema: JsonSchema = {
  title: 'SandboxTask',
  type: 'object',
  description: 'Something done to a sandbox as a whole: emptying, filling, moving its clock.',
  properties: {
    id: { type: 'string', description: 'Id of the task.', examples: ['sbt_1042'] },
    object: { type: 'string', const: 'sandbox_task', description: 'Always sandbox_task.' },
    organization_id: { type: 'string', description: 'The sandbox.', examples: ['org_2'] },
    kind: { type: 'string', enum: [...TASK_KINDS], description: 'What is done.' },
    state: {
      type: 'string',
      enum: [...TASK_STATES],
      description: 'Where it stands. A task whose worker is lost is taken up by another.',
    },
    args: {
      type: 'object',
      additionalProperties: true,
      description: 'What was asked for.',
      examples: [{ from_days: 0, to_days: 30 }],
    },
    result: {
      type: ['object', 'null'],
      additionalProperties: true,
      description:
        'What came of it: for reset deleted, for seed created by type, for clock now, fired by event type, and retries.',
      examples: [{ ahead_days: 30, fired: { 'lease.expiring': 4 }, retries: 0 }],
    },
    error: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'Why it failed: code and message.',
    },
    attempts: { type: 'integer', description: 'How often a worker took it up.', examples: [1] },
    created_by: {
      type: 'string',
      description: 'Name of the key.',
      examples: ['First sandbox key'],
    },
    created_at: { type: 'string', format: 'date-time', description: 'When it was asked for.' },
    started_at: {
      type: ['string', 'null'],
      format: 'date-time',
      description: 'When a worker first took it up.',
    },
    finished_at: { type: ['string', 'null'], format: 'date-time', description: 'When it ended.' },
  },
  required: ['id', 'object', 'kind', 'state', 'args', 'result', 'error', 'created_at'],
}
