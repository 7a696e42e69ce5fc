/** Making, changing, trying and forgetting connections; each with its audit entry and event in the same transaction. */
import { ApiError, invalid, notFound } from '../../kit/errors.ts'
import type { Issue } from '../../kit/errors.ts'
import { publicId } from '../../kit/ids.ts'
import { rowsIn } from '../../kit/once.ts'
import { record } from '../../kit/record.ts'
import type { Row } from '../../kit/resource.ts'
import type { Actor, OrgRows, Tx } from '../../kit/types.ts'
import { versionConflict } from '../../kit/write.ts'
import { sealedBy } from '../../secrets.ts'
import type { Secrets } from '../../secrets.ts'
import {
  countConnections,
  deleteConnection,
  findConnection,
  findNamed,
  lockConnection,
  saveConnection,
  sealedOtherwise,
  secretContext,
} from './connection-queries.ts'
import type { Auth, Connection, PostgresSettings, RestSettings } from './types.ts'

/** Connections an organization may have. */
const CONNECTIONS_MAX = 100

/** What clients send; one of `rest` and `postgres`. */
export interface ConnectionBody {
  name?: string
  rest?: { base_url: string; headers?: Record<string, string>; auth?: Auth }
  postgres?: { host: string; port?: number; database: string; user: string; tls?: 'verify' | 'off' }
  secret?: string | null
}

/** The connection as clients see it: all but its secret. */
export function connectionView(connection: Connection): Row {
  const { id, org_id, name, kind, settings, secret, version, created_at, updated_at } = connection
  return {
    id: publicId('cnx', id),
    object: 'connection',
    organization_id: publicId('org', org_id),
    name,
    kind,
    rest: kind === 'rest' ? settings : null,
    postgres: kind === 'postgres' ? settings : null,
    has_secret: secret !== null,
    version,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}

export async function getConnection(db: OrgRows, org_id: number, id: number): Promise<Connection> {
  const connection = await findConnection(db, org_id, id)
  if (!connection) throw notFound(`Connection ${publicId('cnx', id)}`)
  return connection
}

/** Who asks, and for which connection. */
export interface Request {
  org_id: number
  actor: Actor
  id: number
}

/** @throws 422 naming every failing field, 409 when the organization has too many. */
export async function createConnection(
  tx: Tx,
  secrets: Secrets,
  { org_id, actor, id }: Request,
  body: ConnectionBody,
): Promise<Connection> {
  if ((await countConnections(tx, org_id)) >= CONNECTIONS_MAX)
    throw new ApiError('conflict', `An organization may have ${CONNECTIONS_MAX} connections.`)
  const issues: Issue[] = []
  if (!body.name) issues.push({ field: 'name', code: 'required', message: 'is required' })
  if (!body.rest === !body.postgres) {
    const message = 'send either rest or postgres'
    issues.push({ field: body.rest ? 'postgres' : 'rest', code: 'invalid', message })
  }
  if (issues.length > 0) throw invalid(issues)
  const at = new Date()
  const settings = body.rest
    ? { kind: 'rest' as const, settings: restSettings(body.rest) }
    : { kind: 'postgres' as const, settings: postgresSettings(body.postgres) }
  const secret = body.secret ? secrets.seal(body.secret, secretContext(org_id, id)) : null
  const connection: Connection = {
    org_id,
    id,
    name: body.name ?? '',
    ...settings,
    secret,
    version: 1,
    created_at: at,
    updated_at: at,
  }
  await write(tx, connection)
  await tell(tx, actor, 'connection.created', connection)
  return connection
}

/**
 * Changes what the body names; settings are replaced as a whole. A new address takes a new secret: else a secret could be
 * sent to whoever changes where it goes.
 */
export async function changeConnection(
  tx: Tx,
  secrets: Secrets,
  { org_id, actor, id }: Request,
  body: ConnectionBody,
  if_match: number | null,
): Promise<Connection> {
  const before = await lockConnection(tx, org_id, id)
  if (!before) throw notFound(`Connection ${publicId('cnx', id)}`)
  if (if_match !== null && if_match !== before.version) throw versionConflict(before.version)
  const other = before.kind === 'rest' ? body.postgres : body.rest
  if (other) {
    const field = before.kind === 'rest' ? 'postgres' : 'rest'
    throw invalid([{ field, code: 'read_only', message: `is a connection to ${before.kind}` }])
  }
  const settings =
    before.kind === 'rest'
      ? { kind: before.kind, settings: body.rest ? restSettings(body.rest) : before.settings }
      : {
          kind: before.kind,
          settings: body.postgres ? postgresSettings(body.postgres) : before.settings,
        }
  if (
    before.secret !== null &&
    body.secret === undefined &&
    placeOf(before) !== placeOf(settings)
  ) {
    const message = 'must be sent again when the source is at another address'
    throw invalid([{ field: 'secret', code: 'required', message }])
  }
  const sealed = body.secret ? secrets.seal(body.secret, secretContext(org_id, id)) : null
  const after: Connection = {
    ...before,
    ...settings,
    name: body.name ?? before.name,
    secret: body.secret === undefined ? before.secret : sealed,
    version: before.version + 1,
    updated_at: new Date(),
  }
  await write(tx, after)
  await tell(tx, actor, 'connection.updated', after)
  return after
}

export async function removeConnection(tx: Tx, { org_id, actor, id }: Request): Promise<void> {
  const connection = await lockConnection(tx, org_id, id)
  if (!connection) throw notFound(`Connection ${publicId('cnx', id)}`)
  await deleteConnection(tx, org_id, id)
  await tell(tx, actor, 'connection.deleted', connection)
}

async function write(tx: Tx, connection: Connection): Promise<void> {
  const named = await findNamed(rowsIn(tx), connection.org_id, connection.name)
  if (named && named.id !== connection.id) {
    const message = `is the name of ${publicId('cnx', named.id)} already`
    throw invalid([{ field: 'name', code: 'duplicate', message }])
  }
  await saveConnection(tx, connection)
}

async function tell(tx: Tx, actor: Actor, type: string, connection: Connection): Promise<void> {
  await record(tx, connection.org_id, actor, [
    {
      type,
      object_type: 'connection',
      object_id: connection.id,
      object: null,
      version: connection.version,
      details: { name: connection.name, kind: connection.kind },
    },
  ])
}

/** Where a secret goes. */
function placeOf({ kind, settings }: Pick<Connection, 'kind' | 'settings'>): string {
  if (kind === 'postgres') {
    const { host, port, tls } = settings as PostgresSettings
    return `${host}:${port} ${tls}`
  }
  const { base_url, auth } = settings as RestSettings
  return `${new URL(base_url).origin} ${auth.kind === 'oauth2' ? auth.token_url : ''}`
}

function restSettings(given: NonNullable<ConnectionBody['rest']>): RestSettings {
  const auth = given.auth ?? { kind: 'none' }
  const addresses = {
    base_url: given.base_url,
    ...(auth.kind === 'oauth2' ? { 'auth.token_url': auth.token_url } : {}),
  }
  const issues = Object.entries(addresses).flatMap(([field, text]) =>
    addressIssue(`rest.${field}`, text),
  )
  if (issues.length > 0) throw invalid(issues)
  return { base_url: given.base_url, headers: given.headers ?? {}, auth }
}

function addressIssue(field: string, text: string): Issue[] {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && /^https?:$/.test(url.protocol) && !url.username && !url.password && !url.hash)
    return []
  const message = 'must be an http or https address without a user name, password or #'
  return [{ field, code: 'invalid_format', message }]
}

