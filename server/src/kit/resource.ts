import { datetime, freeForm, integer, list, object, text, texts } from './field.ts'
import type { Field, Fields } from './field.ts'
import type { Issue } from './errors.ts'
import type { Extension } from './extension.ts'
import type { Needs } from './needs.ts'

/** A row as clients see it: every declared field is present, null when unknown. Values are JSON values. */
export type Row = { [field: string]: unknown }

/** The typed row of one resource: its declared fields plus those every object has. */
export type RowOf<F extends Fields> = {
  [K in keyof F]: (F[K] extends Field<infer T> ? T : never) | null
} & CommonRow

export interface CommonRow {
  id: string
  object: string
  organization_id: string
  version: number
  created_at: string
  updated_at: string
  created_by: { type: string; id: string | null } | null
  archived_at: string | null
  deleted_at: string | null
  external_ids: { system: string; id: string; url: string | null }[]
  tags: string[]
  ext: Record<string, unknown>
}

/** States of a resource and the moves between them; a move that is not listed answers 422 `invalid_transition`. */
export interface Lifecycle {
  field: string
  initial: string
  transitions: Readonly<Record<string, readonly string[]>>
  /** States that are over for good: only labels, keys of other systems and the fields in `editable` may change then. */
  final: readonly string[]
  editable?: readonly string[]
}

/** What a change of an object also means; told by an event of its own beside `created` or `updated`. */
export interface Meaning<R = Row> {
  title: string
  description: string
  /** Pure; `before` is null on create. Deletes mean nothing else. */
  when: (row: R, before: R | null) => boolean
}

/** Something that happens to an object by itself, at a time that its values name: an event, or a change. */
export type Due = {
  /** Names the matter among what is due for the object; what is done once is not done again under the same name. */
  mark: string
  /** A civil day, which begins in the time zone of the organization, or an instant. */
  at: string
} & (
  | { type: string; about: Row }
  /** A merge patch, written by the system. */
  | { patch: Row }
)

/**
 * A resource declared as data. Table, v1 endpoints, grid/v2 objects, facts, filters, sorts, OpenAPI and CSV columns
 * follow from it.
 */
export interface Resource {
  /** Singular name, also the table and the object type: `lease`. */
  name: string
  /** Path segment: `leases`. */
  path: string
  /** What scopes speak of: `read:leases`; floors and spaces belong to `buildings`. */
  scope: string
  /** Id prefix without the underscore: `le`. */
  prefix: string
  title: string
  description: string
  fields: Fields
  /** Fields of every object, after the declared ones. */
  common: Fields
  /** Values computed from other objects when a caller asks with `include=rollups`; never stored. */
  rollups: Fields
  lifecycle: Lifecycle | null
  /** By the last part of the event's type: `lease.executed`. A lifecycle adds `status_changed`. */
  meanings: Readonly<Record<string, Meaning>>
  /** What is to happen by itself, as the row stands. Pure. */
  agenda: ((row: Row) => Due[]) | null
  /** Sort used when the caller names none, e.g. `-level_number`; `id` is always appended. */
  sort: string
  /**
   * Rules over several fields. Pure; `before` is null on create; `today` is left out where the past is told, which was right
   * on its day.
   */
  check: (row: Row, before: Row | null, today?: string | null) => Issue[]
  /** Values computed from the same row (load factor, term in months). Pure; written with the row. */
  derive: (row: Row) => Row
  /**
   * Fields that a request may give in part, each with its whole value: done once, for what a client sends. What sources
   * claim stays as they state it.
   */
  fills: Readonly<Record<string, (row: Row) => unknown>>
  /** What must hold of the objects its rows name, beyond that they exist. */
  needs: Needs | null
  /** Types of the objects its fields refer to. */
  targets: readonly string[]
  /** Names of the fields that `derive` sets; they are no claims of a source. */
  derived: readonly string[]
  /** Fields that the organization added; none in what the product declares. */
  extensions: readonly Extension[]
  /** Version of the organization's schema; 0 where it added nothing. */
  schema_version: number
}

