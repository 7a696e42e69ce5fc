/** Fields of the organization's own on their way through the write door. */
import type { Change } from './door.ts'
import { claimName, isExtensionKey, shownClaim } from './extension.ts'
import type { Resource, Row } from './resource.ts'
import { valueOf } from './row.ts'

/** Does it change a field of the organization's own? */
export function touchesExtensions({ changed }: Change): boolean {
  return changed.some(isExtensionKey)
}

/** Names of the changed fields as events and the audit log tell them. */
export function toldNames({ extensions }: Resource, { changed }: Change): string[] {
  return changed.map((name) => claimName(extensions, name))
}

/** Old values of the changed fields, in the same way. */
export function toldPrevious({ extensions }: Resource, { previous }: Change): Row {
  return Object.fromEntries(
    Object.entries(previous).map(([name, value]) => [
      claimName(extensions, name),
      isExtensionKey(name) ? shownClaim(extensions, name, { value })['value'] : value,
    ]),
  )
}

/** Member of an audit entry's details that holds new values of the organization's own fields, by name. */
export const TOLD_EXTENSIONS = 'ext_after'

/** New values of the changed fields of the organization's own, for the audit log; null when there are none. */
export function toldValues({ extensions }: Resource, { after, changed }: Change): Row | null {
  const own = changed.filter(isExtensionKey)
  if (own.length === 0) return null
  const values = own.map((key) => [
    claimName(extensions, key),
    shownClaim(extensions, key, { value: valueOf(after, key) })['value'],
  ])
  return { [TOLD_EXTENSIONS]: Object.fromEntries(values) as Row }
}

/** Stored values of the organization's own fields as the row's column holds them. */
export function extColumn({ after }: Change): Row | null {
  const values = (after['ext'] ?? {}) as Row
  return Object.keys(values).length > 0 ? values : null
}
