/** Facts as an entity: one row per claim of a source, whatever became of it. */
import { BUILT_IN } from '../kit/history.ts'
import { datetime, flag, freeForm, integer, percent, reference, text, texts } from '../kit/field.ts'
import type { ColumnType, Field } from '../kit/field.ts'
import type { Resource } from '../kit/resource.ts'
import type { Entity, EntityField } from './entity.ts'

/**
 * The rows of `fact` by their tables, which every role has the right to read. The organization is the first parameter.
 */
export const FACT_ROWS = `select a.org_id, a.object_id, f.key as field, f.value, a.valid_from, a.valid_to, x.at as recorded_at, a.tx_id,
    a.source_id, a.confidence, a.row_no, x.job_id
  from assertion a join tx x on x.org_id = a.org_id and x.tx_id = a.tx_id cross join lateral jsonb_each(a.attrs) as f(key, value)
  where a.org_id = $1::bigint`

/** The first type that has an object of that id decides; ids are given once over all types. */
function perType(resources: readonly Resource[], then: (resource: Resource) => string): string {
  const cases = resources.map((resource) => {
    const own = resource.name === 'organization' ? 'o.id = t.org_id' : 'o.org_id = t.org_id'
    const found = `exists (select from ${resource.name} o where ${own} and o.id = t.object_id)`
    return `when ${found} then ${then(resource)}`
  })
  return cases.length === 0 ? 'null::text' : `(case ${cases.join(' ')} end)`
}

/** @param readable types whose objects the caller may see: facts of others have no type and are left out. */
export function factEntity(readable: readonly Resource[]): Entity {
  const type = perType(readable, ({ name }) => `'${name}'`)
  const id = perType(readable, ({ prefix }) => `'${prefix}_' || t.object_id`)
  const fields: EntityField[] = [
    {
      ...plain('object_id', 'bigint', reference('object', 'x', 'The object.', { example: 'le_1' })),
      prefix: '',
      show: () => id,
    },
    {
      ...plain('object_type', 'text', text('Type of the object.', { example: 'lease' })),
      sql: () => type,
    },
    plain(
      'field',
      'text',
      text('The field that is claimed; one that begins with _ speaks of the object itself.', {
        example: 'status',
      }),
    ),
    plain(
      'value',
      'json',
      freeForm('The value claimed; null is: empty from then on.', { example: {} }),
    ),
    plain('valid_from', 'timestamptz', datetime('From when it is true.', { example: TIME })),
    plain('valid_to', 'timestamptz', datetime('Until when, if said.', { example: TIME })),
    plain('recorded_at', 'timestamptz', datetime('When it was written.', { example: TIME })),
    ids('transaction_id', 'tx_id', 'tx', 'Transaction that wrote it.'),
    ids('source_id', 'source_id', 'src', 'Source that claims it.'),
    {
      ...plain('source', 'text', text('Name of the source.', { example: 'Yardi' })),
      sql: () =>
        `coalesce((select s.name from source s where s.org_id = t.org_id and s.id = t.source_id), ${builtIn()})`,
    },
    {
      ...plain('confidence_pct', 'numeric', percent('How sure the source is.', { example: 100 })),
      sql: () => '(t.confidence / 10.0)',
    },
    ids('job_id', 'job_id', 'job', 'Job that loaded it.'),
    {
      ...plain('row', 'integer', integer('Row of the file.', { example: 12 })),
      sql: () => 't.row_no',
    },
  ]
  return {
    name: 'fact',
    title: 'facts',
    fields: new Map(fields.map((field) => [field.name, field])),
    relations: new Map(),
    keys: [
      { name: 'tx_id', sql: 't.tx_id', type: 'bigint' },
      { name: 'object', sql: 't.object_id', type: 'bigint' },
      { name: 'source', sql: 't.source_id', type: 'bigint' },
      { name: 'from', sql: 't.valid_from', type: 'timestamptz' },
      { name: 'name', sql: 't.field', type: 'text' },
    ],
    resource: null,
  }
}

const TIME = '2026-05-12T08:00:00.000Z'

function plain(name: string, type: ColumnType | 'json', field: Field): EntityField {
  return { name, type, field, prefix: '', sql: (alias) => `${alias}.${name}` }
}

function ids(name: string, column: string, prefix: string, description: string): EntityField {
  const field = reference(column, prefix, description, { example: `${prefix}_1001` })
  return { name, type: 'bigint', field, prefix, sql: (alias) => `${alias}.${column}` }
}

function builtIn(): string {
  return `(case t.source_id ${BUILT_IN.map(({ id, name }) => `when ${id} then '${name}'`).join(' ')} end)`
}

/** The schema as an entity: one row per field of a type. */
export const schemaEntity: Entity = {
  name: 'schema',
  title: 'schema',
  fields: new Map(
    [
      plain('type', 'text', text('Type that has the field.', { example: 'lease' })),
      plain('name', 'text', text('Name of the field.', { example: 'status' })),
      plain('kind', 'text', text('What its values are.', { example: 'choice' })),
      plain('description', 'text', text('What it means.', { example: 'State of the lease.' })),
      plain('required', 'boolean', flag('Must be given on create.', { example: true })),
      plain('read_only', 'boolean', flag('Set by the service.', { example: true })),
      plain('derived', 'boolean', flag('Computed from the same row.', { example: true })),
      plain('relation', 'text', text('Type it leads to.', { example: 'party' })),
      plain('operators', 'text[]', texts('What it can be filtered by.', { example: ['eq'] })),
      plain('sortable', 'boolean', flag('Can be sorted by.', { example: true })),
    ].map((field) => [field.name, field]),
  ),
  relations: new Map(),
  keys: [
    { name: 'type', sql: null, type: 'text' },
    { name: 'name', sql: null, type: 'text' },
  ],
  resource: null,
}
