/** JSON Schema validation whose failures name every field, say what would be right, and guess what was meant. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ErrorObject, ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { instant, isDate } from './dates.ts'
import type { Issue } from './errors.ts'
import type { JsonSchema } from './field.ts'

const options = {
  allErrors: true,
  strict: false,
  validateFormats: true,
  verbose: true,
  // All schemas stand in the OpenAPI document, which is checked as a whole before it is committed.
  validateSchema: false,
} as const
const bodies = withFormats(new Ajv2020(options))
/** Path and query values are text: numbers and booleans are read out of it. */
const queries = withFormats(new Ajv2020({ ...options, coerceTypes: true, useDefaults: true }))

/** Dates and times are only what can be stored; ajv-formats also lets through year 0 and leap seconds. */
function withFormats(ajv: Ajv2020): Ajv2020 {
  addFormats.default(ajv)
  ajv.addFormat('date', isDate)
  // `multipleOf: 0.01` would ask binary numbers for what only decimal ones can be.
  ajv.addKeyword({
    keyword: 'x-decimals',
    type: 'number',
    validate: (most: number, value: number) => Number(value.toFixed(most)) === value,
  })
  ajv.addFormat('date-time', (text: string) => instant(text) !== null)
  return ajv
}

const compiled = new WeakMap<object, ValidateFunction>()

/** Validates against a schema, compiled on first use. @returns every failing field; empty when valid. */
export function validate(
  schema: JsonSchema,
  value: unknown,
  part: 'body' | 'query' = 'body',
): Issue[] {
  let check = compiled.get(schema)
  if (!check) {
    check = (part === 'body' ? bodies : queries).compile(schema)
    compiled.set(schema, check)
  }
  const unusable = part === 'body' ? unusableText(value, '', 0) : []
  return check(value) ? unusable : [...unusable, ...issuesOf(check.errors ?? [])]
}

/** No field nests as deep; free-form settings may not either. */
const DEPTH_MAX = 32

/** Text that PostgreSQL cannot hold (NUL, half of a surrogate pair), wherever it stands, and nesting beyond all use. */
function unusableText(value: unknown, field: string, depth: number): Issue[] {
  if (typeof value === 'string') {
    if (value.isWellFormed() && !value.includes('\0')) return []
    const message = 'must be Unicode text without NUL characters'
    return [{ field, code: 'invalid_character', message }]
  }
  if (typeof value !== 'object' || value === null) return []
  if (depth === DEPTH_MAX)
    return [{ field, code: 'too_deep', message: `may nest at most ${DEPTH_MAX} levels` }]
  return Object.entries(value).flatMap(([key, inner]) => {
    const at = Array.isArray(value) ? `${field}[${key}]` : field ? `${field}.${key}` : key
    const name = Array.isArray(value) ? [] : unusableText(key, field, depth)
    return [...name, ...unusableText(inner, at, depth + 1)]
  })
}

/** Schema errors as issues, one per field. */
export function issuesOf(errors: readonly ErrorObject[]): Issue[] {
  const byField = new Map<string, Issue>()
  for (const error of errors) {
    const issue = issueOf(error)
    if (!byField.has(issue.field)) byField.set(issue.field, issue)
  }
  return [...byField.values()]
}

function issueOf(error: ErrorObject): Issue {
  const at = dotted(error.instancePath)
  const params = error.params as Record<string, unknown>
  const child = (name: unknown): string => (at ? `${at}.${String(name)}` : String(name))
  switch (error.keyword) {
    case 'additionalProperties':
      return unknownField(error, child(params['additionalProperty']))
    case 'required':
      return { field: child(params['missingProperty']), code: 'required', message: 'is required' }
    case 'enum': {
      const allowed = (params['allowedValues'] as unknown[]).filter((v) => v !== null).map(String)
      const suggestion = closest(String(error.data), allowed)
      const message = `unknown value '${String(error.data)}'`
      return {
        field: at,
        code: 'invalid_enum',
        message,
        allowed,
        ...(suggestion ? { suggestion } : {}),
      }
    }
    case 'type':
      return {
        field: at,
        code: 'invalid_type',
        message: `must be ${[params['type']].flat().join(' or ')}`,
      }
    case 'format':
      return {
        field: at,
        code: 'invalid_format',
        message: `must be a ${String(params['format'])}, got '${String(error.data)}'`,
      }
    case 'pattern':
      return {
        field: at,
        code: 'invalid_format',
        message: `must match ${String(params['pattern'])}, got '${String(error.data)}'`,
      }
    case 'x-decimals':
      return {
        field: at,
        code: 'too_many_decimals',
        message: `must have at most ${String(error.schema)} decimals, got ${String(error.data)}`,
      }
    case 'minimum':
    case 'maximum':
      return { field: at, code: 'out_of_range', message: error.message ?? 'is out of range' }
    default:
      return {
        field: at,
        code: error.keyword.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
        message: error.message ?? 'is invalid',
      }
  }
}

function unknownField({ params, parentSchema }: ErrorObject, field: string): Issue {
  const name = String((params as Record<string, unknown>)['additionalProperty'])
  const known = Object.keys((parentSchema?.['properties'] as object | undefined) ?? {})
  if ((parentSchema?.['x-read-only'] as string[] | undefined)?.includes(name)) {
    return { field, code: 'read_only', message: 'is set by the service and cannot be written' }
  }
  const suggestion = closest(name, known)
  const message = `unknown field '${name}'`
  return { field, code: 'unknown_field', message, ...(suggestion ? { suggestion } : {}) }
}

function dotted(pointer: string): string {
  return pointer
    .split('/')
    .slice(1)
    .map((part) =>
      /^\d+$/.test(part) ? `[${part}]` : `.${part.replaceAll('~1', '/').replaceAll('~0', '~')}`,
    )
    .join('')
    .replace(/^\./, '')
}

/** The known word nearest to a mistyped one, when it is near enough to be meant. */
export function closest(word: string, known: readonly string[]): string | undefined {
  const plain = word.toLowerCase().replaceAll(/[^a-z0-9]/g, '')
  let best: string | undefined
  let bestDistance = Math.max(2, Math.floor(plain.length / 3)) + 1
  for (const candidate of known) {
    const distance = editDistance(plain, candidate.replaceAll(/[^a-z0-9]/g, ''))
    if (distance < bestDistance) {
      best = candidate
      bestDistance = distance
    }
  }
  return best
}

function editDistance(a: string, b: string): number {
  let previous = Array.from({ length: b.length + 1 }, (_, i) => i)
  for (let i = 1; i <= a.length; i++) {
    const row = [i]
    for (let j = 1; j <= b.length; j++) {
      const swap = (previous[j - 1] as number) + (a[i - 1] === b[j - 1] ? 0 : 1)
      row.push(Math.min((row[j - 1] as number) + 1, (previous[j] as number) + 1, swap))
    }
    previous = row
  }
  return previous[b.length] as number
}