/** Declares a resource. `check` and `derive` get the typed row. */
export function defineResource<const F extends Fields>(definition: {
  name: string
  path: string
  prefix: string
  scope?: string
  title: string
  description: string
  fields: F
  lifecycle?: Lifecycle
  meanings?: Record<string, Meaning<RowOf<F>>>
  agenda?: (row: RowOf<F>) => Due[]
  sort?: string
  rollups?: Fields
  check?: (row: RowOf<F>, before: RowOf<F> | null, today?: string | null) => Issue[]
  derive?: (row: RowOf<F>) => Partial<RowOf<F>>
  fills?: { [K in keyof F]?: (row: RowOf<F>) => unknown }
  needs?: Needs
}): Resource & { fields: F } {
  const {
    lifecycle = null,
    sort = 'id',
    rollups = {},
    check = () => [],
    derive = () => ({}),
    fills = {},
    needs = null,
  } = definition
  return {
    ...definition,
    scope: definition.scope ?? definition.path,
    common: commonFields(definition.prefix),
    lifecycle,
    meanings: {
      ...(lifecycle ? { status_changed: statusChanged(definition.title, lifecycle) } : {}),
      ...(definition.meanings as unknown as Resource['meanings'] | undefined),
    },
    agenda: (definition.agenda ?? null) as Resource['agenda'],
    sort,
    rollups,
    fills,
    needs,
    // The kit handles every resource through the erased row; the declaration keeps its own types.
    check: check as unknown as Resource['check'],
    derive: derive as unknown as Resource['derive'],
    targets: [...new Set(targetsOf(definition.fields))],
    derived: Object.keys(derive(emptyRow(definition.fields) as unknown as RowOf<F>)),
    extensions: [],
    schema_version: 0,
  }
}

function statusChanged(title: string, { field }: Lifecycle): Meaning {
  return {
    title: `${title} changed its status`,
    description: `The ${field} of the ${title.toLowerCase()} is another one; previous holds the one before.`,
    when: (row, before) => before !== null && row[field] !== before[field],
  }
}

function targetsOf(fields: Fields): string[] {
  return Object.values(fields).flatMap((field) => [
    ...(field.target ? [field.target] : []),
    ...(field.items ? targetsOf(field.items) : []),
  ])
}

function emptyRow(fields: Fields): Row {
  return Object.fromEntries(Object.keys(fields).map((name) => [name, null]))
}

/** A resource is declared once, so what follows from it alone is worked out once: loads ask for every row. */
const fieldsCache = new WeakMap<Resource, { all: Fields; writable: Fields }>()

/** Every field of a resource in the order of its JSON: identity, declared fields, bookkeeping. */
export function allFields(resource: Resource): Fields {
  return fieldsOf(resource).all
}

/** Fields a client may send. */
export function writableFields(resource: Resource): Fields {
  return fieldsOf(resource).writable
}

function fieldsOf(resource: Resource): { all: Fields; writable: Fields } {
  let fields = fieldsCache.get(resource)
  if (!fields) {
    const { object: kind, id, organization_id, ...rest } = resource.common
    const all = { id, object: kind, organization_id, ...resource.fields, ...rest } as Fields
    const writable = Object.fromEntries(Object.entries(all).filter(([, f]) => !f.readOnly))
    fields = { all, writable }
    fieldsCache.set(resource, fields)
  }
  return fields
}

function commonFields(prefix: string): Fields {
  const readOnly = true
  return {
    id: text('Id of the object.', { example: `${prefix}_1042`, readOnly }),
    object: text('Type of the object.', { example: 'lease', readOnly }),
    organization_id: text('Organization that owns the object.', { example: 'org_1', readOnly }),
    external_ids: list(
      {
        system: text('Name of the other system.', { example: 'yardi', required: true, max: 100 }),
        id: text('Key of the object there.', { example: 'prop100', required: true }),
        url: text('Link to the object there.', { example: 'https://erp.example/100', max: 2_000 }),
      },
      'Keys of the same object in other systems. Unique per organization, system and object type; filter with external_id=system:id.',
      { example: [{ system: 'yardi', id: 'prop100', url: null }], initial: [] },
    ),
    tags: texts('Labels of your own.', { example: ['core-plus'], initial: [] }),
    ext: freeForm('Fields your organization added to the schema, by name.', {
      example: {},
      initial: {},
      readOnly,
    }),
    version: integer('Counts the writes to the object, from 1; also its ETag.', {
      example: 3,
      readOnly,
    }),
    created_at: datetime('When the object was first written.', {
      example: '2026-05-12T08:00:00.000Z',
      readOnly,
    }),
    updated_at: datetime('When the object was last written; never null.', {
      example: '2026-05-12T08:00:00.000Z',
      readOnly,
    }),
    created_by: object(
      {
        type: text('Who: api_key, job or system.', { example: 'api_key' }),
        id: text('Id of the key or job.', { example: 'key_7' }),
      },
      'Who created the object.',
      { example: { type: 'api_key', id: 'key_7' }, readOnly },
    ),
    archived_at: datetime(
      'When the last source stopped listing the object; lists leave archived objects out.',
      { example: '2026-05-12T08:00:00.000Z', readOnly },
    ),
    deleted_at: datetime('When the object was deleted; only tombstones have it.', {
      example: '2026-05-12T08:00:00.000Z',
      readOnly,
    }),
  }
}
