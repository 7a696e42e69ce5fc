/** Parameters of saved queries: `{"$param": "name"}` in the place of a value, filled in when the query is run. */
import type { Issue } from '../kit/errors.ts'
import type { Row } from '../kit/resource.ts'
import { closest } from '../kit/validate.ts'
import type { QueryBody } from './types.ts'
import { isTree, parameterIn } from './where.ts'

/** Parts of a query in which values stand. */
const PARTS = ['where', 'having'] as const

/** Names of the parameters of a query, in the order in which they stand. */
export function parametersOf(query: QueryBody): string[] {
  return [...new Set(PARTS.flatMap((part) => namesIn(query[part])))]
}

function namesIn(value: unknown): string[] {
  const name = parameterIn(value)
  if (name !== null) return [name]
  if (Array.isArray(value)) return value.flatMap(namesIn)
  return isTree(value) ? Object.values(value).flatMap(namesIn) : []
}

/** The query with its values; what lacks a value, and values that nothing asks for, are issues. */
export function filled(query: QueryBody, defaults: Row, given: Row, issues: Issue[]): QueryBody {
  const names = parametersOf(query)
  issues.push(...unasked('parameters', names, given))
  const values = { ...defaults, ...given }
  for (const name of names) {
    if (Object.hasOwn(values, name)) continue
    issues.push({ field: `parameters.${name}`, code: 'required', message: 'is required' })
  }
  const parts = PARTS.flatMap((part) =>
    query[part] ? [[part, replaced(query[part], values)] as const] : [],
  )
  return { ...query, ...Object.fromEntries(parts) }
}

/** Values of parameters that there are none of. */
export function unasked(field: string, names: readonly string[], given: Row): Issue[] {
  const unknown = Object.keys(given).filter((name) => !names.includes(name))
  return unknown.map((name) => {
    const suggestion = closest(name, names)
    const message = `the query has no parameter '${name}'`
    const more = suggestion ? { suggestion } : {}
    return { field: `${field}.${name}`, code: 'unknown_field', message, ...more }
  })
}

function replaced(value: unknown, values: Row): unknown {
  const name = parameterIn(value)
  if (name !== null) return Object.hasOwn(values, name) ? values[name] : value
  if (Array.isArray(value)) return value.map((one) => replaced(one, values))
  if (!isTree(value)) return value
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, replaced(one, values)]))
}
