/** Adapters that are taken from one organization to another: their newest tested document, with what showed that it works. */
import { flightsIn } from '../../db/db.ts'
import { rowsIn } from '../../kit/once.ts'
import type { Registry } from '../../kit/query.ts'
import type { Row } from '../../kit/resource.ts'
import type { OrgRows, Tx } from '../../kit/types.ts'
import { markTested } from './promotion.ts'
import { findAdapter, findVersion, newestDocuments } from './queries.ts'
import { addVersion, changeable, createAdapter, readDocument } from './service.ts'
import type { By } from './service.ts'
import type { KeptVersion } from './types.ts'

export interface AdapterCopy {
  name: string
  document: Row
  require_second_person: boolean
  hash: string
  /** What showed that the document works; null while nothing did. */
  tested: Row | null
}

/** Every adapter of an organization, by name. */
export async function copiesOf(db: OrgRows, org_id: number): Promise<AdapterCopy[]> {
  return (await newestDocuments(db, org_id)).map(({ document, state, tested, ...rest }) => {
    const { version: _, ...own } = document
    const proven = state === 'tested' || state === 'live'
    return { ...rest, document: own, tested: proven ? (tested ?? {}) : null }
  })
}

/**
 * Keeps a copy as a version of the adapter of its name, which is made when there is none: tested, if it means here what it
 * meant there. Making it live is left to who may.
 * @param id for an adapter that is made.
 * @throws 422 naming what the document lacks here, such as fields of the organization's own.
 */
export async function keepCopy(
  tx: Tx,
  registry: Registry,
  by: By,
  id: number,
  { name, document, require_second_person, hash, tested }: AdapterCopy,
): Promise<void> {
  const { org_id, actor } = by
  // Fields that the same transaction adds count.
  const schemas = { db: flightsIn(tx), registry }
  const read = await readDocument(schemas, org_id, document)
  const there = await findAdapter(rowsIn(tx), org_id, { name })
  const adapter_id = there?.id ?? id
  const version = there
    ? await addVersion(tx, by, there.id, read)
    : await firstVersion(tx, by, id, read, require_second_person)
  if (!tested || read.hash !== hash) return
  await markTested(tx, actor, await changeable(tx, org_id, adapter_id), version, tested)
}

async function firstVersion(
  tx: Tx,
  by: By,
  id: number,
  read: Parameters<typeof createAdapter>[3],
  second: boolean,
): Promise<KeptVersion> {
  await createAdapter(tx, by, id, read, second)
  return (await findVersion(rowsIn(tx), by.org_id, id, 1)) as KeptVersion
}
