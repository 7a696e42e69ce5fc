/** The live catalog against the rules that keep organizations apart and the schema distributable. */
import type { Client } from 'pg'
import { afterAll, describe, expect, it } from 'vitest'
import {
  CONTROL_TABLES,
  CROSSING_INDEXES,
  DEFINER_FUNCTIONS,
  ORG_TABLES,
  REFERENCE_TABLES,
} from '../src/db/tables.ts'
import { columns } from '../src/kit/row.ts'
import { resources } from '../src/resources.ts'
import { grid, newOrganization, owner } from './grid.ts'
import { portfolio } from './samples.ts'

const client: Client = await owner()
afterAll(async () => await client.end())

/** First column of every row. */
async function column(sql: string, params: unknown[] = []): Promise<string[]> {
  const { rows } = await client.query<[string]>({ text: sql, values: params, rowMode: 'array' })
  return rows.map(([value]) => value)
}

const ours = `c.relnamespace = 'public'::regnamespace`
const orgTables: readonly string[] = ORG_TABLES

/** Partitions count as their parent. */
const family = `(select coalesce(p.relname, c.relname) from (select 1) one
  left join pg_inherits i on i.inhrelid = c.oid left join pg_class p on p.oid = i.inhparent)`

describe('every table', () => {
  it('is in the manifest, in one class', async () => {
    const listed = [...ORG_TABLES, ...REFERENCE_TABLES, ...Object.keys(CONTROL_TABLES)]
    expect(new Set(listed).size).toBe(listed.length)
    const found = await column(
      `select c.relname from pg_class c where ${ours} and c.relkind in ('r', 'p') and not c.relispartition`,
    )
    expect(found.toSorted()).toEqual(listed.toSorted())
  })

  it('has no trigger but those that refuse, no rule, no identity and no foreign key that could act by itself', async () => {
    const found = await column(
      `select 'trigger ' || t.tgname from pg_trigger t where not t.tgisinternal and t.tgfoid <> 'app.refuse_change'::regproc
       union all select 'rule ' || r.rulename from pg_rewrite r join pg_class c on c.oid = r.ev_class
         where ${ours} and r.rulename <> '_RETURN'
       union all select 'identity ' || a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
         where ${ours} and a.attidentity <> ''
       union all select 'foreign key ' || f.conname from pg_constraint f where f.contype = 'f' and f.confdeltype in ('n', 'd')`,
    )
    expect(found).toEqual([])
  })

  it('has names that fit everywhere, each used once', async () => {
    const names = await column(
      `select i.relname from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid where ${ours}
       union all select f.conname from pg_constraint f join pg_class c on c.oid = f.conrelid
         where ${ours} and not c.relispartition and f.contype not in ('p', 'u', 'x')`,
    )
    expect(names.filter((name) => name.length > 45)).toEqual([])
    expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([])
  })

  it('refers only to tables that live where it lives', async () => {
    const { rows } = await client.query<{ name: string; a: string; b: string; first: string }>(
      `select f.conname as name, c.relname as a, f.confrelid::regclass::text as b,
         (select a.attname from pg_attribute a where a.attrelid = f.conrelid and a.attnum = f.conkey[1]) as first
       from pg_constraint f join pg_class c on c.oid = f.conrelid where ${ours} and f.contype = 'f'`,
    )
    const isOrg = (table: string): boolean => orgTables.includes(table)
    expect(
      rows.filter(({ a, b, first }) => isOrg(a) !== isOrg(b) || (isOrg(a) && first !== 'org_id')),
    ).toEqual([])
  })
})

