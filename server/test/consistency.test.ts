import { describe, expect, it } from 'vitest'
import type { Field, Fields } from '../src/kit/field.ts'
import { writableFields } from '../src/kit/resource.ts'
import type { Resource, Row } from '../src/kit/resource.ts'
import { placeTransactions } from '../src/events/sequencer.ts'
import { resources } from '../src/resources.ts'
import { checkOrganization } from './consistency.ts'
import { grid, newClient, newOrganization, owner } from './grid.ts'
import type { Answer, TestClient } from './grid.ts'
import { leaseParents, portfolio, sampleOf, samples } from './samples.ts'
import type { Ids } from './samples.ts'

const common = resources.filter(({ name }) => name !== 'organization' && name !== 'document')

const pick = <T>(list: readonly T[]): T => list[Math.floor(Math.random() * list.length)] as T
const chance = (probability: number): boolean => Math.random() < probability

/** Some value of a field; most are valid, and the rules over several fields refuse some. */
function someValue(field: Field, ids: Ids): unknown {
  const { schema, items, target } = field
  const { minimum = 0, maximum = 1000 } = schema as { minimum?: number; maximum?: number }
  const [example] = schema['examples'] as unknown[]
  const day = `20${10 + Math.floor(Math.random() * 30)}-0${pick([1, 2, 9])}-${pick([10, 28])}`
  const number = minimum + Math.random() * Math.min(maximum - minimum, 1000)
  if (target) return field.kind === 'reference' ? ids[target] : chance(0.8) ? [ids[target]] : []
  if (field.kind === 'list')
    return items ? Array.from({ length: pick([0, 1, 2]) }, () => someItem(items, ids)) : []
  const values: Partial<Record<Field['kind'], () => unknown>> = {
    choice: () => pick(schema['enum'] as string[]),
    money: () => pick(['12.5', 1250, '-0.10', 99.99]),
    date: () => day,
    datetime: () => `${day}T10:00:00.5${pick(['Z', '+02:00'])}`,
    boolean: () => chance(0.5),
    integer: () => Math.round(number),
    number: () => Math.round(number * 100) / 100,
    percent: () => Math.round(number * 100) / 100,
    text: () => (schema['pattern'] ? example : pick(['A', 'ü 🏢', '"\\', 'x y'])),
    texts: () => pick([[], example]),
    object: () => (items ? someItem(items, ids) : { nested: { z: 1, a: [null, 'x'] } }),
  }
  return values[field.kind]?.()
}

function someItem(fields: Fields, ids: Ids): Row {
  const kept = Object.entries(fields).filter(([, field]) => field.required || chance(0.4))
  return Object.fromEntries(kept.map(([name, field]) => [name, someValue(field, ids)]))
}

function somePatch(resource: Resource, ids: Ids): Row {
  const fields = Object.entries(writableFields(resource))
  const chosen = Array.from({ length: pick([1, 1, 2, 4]) }, () => pick(fields))
  return Object.fromEntries(
    chosen.map(([name, field]) => [
      name,
      name === 'external_ids'
        ? [{ system: 's', id: pick(['1', '2', '3']) }].slice(0, pick([0, 1]))
        : !field.required && chance(0.15)
          ? null
          : someValue(field, ids),
    ]),
  )
}

/** One write of a client on the organization's objects. */
async function someWrite(
  client: TestClient,
  ids: Ids,
  made: Map<string, string[]>,
): Promise<Answer> {
  const resource = pick(common)
  const own = made.get(resource.name) as string[]
  const id = own.length > 0 ? pick(own) : null
  if (id === null || chance(0.2)) {
    const body = { ...sampleOf(resource, ids), ...(chance(0.5) ? somePatch(resource, ids) : {}) }
    const headers: Record<string, string> = {}
    if (chance(0.5)) headers['idempotency-key'] = pick(['k1', 'k2', 'k3'])
    const answer = await client.post(`/${resource.path}`, body, headers)
    if (answer.status === 201) own.push(answer.body.id)
    return answer
  }
  const path = `/${resource.path}/${id}`
  if (chance(0.92)) return await client.patch(path, somePatch(resource, ids))
  // Deleted objects are met again now and then.
  if (chance(0.9)) own.splice(own.indexOf(id), 1)
  return await client.delete(path)
}

