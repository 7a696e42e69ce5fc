/** SQL of documents that the generic store does not know. */
import type { Statement } from '../db/pipeline.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import type { Registry } from '../kit/query.ts'
import type { Resource } from '../kit/resource.ts'
import type { OrgDb } from '../kit/types.ts'
import type { FileKey } from './files.ts'

export interface Link {
  object_type: string
  object_id: string
}

/**
 * Which of the linked objects do not exist in the organization, by their place in the list. One statement per type, all
 * in one round trip. Ids of another type than the link says are left to the resource's own check.
 */
export async function missingLinks(
  db: Pick<OrgDb, 'fly'>,
  registry: Registry,
  org_id: number,
  links: readonly Link[],
): Promise<number[]> {
  const named = links.flatMap((link, at) => {
    const resource = registry.get(link.object_type)
    const id = resource && idDigits(resource.prefix, link.object_id)
    return resource && typeof id === 'number' ? [{ at, resource, id }] : []
  })
  const groups = [...Map.groupBy(named, ({ resource }) => resource)]
  if (groups.length === 0) return []
  const results = await db.fly(
    org_id,
    groups.map(([resource, wanted]) =>
      existing(
        resource,
        org_id,
        wanted.map(({ id }) => id),
      ),
    ),
  )
  return groups.flatMap(([, wanted], i) => {
    const found = new Set((results[i] ?? []).map(([id]) => Number(String(id))))
    return wanted.filter(({ id }) => !found.has(id)).map(({ at }) => at)
  })
}

/** An organization may link to itself and to its children. */
function existing(resource: Resource, org_id: number, ids: readonly number[]): Statement {
  const own =
    resource.name === 'organization'
      ? '(t.id = $1::bigint or t.parent_organization_id = $1::bigint)'
      : 't.org_id = $1::bigint'
  return {
    sql: `select t.id from ${resource.name} t where ${own} and t.id = any($2::bigint[]) and t.deleted_at is null`,
    params: [org_id, `{${ids.join(',')}}`],
  }
}

/** Does a document, deleted or not, have this version? */
export async function versionExists(
  db: Pick<OrgDb, 'fly'>,
  { org_id, document_id, version_id }: FileKey,
): Promise<boolean> {
  const [rows] = await db.fly(org_id, [
    {
      sql: `select from document where org_id = $1::bigint and id = $2::bigint and body::jsonb -> 'versions' @> $3::jsonb`,
      params: [org_id, document_id, JSON.stringify([{ id: publicId('ver', version_id) }])],
    },
  ])
  return (rows?.length ?? 0) > 0
}