describe('a table of organizations', () => {
  it('has org_id as a bigint that is never null', async () => {
    const found = await column(
      `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
       where ${ours} and c.relname = any($1) and a.atttypid = 'bigint'::regtype and a.attnotnull`,
      [orgTables],
    )
    expect(found.toSorted()).toEqual([...orgTables].toSorted())
  })

  it('has org_id first in its primary key, in every unique key and in every index', async () => {
    const { rows } = await client.query<{
      name: string
      method: string
      keyed: boolean
      names: string[]
    }>(
      `select i.relname as name, m.amname as method, x.indisunique as keyed,
         (select array_agg(pg_get_indexdef(x.indexrelid, k, true) order by k) from generate_series(1, x.indnkeyatts) k) as names
       from pg_index x join pg_class i on i.oid = x.indexrelid join pg_class c on c.oid = x.indrelid
       join pg_am m on m.oid = i.relam where ${ours} and ${family} = any($1)`,
      [orgTables],
    )
    expect(rows.length).toBeGreaterThan(orgTables.length)
    const crossing = rows.filter(({ method, keyed, names }) =>
      method === 'gin' && !keyed ? !names.includes('org_id') : names[0] !== 'org_id',
    )
    expect(crossing.map(({ name }) => name).toSorted()).toEqual(
      Object.keys(CROSSING_INDEXES).toSorted(),
    )
    expect(crossing.filter(({ keyed }) => keyed)).toEqual([])
    const keyless = await column(
      `select c.relname from pg_class c where ${ours} and c.relname = any($1)
         and not exists (select from pg_constraint p where p.conrelid = c.oid and p.contype = 'p')`,
      [orgTables],
    )
    expect(keyless).toEqual([])
  })

  it('is partitioned by month on one level, if at all', async () => {
    const nested = await column(
      `select c.relname from pg_class c where ${ours} and c.relispartition and c.relkind = 'p'`,
    )
    expect(nested).toEqual([])
    const keys = await column(
      `select distinct pg_get_partkeydef(partrelid) from pg_partitioned_table`,
    )
    expect(keys).toEqual(['RANGE (at)'])
  })

  it('has row-level security forced, on its partitions too, by a policy on the organization', async () => {
    const open = await column(
      `select c.relname from pg_class c where ${ours} and c.relkind in ('r', 'p') and ${family} = any($1)
         and not (c.relrowsecurity and c.relforcerowsecurity)`,
      [orgTables],
    )
    expect(open).toEqual([])
    const { rows } = await client.query<{ name: string; uses: string; checks: string | null }>(
      `select tablename as name, qual as uses, with_check as checks from pg_policies
       where tablename = any($1) and roles = '{grid_app}'`,
      [orgTables],
    )
    expect(rows.map(({ name }) => name).toSorted()).toEqual([...orgTables].toSorted())
    const others = rows.filter(
      ({ uses, checks }) => uses !== '(org_id = app.org())' || checks !== null,
    )
    // An organization is seen by its parent as well, and changed by itself alone.
    expect(others).toEqual([
      {
        name: 'organization',
        uses: '((id = app.org()) OR (parent_organization_id = app.org()))',
        checks: '(id = app.org())',
      },
    ])
  })
})

describe('a control table', () => {
  it('that names an organization is guarded by row-level security', async () => {
    const open = await column(
      `select c.relname from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attname = 'org_id'
       where ${ours} and c.relname = any($1) and not (c.relrowsecurity and exists (
         select from pg_policies p where p.tablename = c.relname and p.roles = '{grid_app}' and p.qual = '(org_id = app.org())'))`,
      [Object.keys(CONTROL_TABLES)],
    )
    expect(open).toEqual([])
  })

  it('that names none is written by its owner alone', async () => {
    const written = await column(
      `select g.table_name from information_schema.role_table_grants g
       where g.grantee in ('grid_app', 'PUBLIC') and g.privilege_type <> 'SELECT' and g.table_name = any($1)
         and not exists (select from information_schema.columns k where k.table_name = g.table_name and k.column_name = 'org_id')`,
      [Object.keys(CONTROL_TABLES)],
    )
    expect(written).toEqual([])
  })
})

describe('a role', () => {
  it('of the service can neither log in as more, nor own, nor step around a policy', async () => {
    const { rows } = await client.query(
      `select rolname, rolsuper or rolbypassrls or rolcreaterole or rolcreatedb or rolreplication as strong, rolcanlogin as login
       from pg_roles where rolname in ('grid', 'grid_app', 'grid_console', 'grid_restricted', 'grid_sql', 'grid_system') order by rolname`,
    )
    expect(rows).toEqual([
      { rolname: 'grid', strong: false, login: true },
      { rolname: 'grid_app', strong: false, login: false },
      { rolname: 'grid_console', strong: false, login: false },
      { rolname: 'grid_restricted', strong: false, login: false },
      { rolname: 'grid_sql', strong: false, login: true },
      { rolname: 'grid_system', strong: false, login: false },
    ])
    const owned = await column(
      `select relname from pg_class where relowner in ('grid'::regrole, 'grid_app'::regrole, 'grid_restricted'::regrole, 'grid_system'::regrole, 'grid_console'::regrole, 'grid_sql'::regrole)
       union all select proname from pg_proc where proowner in ('grid'::regrole, 'grid_app'::regrole, 'grid_restricted'::regrole, 'grid_console'::regrole, 'grid_sql'::regrole)`,
    )
    expect(owned).toEqual([])
    const members = await column(
      `select roleid::regrole || ' ' || member::regrole || case when inherit_option then '' else ' when set' end from pg_auth_members
       where roleid in ('grid_app'::regrole, 'grid_restricted'::regrole, 'grid_system'::regrole, 'grid_console'::regrole)
         or member in ('grid'::regrole, 'grid_app'::regrole, 'grid_restricted'::regrole, 'grid_console'::regrole, 'grid_sql'::regrole) order by 1`,
    )
    expect(members).toEqual([
      'grid_app grid',
      'grid_console grid_sql',
      'grid_restricted grid when set',
    ])
  })

  it('of a key of some properties reaches only what has a policy of its own, within the organization', async () => {
    const reached = await column(
      `select distinct table_name from information_schema.role_table_grants where grantee = 'grid_restricted'`,
    )
    const { rows } = await client.query<{
      name: string
      uses: string | null
      checks: string | null
    }>(
      `select tablename as name, qual as uses, with_check as checks from pg_policies where roles = '{grid_restricted}'`,
    )
    expect([...new Set(rows.map(({ name }) => name))].toSorted()).toEqual(reached.toSorted())
    const open = rows.filter(({ uses, checks }) => !/= app\.org\(\)/.test(uses ?? checks ?? ''))
    expect(open).toEqual([])
  })

  it('of the service cannot rewrite history', async () => {
    const grants = await column(
      `select table_name || ' ' || privilege_type from information_schema.role_table_grants
       where grantee in ('grid_app', 'PUBLIC') and table_schema = 'public' and (privilege_type in ('TRUNCATE', 'TRIGGER', 'REFERENCES')
         or (table_name in ('assertion', 'event', 'audit_entry', 'audit_seal', 'audit_checkpoint', 'request_log') and privilege_type in ('UPDATE', 'DELETE')))`,
    )
    expect(grants).toEqual([])
  })
})

