/** The audit log as its readers meet it. */
import { createHash } from 'node:crypto'
import { Ajv2020 } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import { parse as parseCsv } from 'csv-parse/sync'
import { beforeAll, describe, expect, test } from 'vitest'
import { sealAll } from '../../test/audit.ts'
import { grid, newClient, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { record } from '../kit/record.ts'
import { placeTransactions } from '../events/sequencer.ts'
import { canonical } from './canonical.ts'
import { isSigned } from './chain.ts'
import { auditKey } from './key.ts'
import { sealAudit } from './sealer.ts'

let client: TestClient
let party: string
let created: Answer
let patched: Answer

beforeAll(async () => {
  client = await newOrganization()
  created = await client.post('/parties', samples.party())
  party = created.body.id
  patched = await client.patch(`/parties/${party}`, { legal_name: 'Acme Legal Limited' })
  await client.post('/parties', { kind: 'company', legal_name: '=1+1, "Formula"' })
  await client.delete(`/parties/${party}`)
  await sealAll(client)
})

async function actions(query: string): Promise<string[]> {
  const { status, body } = await client.get(`/audit-logs?${query}`)
  expect(status).toBe(200)
  return body.data.map((entry: { action: string }) => entry.action)
}

describe('the audit log', () => {
  test('tells who changed what, before and after, newest first', async () => {
    expect(await actions('')).toEqual([
      'party.deleted',
      'party.created',
      'party.updated',
      'party.created',
      'api_key.created',
      'organization.created',
    ])
    const { body } = await client.get('/audit-logs?action=party.updated')
    expect(body.data[0]).toMatchObject({
      object: 'audit_entry',
      organization_id: client.organization_id,
      position: 4,
      object_type: 'party',
      object_id: party,
      object_version: 2,
      actor: { type: 'api_key', name: 'Test key' },
      request_id: patched.headers.get('x-request-id'),
      changed: ['legal_name'],
      before: { legal_name: 'Acme Legal LLP' },
      after: { legal_name: 'Acme Legal Limited' },
      details: null,
      hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    const one = await client.get(`/audit-logs/${body.data[0].id}`)
    expect(one.body).toEqual(body.data[0])
  })

  test('shows a new object as it was created', async () => {
    const { body } = await client.get(
      `/audit-logs?request_id=${created.headers.get('x-request-id')}`,
    )
    expect(body.data).toMatchObject([
      { before: {}, after: { kind: 'company', legal_name: 'Acme Legal LLP' } },
    ])
  })

  test.each([
    ['action=party.*', 4],
    ['action=party.created,party.deleted', 3],
    ['action=*', 6],
    ['action=part_.created', 0],
    ['action=lease.*', 0],
    ['request_id=req_none', 0],
    ['actor=system', 0],
    ['since=2000-01-01T00:00:00Z', 6],
    ['until=2000-01-01T00:00:00Z', 0],
    ['since=2999-01-01T00:00:00Z', 0],
  ])('%s finds %i', async (query, count) => {
    expect((await actions(query)).length).toBe(count)
  })

  test('is found by object and by key', async () => {
    expect(await actions(`object_id=${party}`)).toHaveLength(3)
    const { body } = await client.get('/audit-logs?action=party.updated')
    expect(await actions(`actor=${body.data[0].actor.id}`)).toHaveLength(4)
  })

  test('is paged without loss', async () => {
    const seen: number[] = []
    for (let path: string | null = '/audit-logs?limit=2'; path;) {
      const { body }: Answer = await client.get(path)
      seen.push(...body.data.map(({ position }: { position: number }) => position))
      path = body.has_more ? `/audit-logs?limit=2&cursor=${body.next_cursor}` : null
    }
    expect(seen).toEqual([6, 5, 4, 3, 2, 1])
  })

  test.each([
    ['/audit-logs?since=yesterday', 422, 'since'],
    ['/audit-logs?object_id=lease', 422, 'object_id'],
    ['/audit-logs?limit=201', 422, 'limit'],
    ['/audit-logs/export?until=soon', 422, 'until'],
    ['/audit-logs/export?format=xml', 422, 'format'],
    ['/audit-logs/verify?from=3&to=2', 422, 'to'],
    ['/audit-logs/verify?from=0', 422, 'from'],
  ])('%s is refused with %i', async (path, status, field) => {
    expect(await client.get(path)).toMatchObject({ status, body: { errors: [{ field }] } })
  })

  test('is nobody else’s, and needs its scope', async () => {
    const { body } = await client.get('/audit-logs?limit=1')
    const stranger = await newOrganization()
    expect((await stranger.get(`/audit-logs/${body.data[0].id}`)).status).toBe(404)
    expect((await client.get('/audit-logs/aud_1')).status).toBe(404)
    const without = await newClient(client.org_id, ['read:leases'])
    for (const path of ['', '/verify', '/checkpoints', '/actions', '/export', '/aud_1'])
      expect((await without.get(`/audit-logs${path}`)).status).toBe(403)
  })

  test('follows the order in which transactions were placed', async () => {
    const db = await owner()
    const { rows } = await db.query(
      `select s.position::int as position, row_number() over (order by t.first_seq, t.tx_id, s.n)::int as expected
       from audit_seal s join tx t using (org_id, tx_id) where org_id = $1 order by 1`,
      [client.org_id],
    )
    await db.end()
    expect(rows.map(({ position }) => position)).toEqual(rows.map(({ expected }) => expected))
  })

  test('hashes each entry with the one before', async () => {
    const { body } = await client.get('/audit-logs')
    let previous = Buffer.alloc(32)
    for (const { hash, ...entry } of body.data.toReversed()) {
      previous = createHash('sha256').update(previous).update(canonical(entry)).digest()
      expect(previous.toString('hex')).toBe(hash)
    }
  })

  test('tells what was only audited, in one order with what has events', async () => {
    const other = await newOrganization()
    const { db } = await grid()
    const actor = { type: 'system', id: null, name: 'Test', request_id: null } as const
    const base = { object_type: 'api_key', object_id: 7 }
    await db.transaction(other.org_id, async (tx) => {
      await record(tx, other.org_id, actor, [
        { ...base, type: 'key.seen', object: null, details: { address: '::1' } },
        { ...base, type: 'key.made', object: { name: 'New' }, changed: ['name'] },
      ])
    })
    await sealAll(other)
    const { body } = await other.get('/audit-logs?action=key.*')
    expect(body.data).toMatchObject([
      { action: 'key.seen', object_id: 'key_7', details: { address: '::1' }, after: {} },
      { action: 'key.made', after: { name: 'New' }, object_version: null },
    ])
    expect((await other.get('/audit-logs/verify')).body).toMatchObject({ ok: true, entries: 4 })
  })

  test('has a catalogue of its actions with their schemas', async () => {
    const { body } = await client.get('/audit-logs/actions')
    const names = body.data.map(({ action }: { action: string }) => action)
    expect(names).toContain('lease.updated')
    expect(names).toContain('audit.exported')
    expect(new Set(names).size).toBe(names.length)
    const update = body.data.find(({ action }: { action: string }) => action === 'lease.updated')
    expect(update.schema.$defs.values.properties.expiration_date).toMatchObject({ format: 'date' })
    const ajv = new Ajv2020({ strict: false })
    addFormats.default(ajv)
    for (const entry of (await client.get('/audit-logs')).body.data) {
      const { schema } = body.data.find(({ action }: { action: string }) => action === entry.action)
      expect(ajv.validate(schema, entry), `${entry.action} ${ajv.errorsText()}`).toBe(true)
    }
  })

  test('cannot be changed by the service, nor by its owner without breaking the guard', async () => {
    const { db } = await grid()
    for (const table of ['audit_entry', 'audit_seal', 'audit_checkpoint']) {
      const sql = `delete from ${table} where org_id = $1`
      await expect(db.query(client.org_id, sql, [client.org_id])).rejects.toThrow(/permission/)
    }
    const direct = await owner()
    for (const sql of [
      'delete from audit_entry where org_id = $1',
      `update audit_entry set action = 'x' where org_id = $1`,
      'delete from audit_seal where org_id = $1',
      `update audit_seal set action = 'x' where org_id = $1`,
    ])
      await expect(direct.query(sql, [client.org_id])).rejects.toThrow(/never changed/)
    await direct.end()
  })
})

describe('an export', () => {
  test('starts with a signed head, holds every entry and ends with checkpoints', async () => {
    const answer = await client.get('/audit-logs/export')
    expect(answer.headers.get('content-disposition')).toMatch(/attachment; filename="audit-org_/)
    const lines = (answer.body as string).trimEnd().split('\n')
    const [head, ...rest] = lines.map((line) => JSON.parse(line))
    expect(head).toMatchObject({ object: 'audit_export', first_position: 1, last_position: 6 })
    expect(isSigned(head)).toBe(true)
    expect(rest.map(({ position }) => position)).toEqual([1, 2, 3, 4, 5, 6])
    expect(rest.at(-1).hash).toBe(head.last_hash)
  })

  test('is itself an entry of the log', async () => {
    const other = await newOrganization()
    const answer = await other.get('/audit-logs/export?format=csv')
    await sealAll(other)
    const { body } = await other.get('/audit-logs?action=audit.exported')
    expect(body.data).toMatchObject([
      {
        object_id: other.organization_id,
        request_id: answer.headers.get('x-request-id'),
        details: { format: 'csv', since: null, until: null },
      },
    ])
  })

  test('as CSV can be read back, and holds no formulas', async () => {
    const answer = await client.get('/audit-logs/export?format=csv')
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const rows = parseCsv(answer.body, { columns: true }) as Record<string, string>[]
    expect(rows.map(({ object }) => object)).toEqual([
      ...Array.from({ length: 6 }, () => 'audit_entry'),
      'audit_export',
    ])
    const { body } = await client.get('/audit-logs?limit=1&action=party.updated')
    const row = rows.find(({ id }) => id === body.data[0].id)
    expect(JSON.parse(row?.['after'] ?? '')).toEqual(body.data[0].after)
    expect(row?.['hash']).toBe(body.data[0].hash)
    for (const cells of rows.map((one) => Object.values(one)))
      expect(cells.filter((cell) => /^[=+@]/.test(cell))).toEqual([])
  })

  test.each(['since=2999-01-01T00:00:00Z', 'until=2000-01-01T00:00:00Z'])(
    'of a time without entries says so (%s)',
    async (query) => {
      const { body } = await client.get(`/audit-logs/export?${query}`)
      expect(JSON.parse(body)).toMatchObject({ first_position: null, last_position: null })
    },
  )
})

describe('sealing', () => {
  test('is done once when two processes are at it', async () => {
    const other = await newOrganization()
    const { app, db } = await grid()
    const key = await auditKey(app.config)
    await Promise.all(
      Array.from({ length: 20 }, async () => await other.post('/parties', samples.party())),
    )
    const open = 'select count(*)::int as open from tx where org_id = $1 and first_seq is null'
    const isOpen = async (): Promise<boolean> =>
      (await db.query<{ open: number }>(other.org_id, open, [other.org_id]))[0]?.open !== 0
    while (await isOpen()) await placeTransactions(db)
    const sealed = await Promise.all(
      Array.from({ length: 4 }, async () => await sealAudit(db, key, other.org_id)),
    )
    const { body } = await other.get('/audit-logs/verify')
    expect(body).toMatchObject({ ok: true, entries: sealed.reduce((a, b) => a + b) })
    expect(await sealAudit(db, key, other.org_id)).toBe(0)
  })
})
