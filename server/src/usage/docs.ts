/** Documentation of the usage endpoint. */
import type { JsonSchema } from '../kit/field.ts'
import type { RouteDocs } from '../kit/schemas.ts'

const amount = (description: string, example: number): JsonSchema => ({
  type: 'number',
  description,
  examples: [example],
})

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

const METERS = {
  requests: amount('Requests answered, whatever the status.', 128_400),
  deliveries: amount('Deliveries to webhooks that were attempted.', 5_200),
  job_rows: amount('Rows read by data-integration jobs.', 8_700),
  skill_runs: amount('Runs of skills.', 310),
}

const STORAGE = amount('Bytes of all versions of documents, now.', 73_400_320)

const SPAN = {
  from: text('From this hour on.', '2026-05-01T00:00:00.000Z'),
  to: text('Before this hour.', '2026-05-12T09:00:00.000Z'),
}

const object = (
  description: string,
  properties: Record<string, JsonSchema>,
  required = Object.keys(properties),
): JsonSchema => ({ type: 'object', description, properties, required })

const rowSchema: JsonSchema = {
  ...object(
    'What was used of one meter, in one group.',
    {
      meter: text('Name of the meter.', 'requests'),
      quantity: amount('How much.', 1_800),
      key_id: { ...text('With group_by=key.', 'key_7'), type: ['string', 'null'] },
      key_name: { ...text('Its name.', 'First key'), type: ['string', 'null'] },
      route_group: {
        ...text('With group_by=route_group: first part of the path.', 'leases'),
        type: ['string', 'null'],
      },
      status_class: { ...text('With group_by=status_class.', '2xx'), type: ['string', 'null'] },
      day: text('With group_by=day, in UTC.', '2026-05-12'),
      hour: text('With group_by=hour.', '2026-05-12T08:00:00.000Z'),
    },
    ['meter', 'quantity'],
  ),
  title: 'UsageRow',
}

const usageSchema: JsonSchema = {
  ...object('What the organization used.', {
    object: { type: 'string', const: 'usage', description: 'Always usage.' },
    organization_id: text('The organization.', 'org_1'),
    ...SPAN,
    totals: object('Sums of the time asked for.', { ...METERS, storage_bytes: STORAGE }),
    forecast: object('The present month in UTC, if it goes on as it began.', {
      ...SPAN,
      totals: object('Expected sums of the whole month.', METERS),
    }),
    limits: object('What the plan allows the key of this request.', {
      plan: text('Plan of the organization.', 'enterprise'),
      policy: text('Name of the quota, as in RateLimit-Policy.', 'enterprise'),
      requests_per_minute: amount('Requests per minute of the key.', 30_000),
      organization_requests_per_minute: amount(
        'Requests per minute of all keys of the organization together.',
        120_000,
      ),
    }),
    data: {
      type: 'array',
      items: rowSchema,
      description: 'One row per meter and group; only requests have keys, routes and statuses.',
    },
  }),
  title: 'Usage',
}

const QUERY: Record<string, { description: string; schema: JsonSchema }> = {
  from: {
    description:
      'From this day or time on, rounded down to the hour; the start of the month of `to` when absent.',
    schema: text('A day or a time.', '2026-05-01'),
  },
  to: {
    description: 'Before this day or time, rounded up to the hour; now when absent.',
    schema: text('A day or a time.', '2026-05-12T09:00:00Z'),
  },
  group_by: {
    description: 'Groups, separated by commas: key, route_group, status_class, and day or hour.',
    schema: text('Names of groups.', 'key,day'),
  },
}

export const usageDocs: RouteDocs & { schema: { querystring: JsonSchema } } = {
  config: { scope: 'read:usage' },
  schema: {
    operationId: 'getUsage',
    summary: 'Get usage',
    description:
      'What the organization used: requests by key, route, status and time, deliveries, rows of jobs, runs of skills, stored bytes. Requests are counted by the statement that writes the request log, so both always add up to the same.',
    tags: ['usage'],
    response: { 200: usageSchema },
    parameters: Object.entries(QUERY).map(([name, rest]) => ({ name, in: 'query', ...rest })),
    problems: [422],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: Object.fromEntries(
        Object.entries(QUERY).map(([name, { schema }]) => [name, schema]),
      ),
    },
  },
}
