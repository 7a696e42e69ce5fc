/** Creates and changes through the whole request path, beside the door's own statement in the database alone. */
import { writeStatement } from '../server/src/kit/door.ts'
import type { Change } from '../server/src/kit/door.ts'
import type { Statement } from '../server/src/db/pipeline.ts'
import type { Row } from '../server/src/kit/resource.ts'
import type { Actor } from '../server/src/kit/types.ts'
import { lease } from '../server/src/leases/resource.ts'
import type { Script } from './clients.ts'
import { rounds } from './rounds.ts'
import type { RequestResult } from './rounds.ts'
import { leaseChange, leaseInput, owner, ownerClient } from './seed.ts'
import type { Server } from './server.ts'

/** An id that stands for the new one in the recorded statement, and a version that stands for the present one. */
const PLACE = 777_777_777_777_777
const EXPECTED = 555_555_555

const KEY_ACTOR: Actor = { type: 'api_key', id: 'key_1', name: 'First key', request_id: 'req_1' }

/** POST with an idempotency key: row, claims, event, audit entry, references and stored answer in one transaction. */
export async function benchCreate(
  server: Server,
  org_id: number,
  property_id: string,
  tenant_id: string,
): Promise<RequestResult> {
  const input = { ...leaseInput(1, property_id, tenant_id), status: 'draft' }
  const change = leaseChange(input, org_id, PLACE)
  const { sql, params } = writeStatement(lease, [change], {
    org_id,
    actor: KEY_ACTOR,
    source_id: 1,
    at: new Date(),
    references: [
      { target: 'property', id: digits(property_id) },
      { target: 'party', id: digits(tenant_id) },
    ],
    idempotency: {
      key: `key-${PLACE}`,
      route: 'POST /leases',
      fingerprint: 'f'.repeat(64),
      status: 201,
      headers: { etag: '"v1"' },
      body: JSON.stringify(change.after),
    },
  })
  await saveParams(server, params)
  const flight: Script = {
    variables: { id: [10 ** 12, 9 * 10 ** 14] },
    statements: ['begin', `select app.set_org(${org_id})`, recorded(sql, params), 'commit'],
  }
  const plan = { paths: ['/api/v1/leases'], body: JSON.stringify(input), idempotent: true }
  return await rounds(server, 'create a lease', { method: 'POST', ...plan }, flight, null)
}

/** PATCH one field of random leases: a read and a write, as the product does them. */
export async function benchPatch(
  server: Server,
  org_id: number,
  ids: readonly number[],
): Promise<RequestResult> {
  const some = ids.slice(0, 5_000)
  const headers = { 'x-api-key': server.key }
  const answer = await fetch(`${server.base}/leases/le_${some[0]}`, { headers })
  const before = (await answer.json()) as Row
  const change: Change = {
    id: PLACE,
    operation: 'updated',
    expected: EXPECTED,
    after: { ...before, id: `le_${PLACE}`, permitted_use: 'Use 1' },
    previous: { permitted_use: before['permitted_use'] },
    changed: ['permitted_use'],
    claims: [
      { valid_from: Date.now(), valid_to: null, attrs: { permitted_use: 'Use 1' }, retracts: null },
    ],
    contested: false,
    external: { add: [], remove: [] },
  }
  const context = { org_id, actor: KEY_ACTOR, source_id: 1, at: new Date() }
  const { sql, params } = writeStatement(lease, [change], context)
  await saveParams(server, params)
  const where = `where t.org_id = ${org_id}::bigint and t.id = :id::bigint`
  const present = `(select t.version::text from lease t ${where})`
  const write = recorded(sql, params, (text) => `replace(${text}, '${EXPECTED}', ${present})`)
  const read = `select t.version, t.contested, t.deleted_at is not null, t.body from lease t ${where}`
  const set = `select app.set_org(${org_id})`
  const flight: Script = {
    variables: { id: [some[0] as number, some.at(-1) as number] },
    statements: ['begin', set, read, 'commit', 'begin', set, write, 'commit'],
  }
  const paths = some.map((id) => `/api/v1/leases/le_${id}`)
  const plan = { paths, body: '{"permitted_use":"Use $SERIAL"}', idempotent: false }
  return await rounds(server, 'patch a lease', { method: 'PATCH', ...plan }, flight, null)
}

function digits(id: string): number {
  return Number(id.slice(id.indexOf('_') + 1))
}

/** Recorded parameters lie in a table, because pgbench takes a colon in a literal for a variable. */
async function saveParams(server: Server, params: Statement['params']): Promise<void> {
  await owner(server, [
    'drop table if exists bench_param',
    'create table bench_param (n integer primary key, v text)',
    'grant select on bench_param to grid_app',
  ])
  const client = await ownerClient(server)
  for (const [i, value] of params.entries()) {
    const text = value === null ? null : String(value)
    await client.query('insert into bench_param values ($1, $2)', [i + 1, text])
  }
  await client.query('analyze bench_param')
  await client.end()
}

/** The statement with its recorded parameters, the id in them replaced by pgbench's. */
function recorded(
  sql: string,
  params: Statement['params'],
  edit: (text: string) => string = (text) => text,
): string {
  return sql.replaceAll(/\$(\d+)/g, (_, n: string) => {
    const value = params[Number(n) - 1]
    if (typeof value === 'number' || value === null) return String(value)
    const text = edit(`replace(v, '${PLACE}', :id::text)`)
    return `(select ${text} from bench_param where n = ${n})`
  })
}
