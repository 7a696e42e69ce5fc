/** Documents of an organization, with the fields that it added itself. */
import type { Registry } from '../../kit/query.ts'
import type { Row } from '../../kit/resource.ts'
import type { OrgDb } from '../../kit/types.ts'
import { readAdapter } from '../adapter.ts'
import type { Adapter, ExtFields } from '../adapter.ts'
import type { Sent } from './types.ts'

/** What reading a document needs of a store. */
export interface Schemas {
  db: OrgDb
  registry: Registry
}

/** The fields that an organization added, by type; entries fill them as `ext.<field>`. */
export function extOf(_schemas: Schemas, _org_id: number): Promise<ExtFields> {
  return Promise.resolve(new Map())
}

/** @throws 422 naming every failing part, as parts of the field `adapter`. */
export async function readFor(
  schemas: Schemas,
  org_id: number,
  sent: Sent | Row,
): Promise<Adapter> {
  const source = typeof sent === 'string' ? sent : JSON.stringify(sent)
  return readAdapter(source, schemas.registry, await extOf(schemas, org_id))
}
