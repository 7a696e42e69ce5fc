/** Plain fields of a form as the values a JSON body would have. */
import type { Issue } from '../kit/errors.ts'
import type { Field, FieldKind, Fields } from '../kit/field.ts'
import type { Row } from '../kit/resource.ts'

/**
 * The body a form stands for. Texts are taken as they are; numbers, lists and objects are read as JSON; labels may be
 * sent one by one. An empty field counts as left out: browsers send every field of a form.
 */
export function formBody(
  fields: Fields,
  form: ReadonlyMap<string, readonly string[]>,
  issues: Issue[],
): Row {
  const body: Row = {}
  for (const [name, sent] of form) {
    const values = sent.filter((value) => value !== '')
    const field = fields[name]
    const [value] = values
    if (value === undefined) continue
    if (field?.kind === 'texts' && !value.startsWith('[')) body[name] = values
    else if (values.length > 1)
      issues.push({ field: name, code: 'repeated', message: 'may be given once' })
    else body[name] = field ? read(field, name, value, issues) : value
  }
  return body
}

/** Kinds whose JSON value is a text. */
const TEXTS = new Set<FieldKind>(['text', 'date', 'datetime', 'choice', 'reference', 'money'])

function read(field: Field, name: string, value: string, issues: Issue[]): unknown {
  if (TEXTS.has(field.kind)) return value
  try {
    return JSON.parse(value)
  } catch {
    issues.push({ field: name, code: 'invalid_format', message: 'must be written as JSON' })
    return undefined
  }
}
