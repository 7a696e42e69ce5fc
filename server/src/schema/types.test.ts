/** What each type of field takes, keeps, shows and filters by. */
import { describe, expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { deployOperations } from './schema-fixture.ts'

const client = await newOrganization()
const { body: vendor } = await client.post('/parties', samples.party())
const { body: paper } = await client.post('/documents', samples.document())

const options = [{ label: 'Shell' }, { label: 'Warm shell' }, { label: 'Turnkey' }]
const fields: Record<string, object> = {
  share: { type: 'percent' },
  capped: { type: 'percent', max: 50, scale: 1 },
  fit_out: { type: 'select', options },
  amenities: { type: 'multi_select', options },
  pets: { type: 'boolean' },
  wing: { type: 'text', max_length: 5 },
  remarks: { type: 'long_text' },
  desks: { type: 'integer', min: 0 },
  factor: { type: 'decimal', scale: 2 },
  budget: { type: 'money', currency: 'EUR', min: 0 },
  price: { type: 'money' },
  handover: { type: 'date' },
  seen: { type: 'datetime' },
  tour: { type: 'url' },
  mail: { type: 'email' },
  call: { type: 'phone' },
  vendor: { type: 'relation', target: 'party' },
  plan: { type: 'document' },
  notices: { type: 'address' },
  usable: { type: 'area', unit: 'sqm' },
  front: { type: 'length', unit: 'm' },
}
await deployOperations(
  client,
  Object.entries(fields).map(([api_name, field]) => ({
    op: 'add_attribute',
    object_type: 'property',
    label: api_name,
    api_name,
    ...field,
  })),
)

async function withValue(name: string, value: unknown): Promise<Answer> {
  return await client.post('/properties', { ...samples.property(), ext: { [name]: value } })
}

const accepted: [name: string, given: unknown, shown: unknown][] = [
  ['share', 12.5, 12.5],
  ['share', 0, 0],
  ['share', 100, 100],
  ['fit_out', 'warm_shell', 'warm_shell'],
  ['amenities', ['turnkey', 'shell', 'turnkey'], ['turnkey', 'shell']],
  ['pets', false, false],
  ['wing', 'North', 'North'],
  ['remarks', 'Two\nlines', 'Two\nlines'],
  ['desks', 12, 12],
  ['factor', -1.25, -1.25],
  ['budget', { amount: '12500.5', currency: 'EUR' }, { amount: '12500.50', currency: 'EUR' }],
  ['budget', '7', { amount: '7.00', currency: 'EUR' }],
  ['price', { amount: 1, currency: 'CHF' }, { amount: '1.00', currency: 'CHF' }],
  ['handover', '2026-12-31', '2026-12-31'],
  ['seen', '2026-12-31T09:00:00+01:00', '2026-12-31T08:00:00.000Z'],
  ['tour', 'https://example.com/tour?x=1', 'https://example.com/tour?x=1'],
  ['mail', ' Dana@Example.COM ', 'Dana@example.com'],
  ['call', '+49 (30) 123-4567', '+49301234567'],
  ['vendor', vendor.id, vendor.id],
  ['plan', paper.id, paper.id],
  ['usable', { value: 100, unit: 'sqft' }, { value: 9.290304, unit: 'sqm' }],
  ['usable', 55.5, { value: 55.5, unit: 'sqm' }],
  ['front', { value: 10, unit: 'ft' }, { value: 3.048, unit: 'm' }],
  ['share', null, null],
]

const refused: [name: string, given: unknown, code: string][] = [
  ['share', '12', 'invalid_type'],
  ['share', 100.1, 'out_of_range'],
  ['share', -0.1, 'out_of_range'],
  ['capped', 50.1, 'out_of_range'],
  ['capped', 5.25, 'too_many_decimals'],
  ['fit_out', 'Warm shell', 'invalid_enum'],
  ['amenities', ['shell', 'gold'], 'invalid_enum'],
  ['amenities', 'shell', 'invalid_type'],
  ['pets', 'yes', 'invalid_type'],
  ['wing', 'Northern', 'max_length'],
  ['wing', '', 'min_length'],
  ['desks', 1.5, 'invalid_type'],
  ['desks', -1, 'out_of_range'],
  ['factor', 1.255, 'too_many_decimals'],
  ['budget', { amount: '5', currency: 'USD' }, 'invalid_enum'],
  ['budget', -1, 'out_of_range'],
  ['budget', { amount: '1.234', currency: 'EUR' }, 'invalid_format'],
  ['price', '5', 'invalid_format'],
  ['handover', '2026-02-30', 'invalid_format'],
  ['seen', '2026-02-01', 'invalid_format'],
  ['tour', 'javascript:alert(1)', 'invalid_format'],
  ['mail', 'dana', 'invalid_format'],
  ['call', 'call me', 'invalid_format'],
  ['vendor', 'prop_1', 'invalid_id'],
  ['vendor', 'pty_999999999', 'not_found'],
  ['notices', { line1: 'x', planet: 'Mars' }, 'unknown_field'],
  ['notices', { country: 'Germany' }, 'invalid_format'],
  ['usable', { value: 5, unit: 'acre' }, 'invalid_enum'],
  ['usable', -5, 'out_of_range'],
  ['nothing', 1, 'unknown_field'],
]

describe('a value', () => {
  it.each(accepted)('of %s: %j is kept as %j', async (name, given, shown) => {
    const made = await withValue(name, given)
    expect(made.status).toBe(201)
    const { body } = await client.get(`/properties/${made.body.id}`)
    expect(body.ext[name]).toEqual(shown)
    expect(made.body.ext).toEqual(body.ext)
  })

  it.each(refused)('of %s: %j is refused as %s', async (name, given, code) => {
    const { status, body } = await withValue(name, given)
    expect(status).toBe(422)
    expect(body.errors).toMatchObject([{ field: `ext.${name}`, code }])
  })

  it('is cleared by null, merged when it is an object, and left alone when it is not named', async () => {
    const address = { line1: '1 Main St', city: 'Boston', country: 'US' }
    const { body } = await client.post('/properties', {
      ...samples.property(),
      ext: { notices: address, share: 5, pets: true },
    })
    const path = `/properties/${body.id}`
    const one = await client.patch(path, { ext: { notices: { city: 'Salem' }, share: null } })
    expect(one.body.ext).toMatchObject({
      notices: { line1: '1 Main St', city: 'Salem', country: 'US' },
      share: null,
      pets: true,
    })
    expect((await client.patch(path, { ext: {} })).body.version).toBe(one.body.version)
    const none = await client.patch(path, { ext: null })
    expect(Object.values(none.body.ext).every((value) => value === null)).toBe(true)
    const facts = await client.get(`/grid/v2/objects/${body.id}/facts?field=ext.share`)
    expect(facts.body.data.map(({ value }: { value: unknown }) => value)).toEqual([5, null])
  })
})

const filters: [name: string, low: unknown, high: unknown, matching: string, sortable: boolean][] =
  [
    ['share', 5, 50, '[gt]=40', true],
    ['fit_out', 'shell', 'turnkey', '=turnkey', true],
    ['amenities', ['shell'], ['turnkey'], '[contains]=turnkey', false],
    ['pets', false, true, '=true', true],
    ['wing', 'A', 'B', '[starts_with]=b', true],
    ['desks', 3, 30, '[in]=30,31', true],
    ['factor', 0.5, 1.5, '[gte]=1.5', true],
    ['budget', '100', '900.50', '[gt]=900', true],
    ['handover', '2026-01-01', '2027-01-01', '[gte]=2026-06-01', true],
    ['seen', '2026-01-01T00:00:00Z', '2027-01-01T00:00:00Z', '[gt]=2026-06-01', true],
    ['mail', 'a@example.com', 'b@example.com', '=b@example.com', true],
    ['usable', 10, 20, '[lte]=20&ext.usable[gt]=10', true],
  ]

/** Two properties of an organization of their own. */
async function pair(low: object, high: object): Promise<{ own: TestClient; ids: string[] }> {
  const own = await newOrganization()
  const operations = Object.entries(fields)
    .filter(([name]) => name in low)
    .map(([api_name, field]) => ({
      op: 'add_attribute',
      object_type: 'property',
      label: api_name,
      api_name,
      ...field,
    }))
  await deployOperations(own, operations)
  const ids: string[] = []
  for (const ext of [low, high, {}]) {
    const { body } = await own.post('/properties', { ...samples.property(), ext })
    ids.push(body.id)
  }
  return { own, ids }
}

const idsOf = ({ body }: Answer): string[] => body.data.map(({ id }: { id: string }) => id)

describe('a filter', () => {
  it.each(filters)(
    'on %s finds what it says, in the rows and in the index',
    async (name, low, high, matching, sortable) => {
      const { own, ids } = await pair({ [name]: low }, { [name]: high })
      const [first, second, none] = ids
      expect(idsOf(await own.get(`/properties?ext.${name}${matching}`))).toEqual([second])
      expect(idsOf(await own.get(`/properties?ext.${name}[is_null]=true`))).toEqual([none])
      if (!sortable) return
      expect(idsOf(await own.get(`/properties?sort=-ext.${name}`))).toEqual([second, first, none])
      expect(idsOf(await own.get(`/properties?sort=ext.${name}`))).toEqual([first, second, none])
      const tomorrow = new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)
      expect(idsOf(await own.get(`/properties?as_of=${tomorrow}&ext.${name}${matching}`))).toEqual([
        second,
      ])
    },
  )

  it('with a value that the field cannot have says which it can', async () => {
    const answer = await client.get('/properties?ext.fit_out=golden')
    expect(answer).toMatchObject({
      status: 422,
      body: { errors: [{ allowed: ['shell', 'warm_shell', 'turnkey'] }] },
    })
    const operator = await client.get('/properties?ext.pets[gt]=true')
    expect(operator.body.errors).toMatchObject([{ code: 'unknown_operator' }])
    const none = await client.get('/properties?ext.notices=x')
    expect(none.body.errors).toMatchObject([{ code: 'unknown_filter' }])
    const field = await client.get('/properties?fields=ext.shar')
    expect(field.body.errors).toMatchObject([{ suggestion: 'ext.share' }])
  })
})

