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
