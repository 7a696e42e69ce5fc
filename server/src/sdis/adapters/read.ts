/** Documents of an organization, with the fields that it added itself. */
import type { Schemas as Fields } from '../../kit/extended.ts'
import { extFields } from '../../kit/extension-field.ts'
import type { Registry } from '../../kit/query.ts'
import type { Row } from '../../kit/resource.ts'
import type { OrgDb } from '../../kit/types.ts'
import { readAdapter } from '../adapter.ts'
import type { Adapter } from '../adapter.ts'
import type { Sent } from './types.ts'

/** What reading a document needs of a store. */
export interface Schemas {
  db: OrgDb
  registry: Registry
}

/** @throws 422 naming every failing part, as parts of the field `adapter`. */
export async function readFor(schemas: Fields, org_id: number, sent: Sent | Row): Promise<Adapter> {
  const source = typeof sent === 'string' ? sent : JSON.stringify(sent)
  return readAdapter(source, schemas.registry, await extFields(schemas, org_id))
}
