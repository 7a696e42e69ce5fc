/** Documentation of the endpoints of a sandbox. */
import type { JsonSchema } from '../kit/field.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { AHEAD_MAX, TYPES } from './service.ts'
import { taskSchema } from './task-schema.ts'
import { PORTFOLIOS, SIZES } from './tasks.ts'

/** The query of a list that is only paged. */
export const PAGE_QUERY: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  properties: Object.fromEntries(PAGE_PARAMETERS.map(({ name, schema }) => [name, schema])),
}

const PREFER: Parameter = {
  name: 'Prefer',
  in: 'header',
  description:
    'respond-async answers 202 at once; otherwise the answer waits up to ten seconds for the end of the task.',
  schema: { type: 'string', examples: ['respond-async'] },
}

const ACCEPTED = { ...taskSchema, description: 'Accepted: the task goes on in the background.' }

function task(
  operationId: string,
  summary: string,
  description: string,
  body?: JsonSchema,
): RouteDocs {
  return {
    config: { scope: 'write:sandbox' },
    schema: {
      operationId,
      summary,
      description: `${description} 200 with the ended task, or 202 while it goes on. Sandbox keys only: a live key gets 403.`,
      tags: ['sandbox'],
      ...(body ? { body } : {}),
      response: { 200: taskSchema, 202: ACCEPTED },
      parameters: [PREFER, IDEMPOTENCY],
      problems: body ? [400, 403, 409, 413, 415, 422] : [403, 409, 422],
    },
  }
}

export const reset = task(
  'resetSandbox',
  'Empty the sandbox',
  'Deletes every object, claim, job, export and earlier event, in one transaction, and sets the clock back. Keys, webhooks, sources, adapters, fields and rules stay, and so do the audit log and the request log.',
)

export const seed = task(
  'seedSandbox',
  'Fill the sandbox',
  'Writes a made-up portfolio. The same seed on the same day gives the same portfolio.',
  {
    title: 'SandboxSeed',
    description: 'What to fill the sandbox with.',
    type: 'object',
    additionalProperties: false,
    properties: {
      portfolio: {
        type: 'string',
        enum: [...PORTFOLIOS],
        description:
          'demo is the portfolio of a first start; empty leaves the sandbox without objects.',
        examples: ['demo'],
      },
      size: {
        type: 'string',
        enum: [...SIZES],
        default: 's',
        description:
          's has some hundred objects, m some thousand, l some ten thousand; s when left out.',
        examples: ['s'],
      },
      seed: {
        type: 'integer',
        minimum: 0,
        maximum: 1_000_000_000,
        description: 'Another number makes another portfolio; 11 when left out.',
        examples: [11],
      },
      replace: {
        type: 'boolean',
        description:
          'Empty the sandbox first; without it a sandbox that holds objects answers 409.',
        examples: [true],
      },
    },
    required: ['portfolio'],
  },
)

export const clock = task(
  'advanceSandboxClock',
  'Move the clock',
  'Moves the clock of the sandbox on, and does whatever is due by then: leases begin, step up, near their end and expire, notice windows open, critical dates come, promised times of work orders pass, deliveries that wait for another attempt are sent. result.fired counts events by type. Recorded times stay real.',
  {
    title: 'SandboxClock',
    description: 'How far to move the clock.',
    type: 'object',
    additionalProperties: false,
    properties: {
      advance_days: {
        type: 'integer',
        minimum: 0,
        maximum: AHEAD_MAX,
        description: 'Days to move on; the clock never goes back but by a reset.',
        examples: [30],
      },
    },
    required: ['advance_days'],
  },
)

export const getSandbox: RouteDocs = {
  config: { scope: 'read:organizations' },
  schema: {
    operationId: 'getSandbox',
    summary: 'Get the sandbox',
    description:
      'The organization of the key as a sandbox: its clock, what it holds, and the last task. For a live key it says so.',
    tags: ['sandbox'],
    parameters: [],
    problems: [422],
    response: {
      200: {
        title: 'Sandbox',
        type: 'object',
        description: 'An organization as a sandbox.',
        properties: {
          object: { type: 'string', const: 'sandbox', description: 'Always sandbox.' },
          organization_id: {
            type: 'string',
            description: 'The organization.',
            examples: ['org_2'],
          },
          environment: {
            type: 'string',
            enum: ['production', 'sandbox'],
            description:
              'production when the key is live: then nothing here can be reset or moved.',
          },
          clock: {
            type: 'object',
            description: 'The clock by which scheduled work happens.',
            properties: {
              ahead_days: {
                type: 'integer',
                description: 'Days ahead of the real time.',
                examples: [0],
              },
              now: { type: 'string', format: 'date-time', description: 'What it shows.' },
            },
            required: ['ahead_days', 'now'],
          },
          objects: {
            type: 'object',
            description: 'How many objects there are, by type.',
            properties: Object.fromEntries(
              TYPES.map((name) => [
                name,
                { type: 'integer', description: `Objects of the type ${name}.`, examples: [12] },
              ]),
            ),
          },
          last_task: {
            anyOf: [taskSchema, { type: 'null' }],
            description: 'The task last asked for; null when there was none.',
          },
        },
        required: ['object', 'organization_id', 'environment', 'clock', 'objects', 'last_task'],
      },
    },
  },
}

export const listTasks: RouteDocs & { schema: { querystring: JsonSchema } } = {
  config: { scope: 'read:organizations' },
  schema: {
    operationId: 'listSandboxTasks',
    summary: 'List tasks of the sandbox',
    description: 'What was done to the sandbox as a whole, newest first.',
    tags: ['sandbox'],
    parameters: PAGE_PARAMETERS,
    querystring: PAGE_QUERY,
    response: { 200: listSchema(taskSchema, 'SandboxTaskList') },
    problems: [422],
  },
}

export const getTask: RouteDocs = {
  config: { scope: 'read:organizations' },
  schema: {
    operationId: 'getSandboxTask',
    summary: 'Get a task of the sandbox',
    description: 'One task, with what came of it.',
    tags: ['sandbox'],
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Id of the task.',
        schema: { type: 'string', pattern: '^sbt_[0-9]+$', examples: ['sbt_1042'] },
      },
    ],
    response: { 200: taskSchema },
    problems: [404, 422],
  },
}
