/** The views of the console, as the database tells of them. */
import type { Row } from '../../kit/resource.ts'
import type { Db } from '../../db/db.ts'

export interface View extends Row {
  name: string
  description: string
  columns: { name: string; type: string; description: string }[]
}

const VIEWS = `
  select json_agg(json_build_object('name', c.relname, 'description', obj_description(c.oid), 'columns', (
    select json_agg(json_build_object('name', a.attname,
      'type', replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz'),
      'description', col_description(c.oid, a.attnum)) order by a.attnum)
    from pg_attribute a where a.attrelid = c.oid and a.attnum > 0)) order by c.oid)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'console' and c.relkind = 'v'`

/** Every view with its columns, in the order in which they were made. */
export async function readViews(db: Pick<Db, 'flyControl'>): Promise<View[]> {
  const [row] = await db.flyControl(VIEWS, [])
  return JSON.parse(String(row?.[0])) as View[]
}
