/** Plain SQL migrations, forward only, applied in order under a lock by the owner of the tables. */
import { createHash, randomBytes } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { Client, escapeIdentifier, escapeLiteral } from 'pg'
import type { ClientConfig } from 'pg'
import { createConsoleRole } from './console-role.ts'

const FOLDER = new URL('../../migrations/', import.meta.url)

/** One migration at a time over all processes. */
const LOCK = 'select pg_advisory_lock(7016, 0)'

export interface Migration {
  name: string
  sql: string
  sha256: string
}

export async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(FOLDER)).filter((name) => name.endsWith('.sql')).sort()
  return await Promise.all(
    names.map(async (name) => {
      const sql = await readFile(new URL(name, FOLDER), 'utf8')
      return { name, sql, sha256: createHash('sha256').update(sql).digest('hex') }
    }),
  )
}

/**
 * Brings the database up to this code and lets the app role in.
 * @param appRole login role of the running service; created with `password` when it does not exist.
 * @returns the names of the migrations applied.
 * @throws when the server is older than 18, or the schema newer than the code.
 */
export async function migrate(
  owner: ClientConfig,
  appRole: { name: string; password: string | null },
): Promise<string[]> {
  const client = new Client(owner)
  await client.connect()
  try {
    await client.query(LOCK)
    await requireVersion(client)
    await client.query(
      `create table if not exists schema_migration (
        name text not null, sha256 text not null, applied_at timestamptz not null default now(),
        constraint schema_migration_pkey primary key (name))`,
    )
    await createRoles(client, appRole)
    return await apply(client)
  } finally {
    await client.end()
  }
}

async function apply(client: Client): Promise<string[]> {
  const migrations = await readMigrations()
  const applied = await appliedMigrations(client)
  refuseNewer(migrations, applied)
  const done: string[] = []
  for (const { name, sql, sha256 } of migrations) {
    const before = applied.get(name)
    if (before === sha256) continue
    if (before)
      throw new Error(
        `migration ${name} was changed after it had been applied; add a new one instead`,
      )
    await client.query('begin')
    try {
      await client.query(sql)
      await client.query('insert into schema_migration (name, sha256) values ($1, $2)', [
        name,
        sha256,
      ])
      await client.query('commit')
    } catch (error) {
      await client.query('rollback')
      throw new Error(`migration ${name} failed: ${(error as Error).message}`, { cause: error })
    }
    done.push(name)
  }
  await client.query('grant select on schema_migration to grid_app')
  await client.query(
    `insert into app_secret (name, value) values ('cursor', $1) on conflict (name) do nothing`,
    [randomBytes(32)],
  )
  await client.query('select app.ensure_partitions(current_date)')
  return done
}

async function appliedMigrations(client: Client): Promise<Map<string, string>> {
  const { rows } = await client.query<{ name: string; sha256: string }>(
    'select name, sha256 from schema_migration',
  )
  return new Map(rows.map((row) => [row.name, row.sha256]))
}

function refuseNewer(migrations: readonly Migration[], applied: ReadonlyMap<string, string>): void {
  const unknown = [...applied.keys()].filter((name) => !migrations.some((m) => m.name === name))
  if (unknown.length > 0) {
    throw new Error(
      `the database schema is newer than this code (it has ${unknown.join(', ')}); run the version that wrote it or a later one`,
    )
  }
}

async function requireVersion(client: Client): Promise<void> {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num')
  const version = Math.floor(Number(rows[0]?.server_version_num) / 10_000)
  if (version < 18)
    throw new Error(`PostgreSQL 18 or later is needed; this server is version ${version}`)
}

/**
 * grid_app holds the rights of the service, grid_system owns the few functions that cross organizations, and
 * grid_restricted is what the service becomes for a key of some properties. grid_console reads the views of the SQL console.
 */
async function createRoles(
  client: Client,
  appRole: { name: string; password: string | null },
): Promise<void> {
  for (const name of ['grid_app', 'grid_system', 'grid_restricted', 'grid_console']) {
    await client.query(
      `do $$ begin create role ${name} nologin; exception when duplicate_object or unique_violation then null; end $$`,
    )
  }
  const { rowCount } = await client.query('select from pg_roles where rolname = $1', [appRole.name])
  const name = escapeIdentifier(appRole.name)
  if (rowCount === 0) {
    const password = appRole.password ? `password ${escapeLiteral(appRole.password)}` : ''
    await client.query(`create role ${name} login ${password}`)
  }
  await client.query(`grant grid_app to ${name}`)
  await client.query(`grant grid_restricted to ${name} with inherit false, set true`)
  await createConsoleRole(client, appRole)
}

/**
 * The running service must not be able to step around row-level security, and must find the schema it was written for.
 * @throws a sentence saying what is wrong and what to do.
 */
export async function checkDatabase(app: ClientConfig): Promise<void> {
  const client = new Client(app)
  await client.connect()
  try {
    await requireVersion(client)
    const { rows } = await client.query<{
      bypass: boolean
      super: boolean
      owned: string | null
      name: string
    }>(
      `select r.rolname as name, r.rolbypassrls as bypass, r.rolsuper as super,
        (select string_agg(c.relname, ', ') from (select relname from pg_class c where c.relowner = r.oid and c.relkind in ('r', 'p') limit 5) c) as owned
       from pg_roles r where r.rolname = current_user`,
    )
    const role = rows[0]
    if (!role) throw new Error('the database role of the service could not be read')
    const advice = 'use a plain login role for DATABASE_URL and the owner for DATABASE_OWNER_URL'
    if (role.super)
      throw new Error(
        `role ${role.name} is a superuser and would see every organization; ${advice}`,
      )
    if (role.bypass)
      throw new Error(`role ${role.name} has BYPASSRLS and would see every organization; ${advice}`)
    if (role.owned) throw new Error(`role ${role.name} owns tables (${role.owned}); ${advice}`)
    const applied = await appliedMigrations(client).catch((error: Error) => {
      throw new Error(`the database is not migrated (${error.message}); run: grid migrate`, {
        cause: error,
      })
    })
    const migrations = await readMigrations()
    refuseNewer(migrations, applied)
    const missing = migrations.filter(({ name }) => !applied.has(name))
    if (missing.length > 0)
      throw new Error(`migrations are missing (${missing[0]?.name}, ...); run: grid migrate`)
  } finally {
    await client.end()
  }
}
