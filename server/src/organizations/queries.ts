import type { OrgDb } from '../kit/types.ts'

/** Whether an organization has child organizations; only its own context sees them. */
export async function hasChildren(db: OrgDb, org_id: number): Promise<boolean> {
  const [rows] = await db.fly(org_id, [
    {
      sql: 'select id from organization where parent_organization_id = $1::bigint and deleted_at is null limit 1',
      params: [org_id],
    },
  ])
  return (rows?.length ?? 0) > 0
}