describe('code in the database', () => {
  it('runs with other rights only where listed, with a fixed search path', async () => {
    const { rows } = await client.query<{
      name: string
      owner: string
      path: string[] | null
      open: boolean
    }>(
      `select p.proname as name, p.proowner::regrole::text as owner, p.proconfig as path,
         has_function_privilege('public', p.oid, 'execute') as open
       from pg_proc p where p.prosecdef and p.pronamespace in ('app'::regnamespace, 'public'::regnamespace) order by 1`,
    )
    const owners = Object.fromEntries(rows.map(({ name, owner }) => [name, owner]))
    const expected = Object.entries(DEFINER_FUNCTIONS).map(([name, { owner: whose }]) => [
      name,
      whose === 'system' ? 'grid_system' : 'postgres',
    ])
    expect(owners).toEqual(Object.fromEntries(expected))
    expect(rows.filter(({ path }) => path?.join() !== 'search_path=public, pg_temp')).toEqual([])
    expect(rows.filter(({ open }) => open)).toEqual([])
  })

  it('shows views with the rights of who reads them', async () => {
    const views = await column(
      `select c.relname from pg_class c where ${ours} and c.relkind in ('v', 'm')
         and not coalesce(c.reloptions @> array['security_invoker=true'], false)`,
    )
    expect(views).toEqual([])
  })
})

describe('rows', () => {
  it('are not seen without an organization, and only one organization is seen at a time', async () => {
    const [first, second] = await Promise.all([newOrganization(), newOrganization()])
    await Promise.all([portfolio(first), portfolio(second)])
    const { db } = await grid()
    for (const table of orgTables) {
      const sql = `select count(*) filter (where org_id <> $1)::int as others, count(*)::int as seen from ${table}`
      const [none] = await db.control(async (tx) => await tx.query(sql, [first.org_id]))
      expect(none, table).toEqual({ others: 0, seen: 0 })
      const [own] = await db.query<{ others: number }>(first.org_id, sql, [first.org_id])
      expect(own?.others, table).toBe(0)
    }
    const seen = await db.query(first.org_id, 'select id from lease', [])
    expect(seen.length).toBe(1)
  })

  it('cannot be written for another organization', async () => {
    const [first, second] = await Promise.all([newOrganization(), newOrganization()])
    const { db } = await grid()
    const insert = `insert into external_key (org_id, object_type, system, external_id, object_id) values ($1, 'party', 's', 'x', 1)`
    await expect(db.query(first.org_id, insert, [second.org_id])).rejects.toThrow(
      /row-level security/,
    )
    const move = 'update party set org_id = $1'
    await portfolio(first)
    await expect(db.query(first.org_id, move, [second.org_id])).rejects.toThrow(
      /row-level security/,
    )
  })
})

describe('the table of a resource', () => {
  const base: Record<string, string> = {
    org_id: 'bigint',
    id: 'bigint',
    version: 'integer',
    created_at: 'timestamptz',
    updated_at: 'timestamptz',
    archived_at: 'timestamptz',
    deleted_at: 'timestamptz',
    contested: 'boolean',
    search: 'text',
    body: 'text',
    ext: 'jsonb',
  }

  it.each(resources.map((resource) => [resource.name, resource] as const))(
    '%s has the columns that its fields declare',
    async (name, resource) => {
      const { rows } = await client.query<{ name: string; type: string }>(
        `select a.attname as name, replace(format_type(a.atttypid, a.atttypmod), 'timestamp with time zone', 'timestamptz') as type
         from pg_attribute a where a.attrelid = $1::regclass and a.attnum > 0 and not a.attisdropped`,
        [name],
      )
      const declared = columns(resource).map((column) => [column.name, column.type])
      const found = rows.map((row) => [row.name, row.type])
      expect(Object.fromEntries(found)).toEqual({ ...base, ...Object.fromEntries(declared) })
    },
  )
})
