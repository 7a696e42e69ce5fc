/** Entity tags and the conditions that name them (RFC 9110, 8.8.3 and 13.1). */
import { ApiError, invalid } from './errors.ts'

/**
 * @param schema_version of an organization with fields of its own: what an object looks like then changes with its schema,
 *   though the object does not.
 */
export function etagOf(version: number, schema_version = 0): string {
  return schema_version === 0 ? `"v${version}"` : `"v${version}-s${schema_version}"`
}

/** Does If-None-Match name the entity tag? `*` names any; a weak tag is as good here. */
export function names(header: string | string[] | undefined, etag: string): boolean {
  if (header === undefined) return false
  const tags = String(header)
    .split(',')
    .map((tag) => tag.trim().replace(/^W\//, ''))
  return tags.includes(etag) || tags.includes('*')
}

/** Stands for a tag that no version has. */
const NO_VERSION = 0

/**
 * The version that If-Match asks for: null when the header is absent or `*`, one that nothing has for a tag of something
 * else.
 * @throws 412 for a weak tag, which says no more than that the object was alike; 422 for what is not one tag.
 */
export function versionIn(header: string | undefined): number | null {
  if (header === undefined || header.trim() === '*') return null
  const match = /^(W\/)?"(?:v([0-9]{1,9})(?:-s[0-9]{1,9})?|[^"]*)"$/.exec(header.trim())
  if (!match) {
    const message = 'must be one ETag such as "v3"'
    throw invalid([{ field: 'If-Match', code: 'invalid_format', message }])
  }
  const [, weak, digits] = match
  if (weak)
    throw new ApiError('version_conflict', 'A weak ETag never matches; send "v3", not W/"v3".')
  return digits === undefined ? NO_VERSION : Number(digits)
}
