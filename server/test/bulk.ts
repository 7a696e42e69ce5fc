/** Many objects at once, for tests of long lists. */
import { createMany } from '../src/kit/bulk.ts'
import { publicId } from '../src/kit/ids.ts'
import type { Resource, Row } from '../src/kit/resource.ts'
import { bareStore, SYSTEM } from '../src/organizations/service.ts'
import { grid } from './grid.ts'

/** Creates an object for each body. @returns their ids, in the order of the bodies. */
export async function insertMany(
  org_id: number,
  resource: Resource,
  bodies: readonly Row[],
): Promise<string[]> {
  const { db } = await grid()
  const defaults = { currency: 'USD', area_unit: 'sqft', time_zone: 'America/New_York' }
  const request = { org_id, actor: SYSTEM, defaults }
  const objects = bodies.map((input) => ({ input }))
  const ids = await createMany(bareStore(db), resource, request, objects)
  return ids.map((id) => publicId(resource.prefix, id))
}
