/** Many objects in few statements, through the write door like everything else. */
import { newRow } from '../src/kit/apply.ts'
import { readWritten, writeStatement } from '../src/kit/door.ts'
import type { Change } from '../src/kit/door.ts'
import type { Resource, Row } from '../src/kit/resource.ts'
import { changedFacts, changedFields } from '../src/kit/row.ts'
import { API_SOURCE, emptied } from '../src/kit/write.ts'
import { SYSTEM } from '../src/organizations/service.ts'
import { grid } from './grid.ts'

/** Objects per statement. */
const CHUNK = 500

/** Creates an object for each body, which must be valid. @returns their ids, in the order of the bodies. */
export async function insertMany(
  org_id: number,
  resource: Resource,
  bodies: readonly Row[],
): Promise<string[]> {
  const { db } = await grid()
  const made: string[] = []
  for (let start = 0; start < bodies.length; start += CHUNK) {
    const chunk = bodies.slice(start, start + CHUNK)
    const ids = await db.ids(chunk.length)
    const at = new Date()
    const changes = chunk.map((body, i) => createOf(org_id, resource, ids[i] as number, at, body))
    const context = { org_id, actor: SYSTEM, source_id: API_SOURCE, at, bulk: true }
    const [rows] = await db.fly(org_id, [writeStatement(resource, changes, context)])
    if (readWritten(rows ?? []).count !== chunk.length) throw new Error('not all were written')
    made.push(...changes.map(({ after }) => after['id'] as string))
  }
  return made
}

function createOf(org_id: number, resource: Resource, id: number, at: Date, body: Row): Change {
  const defaults = { currency: 'USD', area_unit: 'sqft', time_zone: 'America/New_York' }
  const after = newRow(resource, { org_id, actor: SYSTEM, defaults }, id, at, body)
  const attrs = changedFacts(resource, after, null)
  return {
    id,
    operation: 'created',
    expected: 0,
    after,
    previous: {},
    changed: changedFields(after, emptied(after)),
    claims: [{ valid_from: at.getTime(), valid_to: null, attrs, retracts: null }],
    contested: false,
    external: { add: [], remove: [] },
  }
}
