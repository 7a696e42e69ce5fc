/** Schemas as tables: one row per field, the fields of lists and objects folded away below their own. */
import { html, inline } from './html.ts'
import type { Html } from './html.ts'
import { nameOf } from './model.ts'
import type { Reference, Schema } from './model.ts'

/** The section of a named schema. */
export function schemaSection(reference: Reference, name: string): Html {
  const schema = reference.schemas[name] ?? {}
  const { description = '' } = schema
  return html`<section class="schema" id="schema-${name}">
    <h3>${name} <a class="anchor" href="#schema-${name}" aria-label="Link to ${name}">#</a></h3>
    <p>${inline(description)}</p>
    ${listOf(schema) ?? ownAndShared(reference, name, schema)}
  </section>`
}

/** A page of a list says nothing but what it lists. */
function listOf({ properties = {} }: Schema): Html | null {
  const item = properties['data']?.items
  if (!item || !properties['next_cursor']) return null
  return html`<p>
    A <a href="/docs#lists">list</a>: <code>data</code> holds ${typeLabel(item)} objects, beside
    <code>has_more</code>, <code>next_cursor</code> and, when asked for, <code>total_count</code>.
  </p>`
}

/** Bodies repeat the fields of their object: only what is their own is told again. */
function ownAndShared(reference: Reference, name: string, schema: Schema): Html {
  const { properties = {}, required = [] } = schema
  const repeats = (other: string, field: string): boolean => {
    const told = reference.schemas[other]?.properties?.[field]?.description
    return told !== undefined && told === properties[field]?.description
  }
  const names = Object.keys(properties)
  const base = Object.keys(reference.schemas)
    .filter((other) => name !== other && name.startsWith(other))
    .find((other) => names.some((field) => repeats(other, field)))
  const shared = base ? names.filter((field) => repeats(base, field)) : []
  const links = (fields: readonly string[]): Html[] =>
    fields.map(
      (field) =>
        html`<li>
          <a href="#${base}.${field}"><code>${field}</code></a>
        </li>`,
    )
  const needed = shared.filter((field) => required.includes(field))
  const optional = shared.filter((field) => !required.includes(field))
  const own = Object.entries(properties).filter(([field]) => !shared.includes(field))
  return html`${own.length > 0 && fieldTable(own, needs(reference, name, schema), name)}
  ${
    needed.length > 0 &&
    html`<h4>Required</h4>
      <ul class="fields">
        ${links(needed)}
      </ul>`
  }
  ${
    optional.length > 0 &&
    html`<h4>Optional</h4>
      <ul class="fields">
        ${links(optional)}
      </ul>`
  }
  ${names.length === 0 && html`<p>Any JSON ${typeLabel(schema)}.</p>`}`
}

/** Fields a client must send: of an object that answers show, those its create needs; of any other answer, none. */
function needs(
  { schemas, sent }: Reference,
  name: string,
  schema: Schema,
): readonly string[] | null {
  return (sent.has(name) ? schema : schemas[`${name}Create`])?.required ?? null
}

/**
 * The fields of an object.
 * @param needed those a client must send; null: the object is only ever answered.
 * @param path id of the object's own row, under which its fields can be linked to.
 */
function fieldTable(
  fields: readonly [string, Schema][],
  needed: readonly string[] | null,
  path: string,
): Html {
  const rows = fields.map(([name, field]) => fieldRow(name, field, needed, `${path}.${name}`))
  return html`<table class="rows">
    <thead>
      <tr>
        <th scope="col">Field</th>
        <th scope="col">Type</th>
        <th scope="col">Meaning</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`
}

function fieldRow(name: string, field: Schema, needed: readonly string[] | null, id: string): Html {
  const inner = field.items?.properties ? field.items : field.properties ? field : null
  const mark = field.readOnly ? 'read only' : field.writeOnly ? 'write only' : ''
  const required = !field.readOnly && needed?.includes(name)
  const within = field.readOnly || needed === null ? null : (inner?.required ?? [])
  return html`<tr id="${id}">
      <th scope="row">
        <code>${name}</code
        >${required && html` <span class="mark">required</span>`}${mark && html` <span class="mark quiet">${mark}</span>`}
      </th>
      <td>${typeLabel(field)}</td>
      <td>${inline(field.description ?? '')}${constraints(field)}</td>
    </tr>
    ${inner && nested(inner, within, id)}`
}

function nested({ properties = {} }: Schema, needed: readonly string[] | null, id: string): Html {
  const fields = Object.entries(properties)
  const name = id.slice(id.lastIndexOf('.') + 1)
  return html`<tr class="inner">
    <td colspan="3">
      <details>
        <summary>${fields.length} fields of ${name}</summary>
        ${fieldTable(fields, needed, id)}
      </details>
    </td>
  </tr>`
}

/** Larger limits are those of the storage, not of the matter, and are left out. */
const RANGE_MAX = 400

/** Allowed values, limits, default and example, without what the description says already. */
export function constraints(schema: Schema, description = schema.description ?? ''): Html {
  const { enum: values, minimum, maximum, examples, default: initial } = schema
  const shown = (values ?? schema.items?.enum)?.filter((value) => value !== null)
  const words = shown && html` <span class="values">One of ${commas(shown.map(code))}.</span>`
  const tight = maximum !== undefined && maximum <= RANGE_MAX && !told(description, maximum)
  const range = tight && html` ${minimum ?? 0} to ${maximum.toLocaleString('en')}.`
  const fallback = initial !== undefined && html` Default ${code(initial)}.`
  const [example] = examples ?? []
  const plain = example !== undefined && (typeof example !== 'object' || example === null)
  const sample = plain && !shown && html` <span class="example">Example ${code(example)}.</span>`
  return html`${range}${words}${fallback}${sample}`
}

function told(description: string, limit: number): boolean {
  return description.includes(` ${limit}`)
}

function code(value: unknown): Html {
  return html`<code>${typeof value === 'string' ? value : JSON.stringify(value)}</code>`
}

function commas(parts: readonly Html[]): Html[] {
  return parts.map((part, i) => (i === 0 ? part : html`, ${part}`))
}

/** What kind of value it is, in a word or two; a link when it is a named schema. */
export function typeLabel(schema: Schema): Html {
  if (schema.$ref) {
    const name = nameOf(schema.$ref)
    return html`<a href="#schema-${name}">${name}</a>`
  }
  const types = [schema.type ?? []].flat().filter((type) => type !== 'null')
  const [type] = types
  if (type === 'array') return html`list of ${typeLabel(schema.items ?? {})}`
  if (types.length === 2 && types.includes('number')) return html`decimal`
  if (type === 'string') return html`${textLabel(schema)}`
  if (type === 'integer') return html`whole number`
  return html`${types.length > 0 ? types.join(' or ') : 'any value'}`
}

function textLabel({ format, pattern, enum: values }: Schema): string {
  if (values) return 'choice'
  const prefix = /^\^([a-z]+)_/.exec(pattern ?? '')?.[1]
  if (prefix) return `id ${prefix}_…`
  return { date: 'date', 'date-time': 'time', uri: 'link' }[format ?? ''] ?? 'text'
}
