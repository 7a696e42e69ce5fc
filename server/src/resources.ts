import { building } from './buildings/resource.ts'
import { document } from './documents/resource.ts'
import { floor } from './floors/resource.ts'
import type { Resource } from './kit/resource.ts'
import { lease } from './leases/resource.ts'
import { organization } from './organizations/resource.ts'
import { contact, party } from './parties/resource.ts'
import { property } from './properties/resource.ts'
import { space } from './spaces/resource.ts'
import { workOrder } from './work-orders/resource.ts'

/** Every resource of the product: what comes first does not refer to what comes later, but for a few links. */
export const resources: readonly Resource[] = [
  organization,
  party,
  contact,
  property,
  building,
  floor,
  space,
  lease,
  document,
  workOrder,
]

/** The same by name. */
export const registry: ReadonlyMap<string, Resource> = new Map(resources.map((r) => [r.name, r]))
