/**
 * The login of the SQL console: a session of its own, so that no statement in it can become what the service is. Its name
 * and password follow from those of the service's role; whoever can use that one can use this.
 */
import { createHmac } from 'node:crypto'
import { Client, DatabaseError, escapeIdentifier, escapeLiteral } from 'pg'
import type { ClientConfig } from 'pg'

/** Statements that run at the same time, over all processes. */
const CONNECTIONS_MAX = 16

/** What a session starts with, whatever it is asked: no statement of the console can change it. */
const SETTINGS: Readonly<Record<string, string>> = {
  default_transaction_read_only: 'on',
  search_path: 'console',
  statement_timeout: '5s',
  transaction_timeout: '20s',
  idle_in_transaction_session_timeout: '10s',
  lock_timeout: '1s',
  work_mem: '16MB',
  max_parallel_workers_per_gather: '0',
  jit: 'off',
  temp_file_limit: '256MB',
}

/** PostgreSQL keeps some settings for superusers, and says so with this code. */
const NOT_ALLOWED = '42501'

interface Login {
  name: string
  password: string | null
}

/** The console's login beside that of the service. */
function consoleLogin({ name, password }: Login): Login {
  const secret = password === null ? null : createHmac('sha256', password).update('sql console')
  return { name: `${name}_sql`, password: secret?.digest('base64url') ?? null }
}

/** Creates the login or brings it up to date. One that is as it should be is left alone: other databases share it. */
export async function createConsoleRole(client: Client, appRole: Login): Promise<void> {
  const login = consoleLogin(appRole)
  const name = escapeIdentifier(login.name)
  await client.query(
    `do $$ begin create role ${name} login; exception when duplicate_object or unique_violation then null; end $$`,
  )
  if (login.password)
    await allowed(client, `alter role ${name} password ${escapeLiteral(login.password)}`)
  const present = await settingsOf(client, login.name)
  if (!present.has('grid_console')) await allowed(client, `grant grid_console to ${name}`)
  if (!present.has(`connections=${CONNECTIONS_MAX}`))
    await allowed(client, `alter role ${name} connection limit ${CONNECTIONS_MAX}`)
  for (const [setting, value] of Object.entries(SETTINGS))
    if (!present.has(`${setting}=${value}`))
      await allowed(client, `alter role ${name} set ${setting} = ${escapeLiteral(value)}`)
}

/** What the role has: settings as `name=value`, and the roles whose rights it has. */
async function settingsOf(client: Client, name: string): Promise<Set<string>> {
  const { rows } = await client.query<{ has: string }>(
    `select 'connections=' || rolconnlimit as has from pg_roles where rolname = $1
     union all select unnest(rolconfig) from pg_roles where rolname = $1
     union all select roleid::regrole::text from pg_auth_members where member = (select oid from pg_roles where rolname = $1)`,
    [name],
  )
  return new Set(rows.map(({ has }) => has))
}

/** An owner that may not change the role leaves it as it was made, by whoever made it. */
async function allowed(client: Client, sql: string): Promise<void> {
  try {
    await client.query(sql)
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code !== NOT_ALLOWED) throw error
  }
}

/** How the console connects, as the service does but for who it is. */
export function consoleConfig(config: ClientConfig): ClientConfig {
  const options = '-c TimeZone=UTC -c DateStyle=ISO'
  if (config.connectionString === undefined)
    return {
      ...config,
      user: consoleLogin({ name: String(config.user), password: null }).name,
      options,
    }
  const url = new URL(config.connectionString)
  const { name, password } = consoleLogin({
    name: decodeURIComponent(url.username),
    password: decodeURIComponent(url.password) || null,
  })
  url.username = encodeURIComponent(name)
  url.password = encodeURIComponent(password ?? '')
  return { connectionString: url.href, options }
}
