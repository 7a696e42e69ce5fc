/** Documentation of what tells about jobs: run events, the stream of their progress, their limits. */
import type { JsonSchema } from '../kit/field.ts'
import { count, jobId, open, route, text } from './docs.ts'
import { RUN_TYPES } from './lineage.ts'

const list = (items: JsonSchema, description: string): JsonSchema => ({
  type: 'array',
  items,
  description,
})

const runEventSchema: JsonSchema = {
  title: 'RunEvent',
  type: 'object',
  additionalProperties: true,
  description: 'A run event in the form of OpenLineage 2.0.2.',
  properties: {
    eventType: {
      type: 'string',
      enum: [...RUN_TYPES],
      description: 'What happened to the run.',
      examples: ['COMPLETE'],
    },
    eventTime: {
      type: 'string',
      format: 'date-time',
      description: 'When it happened.',
      examples: ['2025-06-20T09:00:00.000Z'],
    },
    producer: text('Who tells it.', 'https://github.com/portfolio-grid/portfolio-grid'),
    schemaURL: text(
      'Schema of the event.',
      'https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent',
    ),
    run: open('The run, with its UUID.', { runId: '3f5e83fa-3480-44ff-99c5-ff943904e5e8' }),
    job: open('What is run again and again.', { name: 'gsa-iolp-leases.leases' }),
    inputs: list(open('A file.', { name: 'iolp-leases-2025-06.xlsx' }), 'What was read.'),
    outputs: list(open('A type of object.', { name: 'lease' }), 'What was written.'),
  },
  required: ['eventType', 'eventTime', 'run', 'job', 'inputs', 'outputs'],
}

export const listRunEvents = route(
  'read:jobs',
  'listJobRunEvents',
  'List the lineage of a job',
  'OpenLineage run events of the job: which file, by which mapping, became which values. They are sent to a collector too where the operator names one in GRID_OPENLINEAGE_URL.',
  {
    200: {
      title: 'RunEventList',
      type: 'object',
      description: 'The run events of a job, at most three.',
      properties: {
        object: { type: 'string', const: 'list', description: 'Always list.' },
        data: list(runEventSchema, 'The events, in order.'),
      },
      required: ['object', 'data'],
    },
  },
  { parameters: [jobId], problems: [404, 422] },
)

export const streamJob = route(
  'read:jobs',
  'streamJob',
  'Follow a job',
  'Server-sent events: the present state at once, then each change as `progress`, at last `end`. A stream is closed after ten minutes; come again, and the present state comes first. At most 20 streams of an organization are open at once.',
  {
    200: {
      type: 'string',
      description: 'Events whose data is the job as JSON.',
      'x-content-type': 'text/event-stream',
      examples: ['id: 1\nevent: progress\ndata: {"id":"job_1001"}\n\n'],
    },
  },
  { parameters: [jobId], problems: [404, 422] },
)

export const getLimits = route(
  'read:jobs',
  'getJobLimits',
  'Get the limits of jobs',
  'What jobs may take in this installation, and how much of it the organization uses.',
  {
    200: {
      title: 'JobLimits',
      type: 'object',
      description: 'Limits of jobs.',
      properties: {
        object: { type: 'string', const: 'job_limits', description: 'Always job_limits.' },
        file_bytes: count('Largest file.', 536870912),
        inline_bytes: count('Most data in a request.', 10485760),
        rows: count('Most rows of a file.', 5000000),
        columns: count('Most columns of a file.', 500),
        cell_chars: count('Longest cell, in characters.', 65536),
        unzipped_bytes: count('Most that a workbook may unpack to.', 1073741824),
        unzipped_ratio: count('Most that a part of a workbook may grow by when unpacked.', 100),
        atomic_rows: count('Most rows of an atomic job.', 200000),
        running_jobs: count('Jobs that run at once.', 2),
        queued_jobs: count('Jobs that may wait.', 100),
        error_rows: count('Errors kept of a job.', 10000),
        diff_rows: count('Objects kept of a diff, for each action.', 50000),
        run_time_s: count('Longest run, in seconds.', 14400),
        result_days: count('Days errors and diffs are kept.', 90),
        approval_days: count('Days a job waits for approval.', 7),
        used: {
          type: 'object',
          description: 'What the organization has under way.',
          properties: {
            running_jobs: count('Jobs at work.', 1),
            queued_jobs: count('Jobs that wait for a worker.', 0),
            waiting_jobs: count('Jobs that wait for a person.', 0),
          },
        },
      },
      required: ['object', 'file_bytes', 'rows', 'running_jobs', 'queued_jobs', 'used'],
    },
  },
  { problems: [422] },
)
