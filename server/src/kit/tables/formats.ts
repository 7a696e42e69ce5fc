/** The forms in which a list can be had, and which of them a request asks for. Pure. */
import { invalid } from '../errors.ts'
import type { Parameter } from '../parameters.ts'
import { closest } from '../validate.ts'

/** Media types by the name that `format=` takes. */
export const TABLE_TYPES = {
  csv: 'text/csv',
  ndjson: 'application/x-ndjson',
  xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
} as const

export type TableFormat = keyof typeof TABLE_TYPES

const FORMATS = ['json', ...Object.keys(TABLE_TYPES)]

export const FORMAT: Parameter = {
  name: 'format',
  in: 'query',
  description:
    'csv, ndjson or xlsx sends every page as one file, and with limit only that page; the header Accept asks for the same.',
  schema: { type: 'string', enum: FORMATS, default: 'json' },
}

/**
 * The table that a request asks for, null for JSON. `format` outdoes `Accept`, in which the type of the highest weight
 * counts and of equals the first; types that a list does not have are passed over.
 * @throws 422 for a format there is none of.
 */
export function tableFormat(format: unknown, accept: string | undefined): TableFormat | null {
  if (format === undefined) return accepted(accept ?? '')
  if (format === 'json') return null
  if (typeof format === 'string' && Object.hasOwn(TABLE_TYPES, format)) return format as TableFormat
  const suggestion = closest(String(format), FORMATS)
  const message = `unknown value '${String(format)}'`
  const guess = suggestion ? { suggestion } : {}
  throw invalid([{ field: 'format', code: 'unknown_value', message, allowed: FORMATS, ...guess }])
}

function accepted(accept: string): TableFormat | null {
  let best: { format: TableFormat | null; weight: number } = { format: null, weight: 0 }
  for (const range of accept.toLowerCase().split(',')) {
    const [type = '', ...parameters] = range.split(';').map((part) => part.trim())
    const found = Object.entries(TABLE_TYPES).find(([, known]) => known === type)
    if (!found && !['application/json', 'application/*', '*/*'].includes(type)) continue
    const given = parameters.find((part) => part.startsWith('q='))?.slice(2)
    const weight = given === undefined ? 1 : Number(given) || 0
    if (weight > best.weight) best = { format: (found?.[0] ?? null) as TableFormat | null, weight }
  }
  return best.format
}
