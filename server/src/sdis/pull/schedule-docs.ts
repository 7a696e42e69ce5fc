/** Documentation of the endpoints of schedules. */
import { nullable } from '../../kit/field.ts'
import type { JsonSchema } from '../../kit/field.ts'
import { IDEMPOTENCY, IF_MATCH } from '../../kit/parameters.ts'
import { listSchema, PAGE_PARAMETERS } from '../../kit/schemas.ts'
import type { RouteDocs } from '../../kit/schemas.ts'
import { PAGE_QUERY, pathParameter, text, time } from './docs.ts'

const writable: Record<string, JsonSchema> = {
  adapter: {
    description: 'Name or id of an adapter, of which the live version is run, or a whole document.',
    examples: ['pms-leases'],
    anyOf: [
      { type: 'string', minLength: 1, maxLength: 200, description: 'Its name or id.' },
      { type: 'object', additionalProperties: true, description: 'The document.' },
    ],
  },
  cron: text('Minute, hour, day of month, month, day of week.', '0 5 * * *', 100),
  time_zone: text("Zone of the times; the organization's when left out.", 'Europe/Berlin', 100),
  state: {
    type: 'string',
    enum: ['active', 'paused'],
    default: 'active',
    description: 'A paused schedule does not run; what it missed is not made up for.',
    examples: ['active'],
  },
}

const schedule: JsonSchema = {
  title: 'Schedule',
  type: 'object',
  description: 'When an adapter asks its source by itself.',
  properties: {
    id: text('Id of the schedule.', 'sch_1042'),
    object: { type: 'string', const: 'schedule', description: 'Always schedule.' },
    organization_id: text('Organization it belongs to.', 'org_1'),
    adapter: text('Adapter that is run.', 'pms-leases'),
    cron: writable['cron'] as JsonSchema,
    time_zone: writable['time_zone'] as JsonSchema,
    state: writable['state'] as JsonSchema,
    next_run_at: nullable(time('When it runs next; null while it is paused.')),
    last_run_at: nullable(time('When it last ran.')),
    last_job_id: nullable(text('The job it last started.', 'job_1042')),
    last_error: nullable(
      text('Why the last run started no job.', 'pms-leases has no live version'),
    ),
    version: { type: 'integer', description: 'Grows with every change.', examples: [1] },
    created_at: time('When it was made.'),
    updated_at: time('When it was last changed.'),
  },
  required: ['id', 'object', 'adapter', 'cron', 'time_zone', 'state', 'version'],
}

type Schema = Omit<RouteDocs['schema'], 'tags'>

function routeDocs(scope: 'read:jobs' | 'write:jobs', schema: Schema): RouteDocs {
  return { config: { scope }, schema: { ...schema, tags: ['sdis'] } }
}

const scheduleId = pathParameter('sch', 'schedule')
const closed = { type: 'object', additionalProperties: false } as const

export const createSchedule = routeDocs('write:jobs', {
  operationId: 'createSchedule',
  summary: 'Create a schedule',
  description:
    'Runs an adapter whose source is rest or postgres at the times of a cron expression. A run that is missed is made up for once; while a job of it is under way the next one is left out.',
  body: {
    title: 'ScheduleCreate',
    ...closed,
    description: 'What is run, and when.',
    properties: writable,
    required: ['adapter', 'cron'],
  },
  response: { 201: schedule },
  parameters: [IDEMPOTENCY],
  problems: [400, 409, 413, 415, 422],
})

export const listSchedules: RouteDocs & { schema: { querystring: JsonSchema } } = {
  config: { scope: 'read:jobs' },
  schema: {
    operationId: 'listSchedules',
    summary: 'List schedules',
    description: 'Schedules of your organization, newest first.',
    tags: ['sdis'],
    querystring: { type: 'object', additionalProperties: false, properties: PAGE_QUERY },
    response: { 200: listSchema(schedule, 'ScheduleList') },
    parameters: [...PAGE_PARAMETERS],
    problems: [422],
  },
}

export const getSchedule = routeDocs('read:jobs', {
  operationId: 'getSchedule',
  summary: 'Get a schedule',
  description: 'With its last and next run.',
  response: { 200: schedule },
  parameters: [scheduleId],
  problems: [404, 422],
})

export const patchSchedule = routeDocs('write:jobs', {
  operationId: 'updateSchedule',
  summary: 'Change a schedule',
  description: 'Changes what the body names; state pauses it or lets it go on.',
  body: {
    title: 'ScheduleUpdate',
    ...closed,
    description: 'What is to change.',
    properties: writable,
  },
  response: { 200: schedule },
  parameters: [scheduleId, IF_MATCH],
  problems: [400, 404, 412, 413, 415, 422],
})

export const deleteSchedule = routeDocs('write:jobs', {
  operationId: 'deleteSchedule',
  summary: 'Delete a schedule',
  description: 'It does not run again; jobs it started go on.',
  response: { 204: { type: 'null', description: 'It is gone.' } },
  parameters: [scheduleId],
  problems: [404, 422],
})
