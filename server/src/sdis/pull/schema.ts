/** The parts of an adapter document that say how a source is asked. */
import type { Issue } from '../../kit/errors.ts'
import type { JsonSchema } from '../../kit/field.ts'

const text = (description: string, example: string, most = 2_000): JsonSchema => ({
  type: 'string',
  minLength: 1,
  maxLength: most,
  description,
  examples: [example],
})

const texts = (description: string, example: Record<string, string>): JsonSchema => ({
  type: 'object',
  maxProperties: 50,
  additionalProperties: { type: 'string', maxLength: 2_000 },
  description,
  examples: [example],
})

const count = (description: string, example: number, least = 1): JsonSchema => ({
  type: 'integer',
  minimum: least,
  maximum: 100_000,
  description,
  examples: [example],
})

/** Members of `source` beside those of files; what belongs to which kind is checked apart. */
export const PULL_SOURCE: Readonly<Record<string, JsonSchema>> = {
  connection: text(
    'Name or id of the connection that a rest or postgres source is asked through.',
    'pms',
    200,
  ),
  method: {
    type: 'string',
    enum: ['GET', 'POST'],
    description: 'How a REST source is asked.',
    examples: ['GET'],
  },
  query: texts('Parameters of every request.', { expand: 'tenant' }),
  headers: texts('Headers of every request; nothing secret.', { 'X-Site': '12' }),
  body: {
    type: 'object',
    additionalProperties: true,
    description: 'What a POST sends.',
    examples: [{ type: 'lease' }],
  },
  records: text(
    'Where an answer holds the records; the whole answer when left out.',
    'data.items',
    200,
  ),
  paging: {
    type: 'object',
    additionalProperties: false,
    description: 'How the pages of a list follow each other; one page when left out.',
    required: ['kind'],
    properties: {
      kind: {
        type: 'string',
        enum: ['none', 'page', 'offset', 'cursor', 'link'],
        description:
          'page and offset count on, cursor takes a value from the answer, link the Link header.',
        examples: ['cursor'],
      },
      param: text('Parameter that takes the page, the offset or the cursor.', 'cursor', 100),
      start: count('Number of the first page.', 1, 0),
      size: count('Records of a full page: a shorter one is the last.', 100),
      size_param: text('Parameter that takes the size.', 'per_page', 100),
      limit: count('Records of a full page, for offset.', 100),
      limit_param: text('Parameter that takes the limit.', 'limit', 100),
      next: text('Where an answer holds the next cursor.', 'meta.next_cursor', 200),
    },
  },
  table: text('Table or view of a postgres source.', 'public.leases', 200),
  sql: text('One select, instead of a table.', 'table leases', 20_000),
}

/** Member `state` of the document. */
export const PULL_STATE: JsonSchema = {
  type: 'object',
  additionalProperties: false,
  description: 'Pulls only what changed since the last load that ended well.',
  required: ['cursor'],
  properties: {
    cursor: text('Field of the records that grows with every change.', 'row.updated_at', 200),
    lookback: {
      type: 'string',
      pattern: '^\\d{1,6}(\\.\\d{1,3})?[mhd]?$',
      description:
        'Asked again before the last value: minutes, hours or days; a plain number for numbers.',
      examples: ['2d'],
    },
    param: text('Parameter of a REST source that takes where to begin.', 'updated_since', 100),
  },
}

/** What each kind of source must name, and what only it may. */
const MEMBERS: Readonly<Record<string, { must: readonly string[]; may: readonly string[] }>> = {
  rest: {
    must: ['connection', 'path'],
    may: ['connection', 'path', 'method', 'query', 'headers', 'body', 'records', 'paging'],
  },
  postgres: { must: ['connection'], may: ['connection', 'table', 'sql'] },
}

const PAGING: Readonly<Record<string, readonly string[]>> = {
  page: ['param'],
  offset: ['param', 'limit'],
  cursor: ['param', 'next'],
}

interface Document {
  source: { kind: string } & Readonly<Record<string, unknown>>
  mode: string
  since: { param?: string } | null
}

/** What is wrong with how a document asks its source. */
export function pullIssues({ source, mode, since }: Document): Issue[] {
  const rules = MEMBERS[source.kind] ?? { must: [], may: [] }
  const given = Object.keys(PULL_SOURCE).filter((name) => source[name] !== undefined)
  if (source.kind === 'postgres' && source['path'] !== undefined) given.push('path')
  const issues: Issue[] = []
  const note = (field: string, code: string, message: string): void => {
    issues.push({ field: `adapter.${field}`, code, message })
  }
  for (const name of rules.must)
    if (source[name] === undefined)
      note(`source.${name}`, 'required', `is required for ${source.kind}`)
  for (const name of given)
    if (!rules.may.includes(name))
      note(`source.${name}`, 'unknown_field', `is not for ${source.kind}`)
  if (
    source.kind === 'postgres' &&
    (source['table'] === undefined) === (source['sql'] === undefined)
  )
    note('source.table', 'required', 'name either a table or sql')
  const paging = source['paging'] as Record<string, unknown> | undefined
  for (const name of PAGING[String(paging?.['kind'])] ?? [])
    if (paging?.[name] === undefined)
      note(`source.paging.${name}`, 'required', `is required for ${String(paging?.['kind'])}`)
  if (!since) return issues
  if (rules.may.length === 0) note('state', 'conflicting', 'is for sources that are asked')
  // What is not among the changes has not ended.
  if (mode === 'full_snapshot')
    note('state', 'conflicting', 'a full_snapshot needs everything, not what changed')
  if (source.kind === 'rest' && since.param === undefined)
    note('state.param', 'required', 'is required for rest: the parameter that takes where to begin')
  return issues
}
