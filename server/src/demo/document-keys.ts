/** Which documents a lease has: lease bodies refer to them, and the documents refer back. */
import type { LeasePlan } from './model.ts'
import { isRunning } from './model.ts'

/** Papers of leases that ended have gone to the archive. */
export function hasDocuments(lease: LeasePlan): boolean {
  return isRunning(lease) || lease.status === 'executed'
}

export function documentKey(lease: LeasePlan, part: string): string {
  return `doc:${lease.key.slice('le:'.length)}/${part}`
}

/** The key of a signed amendment; what changes no figure is a letter that nobody filed. */
export function amendmentKey(lease: LeasePlan, index: number): string | null {
  const amendment = lease.amendments[index]
  if (!amendment || amendment.kind === 'other' || !hasDocuments(lease)) return null
  return documentKey(lease, `amendment-${index + 1}`)
}