describe('an organization', () => {
  it(
    'is consistent after random writes of several clients at once',
    { timeout: 60_000 },
    async () => {
      const first = await newOrganization()
      const ids = await portfolio(first)
      const clients = [first, await newClient(first.org_id), await newClient(first.org_id)]
      const made = new Map(common.map(({ name }) => [name, [] as string[]]))
      const statuses: number[] = []
      const { db } = await grid()
      await Promise.all(
        [...clients, ...clients].map(async (client) => {
          for (let i = 0; i < 100; i++) {
            const answer = await someWrite(client, ids, made)
            statuses.push(answer.status)
            expect([200, 201, 204, 404, 409, 422], JSON.stringify(answer.body)).toContain(
              answer.status,
            )
            if (i % 20 === 0) await placeTransactions(db)
          }
        }),
      )
      expect(statuses.filter((status) => status < 300).length).toBeGreaterThan(250)
      expect(await checkOrganization(first.org_id)).toEqual([])
      while ((await placeTransactions(db)) > 0);
      expect(await checkOrganization(first.org_id)).toEqual([])
    },
  )

  it('tells the same of a moment whenever it is asked, even at that moment', async () => {
    const client = await newOrganization()
    const ids = await portfolio(client)
    const path = `/parties/${ids['party']}`
    const done = new AbortController()
    const writers = Array.from({ length: 4 }, async (_, n) => {
      for (let i = 0; !done.signal.aborted; i++) await client.patch(path, { dba_name: `${n}-${i}` })
    })
    const told: { at: string; row: Row }[] = []
    for (let i = 0; i < 8; i++) {
      const at = new Date().toISOString()
      const { status, body } = await client.get(`${path}?known_at=${at}`)
      expect(status).toBe(200)
      told.push({ at, row: body })
    }
    done.abort()
    await Promise.all(writers)
    for (const { at, row } of told) {
      expect((await client.get(`${path}?known_at=${at}`)).body).toEqual(row)
      expect((row['updated_at'] as string) <= at).toBe(true)
    }
    const names = told.map(({ row }) => row['dba_name'])
    expect(new Set(names).size).toBeGreaterThan(1)
  })

  it.each([
    ['a column', `update party set legal_name = 'x' where org_id = $1`, /legal_name/],
    ['a body', `update party set body = replace(body, 'Acme', 'Acne') where org_id = $1`, /Acne/],
    ['a claim', `delete from assertion where org_id = $1 and object_id = $2`, /claims say/],
    ['an event', `delete from event where org_id = $1 and object_id = $2`, /version 1 has events/],
    [
      'an audit entry',
      `delete from audit_entry where org_id = $1 and object_id = $2`,
      /audit entries/,
    ],
    ['a transaction', `delete from tx where org_id = $1`, /no such transaction/],
    ['a key', `delete from external_key where org_id = $1`, /is not kept/],
    ['a row', `delete from party where org_id = $1 and id = $2`, /no such object/],
  ])('whose tables were changed behind the door, by %s, is told apart', async (_, sql, fault) => {
    const client = await newOrganization()
    const body = { kind: 'company', legal_name: 'Acme', external_ids: [{ system: 's', id: '1' }] }
    const { id } = (await client.post('/parties', body)).body
    expect(await checkOrganization(client.org_id)).toEqual([])
    const direct = await owner()
    // The audit log refuses changes; whoever owns the database can get around that.
    await direct.query('set session_replication_role = replica')
    await direct.query(sql, sql.includes('$2') ? [client.org_id, id.slice(4)] : [client.org_id])
    await direct.end()
    expect((await checkOrganization(client.org_id)).join('\n')).toMatch(fault)
  })

  it.each([
    ['is missing', `delete from event where org_id = $1 and operation is null`, /told is /],
    [
      'tells of another version',
      `update event set version = 9 where org_id = $1 and operation is null`,
      /different words/,
    ],
    [
      'tells what did not happen',
      `update event set type = 'lease.expired' where org_id = $1 and type = 'lease.executed'`,
      /told is lease.status_changed,lease.expired/,
    ],
  ])('tells what a change also means: an event that %s is told apart', async (_, sql, fault) => {
    const client = await newOrganization()
    const { property_id, tenant_party_id } = await leaseParents(client)
    const { body } = await client.post('/leases', samples.lease(property_id, tenant_party_id))
    for (const status of ['in_review', 'out_for_signature', 'executed'])
      expect((await client.patch(`/leases/${body.id}`, { status })).status).toBe(200)
    expect(await checkOrganization(client.org_id)).toEqual([])
    const direct = await owner()
    await direct.query(sql, [client.org_id])
    await direct.end()
    expect((await checkOrganization(client.org_id)).join('\n')).toMatch(fault)
  })
})
