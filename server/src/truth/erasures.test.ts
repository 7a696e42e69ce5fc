import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { sealAll, tamper } from '../../test/audit.ts'
import { grid, newClient, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import { portfolio, samples } from '../../test/samples.ts'
import { verifyFile } from '../audit/verify-file.ts'
import { CONTROL_TABLES, ORG_TABLES } from '../db/tables.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { deployed } from '../schema/schema-fixture.ts'
import { adapterOf, load, sendWith } from '../sdis/load-fixture.ts'
import { tendOrganization } from './work.ts'

const SECRET = 'Zaphod Beeblebrox'
const CONFIRM = 'erase for good'

/** Tables of the organization in which the text occurs. */
async function whereIs(text: string, { org_id }: TestClient): Promise<string[]> {
  const direct = await owner()
  const found: string[] = []
  for (const table of [...ORG_TABLES, ...Object.keys(CONTROL_TABLES)]) {
    const { rows: columns } = await direct.query(
      `select from information_schema.columns where table_name = $1 and column_name = 'org_id'`,
      [table],
    )
    if (columns.length === 0) continue
    const { rows } = await direct.query(
      `select from ${table} t where t.org_id = $1 and strpos(lower(t::text), lower($2)) > 0 limit 1`,
      [org_id, text],
    )
    if (rows.length > 0) found.push(table)
  }
  await direct.end()
  return found
}

const erase = (client: TestClient, body: object): Promise<Answer> =>
  client.post('/grid/v2/erasures', { reason: 'Asked for', confirm: CONFIRM, ...body })

async function carriedOut(client: TestClient, answer: Answer): Promise<Answer['body']> {
  expect(answer.status, JSON.stringify(answer.body)).toBe(202)
  const { db } = await grid()
  for (;;) {
    const { body } = await client.get(`/grid/v2/erasures/${answer.body.id}`)
    if (body.state === 'completed') return body
    await tendOrganization(db, client.org_id, new Date())
  }
}

const verified = async (client: TestClient): Promise<Answer['body']> =>
  (await client.get('/audit-logs/verify')).body

/** A party with a secret in every place that keeps what is said. */
async function withSecret(): Promise<{ client: TestClient; id: string }> {
  const client = await newOrganization()
  const party = { ...samples.party(), dba_name: SECRET }
  const { body } = await client.post('/parties', party, { 'idempotency-key': 'party' })
  await client.patch(`/parties/${body.id}`, { dba_name: `${SECRET} II` })
  await client.post('/grid/v2/facts', {
    object: body.id,
    op: 'assert',
    attribute: 'dba_name',
    value: `${SECRET} III`,
    source: 'src_3',
    reason: 'Letterhead',
  })
  return { client, id: body.id }
}

describe('erasing attributes of a living object', () => {
  it('takes every copy away; the rest stays, and the audit log verifies', async () => {
    const { client, id } = await withSecret()
    await sealAll(client)
    await client.patch(`/parties/${id}`, { dba_name: SECRET })
    expect(await whereIs(SECRET, client)).toEqual([
      'party',
      'assertion',
      'idempotency',
      'event',
      'audit_entry',
      'audit_seal',
    ])
    const before = await verified(client)
    expect(before).toMatchObject({ ok: true, erased: 0 })
    const asked = await erase(client, { object_ids: [id], attributes: ['dba_name'] })
    const done = await carriedOut(client, asked)
    expect(done).toMatchObject({
      objects_done: 1,
      counts: { facts: 4, stored_answers: 1, sealed_entries: 2 },
    })
    expect(await whereIs(SECRET, client)).toEqual([])
    await sealAll(client)
    expect(await whereIs(SECRET, client)).toEqual([])
    const { body: party } = await client.get(`/parties/${id}`)
    expect(party).toMatchObject({ dba_name: null, legal_name: 'Acme Legal LLP' })
    expect(await verified(client)).toMatchObject({ ok: true, erased: 2, fault: null })
    const { body: log } = await client.get(`/audit-logs?object_id=${id}&action=party.created`)
    expect(log.data[0]).toMatchObject({ erased_by: expect.stringMatching(/^aud_/) })
    expect(log.data[0].after).not.toHaveProperty('dba_name')
    expect(log.data[0].after).toHaveProperty('legal_name')
    const { body: events } = await client.get('/events?types=erasure.*')
    expect(events.data).toMatchObject([{ type: 'erasure.completed' }])
  })

  it('is proved by the log: what an export holds cannot be changed, nor an erasure be made up', async () => {
    const { client, id } = await withSecret()
    await sealAll(client)
    const asked = await erase(client, { object_ids: [id], attributes: ['dba_name'] })
    await carriedOut(client, asked)
    await sealAll(client)
    const export_ = await client.get('/audit-logs/export')
    const folder = await mkdtemp(join(tmpdir(), 'grid-erasure-'))
    const path = join(folder, 'audit.ndjson')
    const verify = async (text: string): Promise<object> => {
      await writeFile(path, text)
      return await verifyFile(path, null)
    }
    const text = String(export_.body)
    expect(await verify(text)).toMatchObject({ ok: true, erased: 2 })
    expect(
      await verify(text.replace('"legal_name":"Acme Legal LLP"', '"legal_name":"Acme"')),
    ).toMatchObject({
      ok: false,
      fault: { reason: 'changed' },
    })
    await rm(folder, { recursive: true })
    const { rows } = await sealsOf(client, id)
    const position = rows.at(-1)
    // An entry that no erasure names is made to look as if one had been there.
    await tamper([
      `update audit_seal set body = replace(body, '"changed"', '"changed" '),
         erased_tx = (select max(erased_tx) from audit_seal where org_id = $1) where org_id = $1 and position = $2`,
      [client.org_id, position],
    ])
    expect(await verified(client)).toMatchObject({
      ok: false,
      fault: { position, reason: 'changed' },
    })
  })

  it('is proved by the log: what was left in the database cannot be changed', async () => {
    const { client, id } = await withSecret()
    await sealAll(client)
    const asked = await erase(client, { object_ids: [id], attributes: ['dba_name'] })
    await carriedOut(client, asked)
    const { rows } = await sealsOf(client, id)
    const [position] = rows
    await tamper([
      `update audit_seal set body = replace(body, 'Acme', 'Bcme') where org_id = $1 and position = $2`,
      [client.org_id, position],
    ])
    expect(await verified(client)).toMatchObject({
      ok: false,
      fault: { position, reason: 'changed' },
    })
  })

  it('takes out a field of its own by any name it had', async () => {
    const { client, id, field } = await withOwnField()
    await client.post(`/schema-fields/${field}/rename`, { api_name: 'nickname' })
    await client.patch(`/parties/${id}`, { ext: { nickname: `${SECRET} II` } })
    await sealAll(client)
    expect(await whereIs(SECRET, client)).toContain('ext_index')
    const asked = await erase(client, { object_ids: [id], attributes: ['ext.nickname'] })
    expect((await carriedOut(client, asked)).counts).toMatchObject({ facts: 2, sealed_entries: 2 })
    expect(await whereIs(SECRET, client)).toEqual([])
    const { body: party } = await client.get(`/parties/${id}`)
    expect(party.ext).toEqual({ nickname: null, green_share: 5 })
    expect(await verified(client)).toMatchObject({ ok: true, fault: null })
  })

  it('takes out what the file of a load said, and rows of it that were kept as errors', async () => {
    const client = await newOrganization()
    const map = {
      name: 'row.Name',
      code: 'row.Code',
      rentable_area: 'row.Area',
      hvac_type: 'row.Hvac',
    }
    const file = `Code,Name,Area,Hvac\nA,Alpha,x,${SECRET}\n`
    const lenient = { ...map, rentable_area: { from: 'row.Area', on_error: 'quarantine_cell' } }
    const job = await load(client, adapterOf({ map: lenient }), file)
    expect(job.counts).toMatchObject({ created: 1, warnings: 1 })
    const { body } = await client.get('/buildings?code=A')
    const [{ id }] = body.data
    expect(await whereIs(SECRET, client)).toContain('job_error')
    const done = await carriedOut(
      client,
      await erase(client, { object_ids: [id], attributes: ['hvac_type'] }),
    )
    expect(done.counts).toMatchObject({ facts: 1, error_rows: 1 })
    expect(await whereIs(SECRET, client)).toEqual([])
  })
})

async function sealsOf({ org_id }: TestClient, id: string): Promise<{ rows: number[] }> {
  const direct = await owner()
  const { rows } = await direct.query<{ position: string }>(
    'select position from audit_seal where org_id = $1 and object_id = $2 order by position',
    [org_id, Number(id.split('_')[1])],
  )
  await direct.end()
  return { rows: rows.map(({ position }) => Number(position)) }
}

/** A party with a secret in a field that the organization added. */
async function withOwnField(): Promise<{ client: TestClient; id: string; field: string }> {
  const client = await newOrganization()
  const plan = await deployed(client, 'add a filterable text field alias to parties')
  await deployed(client, 'add a percent field green share to parties, 0 to 100')
  const party = { ...samples.party(), ext: { alias: SECRET, green_share: 5 } }
  const { body } = await client.post('/parties', party)
  return { client, id: body.id, field: plan.body.fields[0] }
}

describe('erasing an object as a whole', () => {
  it('takes out fields of its own, and what checks of loads found of it', async () => {
    const { client, id } = await withOwnField()
    await client.delete(`/parties/${id}`)
    const map = { name: 'row.Name', code: 'row.Code', hvac_type: 'row.Hvac' }
    const adapter = adapterOf({ map })
    const row = (hvac: string): string => `Code,Name,Hvac\nA,Alpha,${hvac}\n`
    const check = async (text: string): Promise<void> => {
      const sent = await sendWith(client, adapter, text, { mode: 'dry_run' })
      await finished(client, sent.body.id)
    }
    await check(row(SECRET))
    await load(client, adapter, row('none'))
    await check(row(`${SECRET} II`))
    const { body } = await client.get('/buildings?code=A')
    const building = body.data[0].id
    await client.delete(`/buildings/${building}`)
    await carriedOut(client, await erase(client, { object_ids: [id, building] }))
    await sealAll(client)
    expect(await whereIs(SECRET, client)).toEqual([])
    expect(await verified(client)).toMatchObject({ ok: true, fault: null })
  })

  it('needs it deleted, and leaves a tombstone that says nothing', async () => {
    const { client, id } = await withSecret()
    await sealAll(client)
    expect(await erase(client, { object_ids: [id] })).toMatchObject({
      status: 409,
      body: { code: 'conflict', object_id: id },
    })
    await client.delete(`/parties/${id}`)
    await carriedOut(client, await erase(client, { object_ids: [id] }))
    await sealAll(client)
    for (const text of [SECRET, 'Acme Legal', 'Letterhead'])
      expect(await whereIs(text, client), text).toEqual([])
    const { body: facts } = await client.get(`/grid/v2/objects/${id}/facts`)
    expect(facts.data.map(({ field }: { field: string }) => field)).toEqual(['_deleted'])
    const { body: list } = await client.get('/parties?include=deleted')
    expect(list.data).toMatchObject([{ id, legal_name: null, deleted_at: expect.any(String) }])
    expect(await verified(client)).toMatchObject({ ok: true, fault: null })
    expect((await client.get('/events?limit=200')).status).toBe(200)
  })
})

describe('POST /grid/v2/erasures', () => {
  it.each<[string, object, number, object]>([
    ['no such words', { confirm: 'yes' }, 422, { errors: [{ field: 'confirm' }] }],
    ['no objects', { object_ids: [] }, 422, { errors: [{ field: 'object_ids' }] }],
    ['no id', { object_ids: ['x'] }, 422, { errors: [{ field: 'object_ids[0]' }] }],
    ['an absent object', { object_ids: ['pty_999999999'] }, 404, { code: 'not_found' }],
    [
      'no such attribute',
      { attributes: ['dba_nam'] },
      422,
      { errors: [{ field: 'attributes[0]', code: 'unknown_value' }] },
    ],
    [
      'a required attribute',
      { attributes: ['legal_name', 'dba_name'] },
      422,
      { errors: [{ field: 'attributes[0]', code: 'required' }] },
    ],
  ])('refuses %s', async (_, body, status, problem) => {
    const client = await newOrganization()
    const { party } = await portfolio(client)
    const asked = { object_ids: [party], attributes: ['dba_name'], ...body }
    expect(await erase(client, asked)).toMatchObject({ status, body: problem })
  })

  it('asks for its own scope, and knows no objects of others', async () => {
    const { client, id } = await withSecret()
    const scopes = ALL_SCOPES.filter((scope) => scope !== 'erase:facts')
    const weaker = await newClient(client.org_id, scopes)
    const body = { object_ids: [id], attributes: ['dba_name'] }
    expect(await erase(weaker, body)).toMatchObject({ status: 403 })
    expect(await erase(await newOrganization(), body)).toMatchObject({ status: 404 })
  })
})
