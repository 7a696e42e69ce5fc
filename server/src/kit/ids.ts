import { notFound, invalid } from './errors.ts'

/** Public form of an id: `le_1042`. */
export function publicId(prefix: string, id: number | string): string {
  return `${prefix}_${id}`
}

/** The digits of a public id of the given type, or null when the text is something else. Each id has one form only. */
export function idDigits(prefix: string, text: string): number | null {
  if (!text.startsWith(prefix) || text[prefix.length] !== '_') return null
  const digits = text.slice(prefix.length + 1)
  if (!/^(0|[1-9][0-9]{0,15})$/.test(digits)) return null
  const id = Number(digits)
  return Number.isSafeInteger(id) ? id : null
}

/** The id in a path. A malformed one is 422 `invalid_id`; one that no object can have is 404 like any other absent one. */
export function pathId(prefix: string, text: string): number {
  const id = idDigits(prefix, text)
  if (id !== null) return id
  if (/^[a-z]+_[0-9]+$/.test(text))
    throw notFound(text.startsWith(`${prefix}_`) ? text : `${text} is not an id of this type; it`)
  throw invalid([
    { field: 'id', code: 'invalid_id', message: `must look like ${prefix}_1042, got '${text}'` },
  ])
}