function postgresSettings(given: ConnectionBody['postgres']): PostgresSettings {
  const { host = '', port = 5432, database = '', user = '', tls = 'verify' } = given ?? {}
  return { host, port, database, user, tls }
}

/** Seals every secret with the newest master key. @returns how many connections had another. */
export async function rewrapConnections(
  db: OrgRows & Parameters<typeof sealedOtherwise>[0],
  secrets: Secrets,
): Promise<number> {
  const found = await sealedOtherwise(db, secrets.keyId)
  for (const { org_id, id } of found)
    await db.transaction(org_id, async (tx) => {
      const connection = await lockConnection(tx, org_id, id)
      if (!connection?.secret || sealedBy(connection.secret) === secrets.keyId) return
      const secret = secrets.rewrap(connection.secret, secretContext(org_id, id))
      await saveConnection(tx, { ...connection, secret })
    })
  return found.length
}

/** @throws a sentence on what to do when a secret was sealed with a master key that is not at hand. */
export async function requireConnectionKeys(
  db: Parameters<typeof sealedOtherwise>[0],
  secrets: Secrets,
): Promise<void> {
  const found = await sealedOtherwise(db, secrets.keyId)
  secrets.requireKeys([...new Set(found.map(({ sealed_by }) => sealed_by))])
}

/** @throws 422 when the adapter names a connection that the organization does not have, or one of another kind. */
export async function requireConnection(
  tx: Tx,
  org_id: number,
  named: string,
  kind: 'rest' | 'postgres',
): Promise<void> {
  const connection = await findNamed(rowsIn(tx), org_id, named)
  if (connection?.kind === kind) return
  const message = connection
    ? `is a connection to ${connection.kind}, not to ${kind}`
    : `no connection is called ${named}`
  throw invalid([
    { field: 'adapter.source.connection', code: connection ? 'invalid' : 'not_found', message },
  ])
}