describe('a formula', () => {
  it('is computed from the record, follows a rename and cannot be written', async () => {
    const own = await newOrganization()
    const { body: plan } = await deployOperations(own, [
      { op: 'add_attribute', object_type: 'property', label: 'Desks', type: 'integer' },
      {
        op: 'add_attribute',
        object_type: 'property',
        label: 'Per desk',
        type: 'formula',
        expression: 'ext.desks > 10 ? "many" : string(ext.desks * 2)',
      },
    ])
    const { body } = await own.post('/properties', { ...samples.property(), ext: { desks: 4 } })
    expect(body.ext).toEqual({ desks: 4, per_desk: '8' })
    await own.post(`/schema-fields/${plan.fields[0]}/rename`, { api_name: 'seats' })
    expect((await own.get(`/properties/${body.id}`)).body.ext).toEqual({ seats: 4, per_desk: '8' })
    expect((await own.get(`/schema-fields/${plan.fields[1]}`)).body.expression).toContain(
      'ext.seats > 10',
    )
    expect(
      (await own.patch(`/properties/${body.id}`, { ext: { seats: null } })).body.ext.per_desk,
    ).toBeNull()
    const written = await own.patch(`/properties/${body.id}`, { ext: { per_desk: 'x' } })
    expect(written.body.errors).toMatchObject([{ field: 'ext.per_desk', code: 'read_only' }])
  })
})
