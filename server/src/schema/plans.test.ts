/** Plans and fields: every status each endpoint promises, and what a deploy and a rollback leave behind. */
import { describe, expect, it } from 'vitest'
import { clientWith, newClient, newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { deployed, deployOperations, newLease } from './schema-fixture.ts'

const FIELD = { op: 'add_attribute', object_type: 'lease', label: 'Recovery cap', type: 'percent' }

const codes = ({ body }: Answer): [string, string][] =>
  body.errors.map(({ field, code }: { field: string; code: string }) => [field, code])

async function planned(client: TestClient, ...operations: object[]): Promise<Answer> {
  return await client.post('/schema-extensions', { operations })
}

describe('a plan written as operations', () => {
  const bad: [string, object[], [string, string][]][] = [
    [
      'of a type that cannot be extended',
      [{ ...FIELD, object_type: 'organization' }],
      [['operations[0].object_type', 'unknown_value']],
    ],
    [
      'of no type',
      [{ ...FIELD, object_type: 'leese' }],
      [['operations[0].object_type', 'unknown_value']],
    ],
    [
      'without a label',
      [{ op: 'add_attribute', object_type: 'lease', type: 'text' }],
      [['operations[0].label', 'required']],
    ],
    [
      'with what the operation does not take',
      [{ ...FIELD, field: 'x' }],
      [['operations[0].field', 'unknown_field']],
    ],
    [
      'with what the type does not take',
      [{ ...FIELD, currency: 'EUR' }],
      [['operations[0].currency', 'unknown_field']],
    ],
    [
      'with bounds the wrong way round',
      [{ ...FIELD, min: 5, max: 1 }],
      [['operations[0].max', 'out_of_range']],
    ],
    ['twice the same', [FIELD, FIELD], [['operations[1].api_name', 'duplicate']]],
    [
      'of a field that is not there',
      [{ op: 'deprecate_attribute', object_type: 'lease', field: 'cap' }],
      [['operations[0].field', 'not_found']],
    ],
    [
      'with a default that is no value',
      [{ ...FIELD, default: 101 }],
      [['operations[0].default', 'out_of_range']],
    ],
    [
      'of a select without options',
      [{ ...FIELD, type: 'select' }],
      [['operations[0].options', 'required']],
    ],
    [
      'with an option twice',
      [{ ...FIELD, type: 'select', options: [{ label: 'A b' }, { label: 'a B' }] }],
      [['operations[0].options[1]', 'duplicate']],
    ],
    [
      'of an area without a unit',
      [{ ...FIELD, type: 'area' }],
      [['operations[0].unit', 'invalid_enum']],
    ],
    [
      'of a relation to nothing',
      [{ ...FIELD, type: 'relation', target: 'tree' }],
      [['operations[0].target', 'unknown_value']],
    ],
    [
      'of a filterable long text',
      [{ ...FIELD, type: 'long_text', filterable: true }],
      [['operations[0].filterable', 'not_filterable']],
    ],
    [
      'of a formula over what is not there',
      [{ ...FIELD, type: 'formula', expression: 'rentt * 2' }],
      [['operations[0].expression', 'invalid_expression']],
    ],
    [
      'of a formula with a regular expression',
      [{ ...FIELD, type: 'formula', expression: 'status.matches("(a+)+")' }],
      [['operations[0].expression', 'invalid_expression']],
    ],
    [
      'of a formula with a comprehension',
      [{ ...FIELD, type: 'formula', expression: '[1, 2].all(x, x > 0)' }],
      [['operations[0].expression', 'invalid_expression']],
    ],
    [
      'whose name cannot be made',
      [{ ...FIELD, label: '???' }],
      [['operations[0].api_name', 'required']],
    ],
    [
      'of more filterable fields than a type may have',
      Array.from({ length: 21 }, (_, i) => ({ ...FIELD, label: `F ${i}`, filterable: true })),
      [['operations', 'limit_exceeded']],
    ],
  ]

  it.each(bad)('%s is refused', async (_, operations, expected) => {
    const answer = await planned(await newOrganization(), ...operations)
    expect(answer.status).toBe(422)
    expect(codes(answer)).toEqual(expected)
  })

  it('is not the schema before it is approved and deployed', async () => {
    const client = await newOrganization()
    const plan = await planned(client, FIELD)
    expect(plan).toMatchObject({ status: 201, body: { state: 'draft', risk: 'safe', confirm: [] } })
    const path = `/schema-extensions/${plan.body.id}`
    expect(await client.post(`${path}/deploy`, {})).toMatchObject({ status: 409 })
    expect(await client.post(`${path}/rollback`, {})).toMatchObject({ status: 409 })
    expect((await newLease(client, { ext: { recovery_cap: 5 } })).status).toBe(422)
    expect(await client.post(`${path}/approve`, {})).toMatchObject({
      status: 200,
      body: { state: 'validating' },
    })
    expect(await client.post(`${path}/approve`, {})).toMatchObject({ status: 409 })
    expect(await client.post(`${path}/deploy`, {})).toMatchObject({
      status: 200,
      body: { state: 'deployed', schema_version: 1 },
    })
    expect((await newLease(client, { ext: { recovery_cap: 5 } })).status).toBe(201)
  })

  it('with open questions cannot be approved; answers settle them', async () => {
    const client = await newOrganization()
    const text = 'percent indexation share on leases, 0 to 1'
    const open = await client.post('/schema-extensions/propose', { text })
    expect(open.body.questions).toMatchObject([{ id: 'scale_1', choices: ['0-100', '0-1'] }])
    expect(await client.post(`/schema-extensions/${open.body.id}/approve`, {})).toMatchObject({
      status: 409,
    })
    const settled = await client.post('/schema-extensions/propose', {
      text,
      answers: { scale_1: '0-1' },
    })
    expect(settled.body).toMatchObject({ questions: [], operations: [{ max: 100, risk: 'safe' }] })
  })

  it('that hides values is approved by naming the field', async () => {
    const client = await newOrganization()
    await deployOperations(client, [FIELD])
    const plan = await planned(client, {
      op: 'deprecate_attribute',
      object_type: 'lease',
      field: 'recovery_cap',
    })
    expect(plan.body).toMatchObject({ risk: 'destructive', confirm: ['recovery_cap'] })
    const path = `/schema-extensions/${plan.body.id}/approve`
    expect(await client.post(path, { confirm: ['other'] })).toMatchObject({ status: 422 })
    expect(await client.post(path, { confirm: ['recovery_cap'] })).toMatchObject({ status: 200 })
  })

  it('is done once for a repeated request', async () => {
    const client = await newOrganization()
    const headers = { 'idempotency-key': 'plan-1' }
    const first = await client.post('/schema-extensions', { operations: [FIELD] }, headers)
    const again = await client.post('/schema-extensions', { operations: [FIELD] }, headers)
    expect(again.body.id).toBe(first.body.id)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    expect((await client.get('/schema-extensions')).body.data).toHaveLength(1)
  })
})

describe('a rollback', () => {
  it('removes an added field everywhere when it has no values', async () => {
    const client = await newOrganization()
    const { body: plan } = await deployed(client, 'add a percent field green share to leases')
    const rolled = await client.post(`/schema-extensions/${plan.id}/rollback`, {})
    expect(rolled).toMatchObject({ status: 200, body: { state: 'rolled_back', schema_version: 2 } })
    expect((await newLease(client, { ext: { green_share: 1 } })).status).toBe(422)
    expect((await client.get('/leases?ext.green_share=1')).status).toBe(422)
    expect((await newLease(client)).body.ext).toEqual({})
    expect(JSON.stringify((await client.get('/grid/v2/schema')).body)).not.toContain('green_share')
    const fields = await client.get('/schema-fields')
    expect(fields.body.data).toMatchObject([{ api_name: 'green_share', state: 'removed' }])
  })

  it('deprecates it when it has values, which a restore shows again', async () => {
    const client = await newOrganization()
    const { body: plan } = await deployed(client, 'add a percent field green share to leases')
    const { body: lease } = await newLease(client, { ext: { green_share: 7 } })
    await client.post(`/schema-extensions/${plan.id}/rollback`, {})
    expect((await client.get(`/leases/${lease.id}`)).body.ext).toEqual({})
    const facts = await client.get(`/grid/v2/objects/${lease.id}/facts`)
    expect(
      facts.body.data.some(({ field }: { field: string }) => field === 'ext.green_share'),
    ).toBe(true)
    const [id] = plan.fields
    expect((await client.get(`/schema-fields/${id}`)).body).toMatchObject({ state: 'deprecated' })
    expect(await client.post(`/schema-fields/${id}/restore`, {})).toMatchObject({
      status: 200,
      body: { state: 'deployed' },
    })
    expect((await client.get(`/leases/${lease.id}`)).body.ext).toEqual({ green_share: 7 })
  })

  it('of a plan whose field a later one changed is refused', async () => {
    const client = await newOrganization()
    const first = await deployOperations(client, [FIELD])
    await deployOperations(client, [
      { op: 'set_validation', object_type: 'lease', field: 'recovery_cap', max: 50 },
    ])
    const answer = await client.post(`/schema-extensions/${first.body.id}/rollback`, {})
    expect(answer).toMatchObject({ status: 409, body: { code: 'conflict' } })
  })

  it('keeps options that values use', async () => {
    const client = await newOrganization()
    await deployed(client, 'select condition on leases: good, poor')
    const { body: plan } = await deployed(client, 'add option ruined to condition')
    const { body: lease } = await newLease(client, { ext: { condition: 'ruined' } })
    expect((await client.post(`/schema-extensions/${plan.id}/rollback`, {})).status).toBe(200)
    expect((await client.get(`/leases/${lease.id}`)).body.ext).toEqual({ condition: 'ruined' })
    expect((await newLease(client, { ext: { condition: 'ruined' } })).status).toBe(422)
  })
})

describe('a field', () => {
  it('that is renamed is answered by its new name at once; the old one is understood on input', async () => {
    const client = await newOrganization()
    const { body: plan } = await deployOperations(client, [FIELD])
    const { body: lease } = await newLease(client, { ext: { recovery_cap: 5 } })
    const path = `/schema-fields/${plan.fields[0]}`
    const renamed = await client.post(`${path}/rename`, { api_name: 'cost_cap', label: 'Cost cap' })
    expect(renamed).toMatchObject({
      status: 200,
      body: { api_name: 'cost_cap', aliases: [{ api_name: 'recovery_cap' }] },
    })
    expect((await client.get(`/leases/${lease.id}`)).body.ext).toEqual({ cost_cap: 5 })
    const patched = await client.patch(`/leases/${lease.id}`, { ext: { recovery_cap: 6 } })
    expect(patched.body.ext).toEqual({ cost_cap: 6 })
    expect((await client.get('/leases?ext.recovery_cap=6')).body.data).toHaveLength(1)
    const both = await client.patch(`/leases/${lease.id}`, {
      ext: { recovery_cap: 7, cost_cap: 8 },
    })
    expect(codes(both)).toEqual([['ext.cost_cap', 'duplicate']])
  })

  it('is deprecated by naming it, and its name is free for another', async () => {
    const client = await newOrganization()
    const { body: plan } = await deployOperations(client, [FIELD])
    const path = `/schema-fields/${plan.fields[0]}`
    expect((await client.post(`${path}/deprecate`, {})).status).toBe(422)
    const gone = await client.post(`${path}/deprecate`, { confirm: ['recovery_cap'] })
    expect(gone).toMatchObject({ status: 200, body: { state: 'deprecated' } })
    expect(gone.body.restorable_until).not.toBeNull()
    await deployOperations(client, [{ ...FIELD, type: 'text' }])
    expect(await client.post(`${path}/restore`, {})).toMatchObject({ status: 422 })
  })

  it('of one organization is unknown to all others', async () => {
    const [own, other] = await Promise.all([newOrganization(), newOrganization()])
    const { body: plan } = await deployOperations(own, [{ ...FIELD, api_name: 'very_own_field' }])
    const [id] = plan.fields
    for (const path of [
      `/schema-fields/${id}`,
      `/schema-extensions/${plan.id}`,
      `/schema-extensions/${plan.id}/preview`,
    ])
      expect((await other.get(path)).status).toBe(404)
    expect((await other.post(`/schema-fields/${id}/rename`, { label: 'Mine' })).status).toBe(404)
    const wrong = await other.get('/leases?ext.very_own_fieldd=1')
    const texts = [
      wrong.body,
      (await newLease(other, { ext: { very_own_fiel: 1 } })).body,
      (await other.get('/grid/v2/schema')).body,
      (await other.get('/schema-fields')).body,
    ]
    expect(JSON.stringify(texts)).not.toContain('very_own_field"')
  })

  it('needs the scope of what is done to it', async () => {
    const own = await newOrganization()
    const without = async (scope: string): Promise<TestClient> =>
      await newClient(
        own.org_id,
        ALL_SCOPES.filter((other) => other !== scope),
      )
    const plan = await planned(own, FIELD)
    const path = `/schema-extensions/${plan.body.id}`
    expect(
      (await (await without('write:schema')).post('/schema-extensions/propose', { text: 'x' }))
        .status,
    ).toBe(403)
    expect((await (await without('deploy:schema')).post(`${path}/approve`, {})).status).toBe(403)
  })
})

it('keys of some properties see fields and plans, and change none', async () => {
  const own = await newOrganization()
  const { body: plan } = await deployed(own, 'add a percent field green share to leases')
  const { body: lease } = await newLease(own)
  const key = await own.post('/api-keys', {
    name: 'One property',
    scopes: ['read:facts', 'read:leases'],
    property_ids: [lease.property_id],
  })
  const restricted = clientWith(key.body.key, own.org_id)
  for (const path of ['/schema-fields', '/schema-extensions', '/grid/v2/schema/changes'])
    expect((await restricted.get(path)).body.data).toHaveLength(1)
  expect((await restricted.post(`/schema-extensions/${plan.id}/rollback`, {})).status).toBe(403)
})
