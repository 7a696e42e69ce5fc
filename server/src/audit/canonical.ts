/** Canonical JSON (RFC 8785): the one text a value has, so that a hash over it means the same everywhere. */

/**
 * Keys in the order of their UTF-16 code units, no white space, numbers and strings as ECMAScript writes them.
 * @throws on what JSON cannot hold: a number that is not finite, half a surrogate pair, a function.
 */
export function canonical(value: unknown): string {
  switch (typeof value) {
    case 'string':
      if (!value.isWellFormed()) throw new Error('a string holds half a surrogate pair')
      return JSON.stringify(value)
    case 'number':
      if (!Number.isFinite(value)) throw new Error(`${value} is no number in JSON`)
      return JSON.stringify(value)
    case 'boolean':
      return value ? 'true' : 'false'
    case 'object':
      if (value === null) return 'null'
      return Array.isArray(value)
        ? `[${value.map(canonical).join(',')}]`
        : members(value as Readonly<Record<string, unknown>>)
    case 'undefined':
    case 'bigint':
    case 'symbol':
    case 'function':
    default:
      throw new Error(`JSON has no ${typeof value}`)
  }
}

/** Keys that are written as they are. */
const PLAIN = /^\w+$/

/** Members that are undefined are left out, as JSON does. */
function members(value: Readonly<Record<string, unknown>>): string {
  let text = ''
  for (const key of Object.keys(value).sort()) {
    if (value[key] === undefined) continue
    const name = PLAIN.test(key) ? `"${key}"` : canonical(key)
    text += `${text === '' ? '' : ','}${name}:${canonical(value[key])}`
  }
  return `{${text}}`
}
