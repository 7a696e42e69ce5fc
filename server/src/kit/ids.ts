import { notFound, invalid } from './errors.ts'

/** Public form of an id: `le_1042`. */
export function publicId(prefix: string, id: number | string): string {
  return `${prefix}_${id}`
}

/** The digits of a public id of the given type, or null when the text is something else. */
export function idDigits(prefix: string, text: string): number | null {
  if (!text.startsWith(prefix) || text[prefix.length] !== '_') return null
  const digits = text.slice(prefix.length + 1)
  if (!/^[0-9]{1,16}$/.test(digits)) return null
  const id = Number(digits)
  return Number.isSafeInteger(id) ? id : null
}

/**
 * The id in a path. A malformed one is 422 `invalid_id`; a well-formed one of another type is told apart in the text.
 */
export function pathId(prefix: string, text: string): number {
  const id = idDigits(prefix, text)
  if (id !== null) return id
  if (/^[a-z]+_[0-9]{1,16}$/.test(text)) throw notFound(`${text} is not an id of this type; it`)
  throw invalid([
    { field: 'id', code: 'invalid_id', message: `must look like ${prefix}_1042, got '${text}'` },
  ])
}
