/** What holds for every query, tried on random ones. */
import fc from 'fast-check'
import { expect, it } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { insert, samples } from '../../test/samples.ts'
import { lease } from '../leases/resource.ts'
import { party } from '../parties/resource.ts'
import { property } from '../properties/resource.ts'

const client = await newOrganization()
const places = await Promise.all(
  [1, 2].map(async () => await insert(client.org_id, property, samples.property())),
)
const tenants = await Promise.all(
  ['A', 'B'].map(
    async (legal_name) => await insert(client.org_id, party, { ...samples.party(), legal_name }),
  ),
)

const areas = [0, 100, 2500.5]
const dates = ['2027-03-31', '2028-06-30', '2030-12-31']
for (let n = 0; n < 12; n++)
  await insert(client.org_id, lease, {
    ...samples.lease(places[n % 2] as string, tenants[n % 2] as string),
    rentable_area: areas[n % 3],
    expiration_date: dates[(n * 7) % 3],
    ...(n % 4 === 0 ? {} : { ti_allowance: `${n}.50` }),
  })

const ordered = fc.constantFrom('eq', 'ne', 'gt', 'gte', 'lt', 'lte')
const condition = fc.oneof(
  fc.record({
    field: fc.constant('rentable_area'),
    op: ordered,
    value: fc.constantFrom(...areas, 50),
  }),
  fc.record({
    field: fc.constant('expiration_date'),
    op: ordered,
    value: fc.constantFrom(...dates),
  }),
  fc.record({
    field: fc.constant('ti_allowance'),
    op: ordered,
    value: fc.constantFrom('5.50', '1.5'),
  }),
  fc.record({
    field: fc.constant('ti_allowance'),
    op: fc.constant('is_null'),
    value: fc.boolean(),
  }),
  fc.record({
    field: fc.constant('property_id'),
    op: fc.constantFrom('eq', 'ne'),
    value: fc.constantFrom(...places),
  }),
  fc.record({
    field: fc.constant('tenant.legal_name'),
    op: fc.constantFrom('eq', 'starts_with', 'contains'),
    value: fc.constantFrom('A', 'b'),
  }),
)

const idsOf = (rows: { id: string }[]): string[] => rows.map(({ id }) => id)

async function asked(
  body: object,
): Promise<{ data: { id: string }[]; next_cursor: string | null }> {
  const { status, body: answer } = await client.post('/grid/v2/query', {
    from: 'lease',
    select: ['id'],
    ...body,
  })
  expect(status, JSON.stringify(answer)).toBe(200)
  return answer
}

it('finds what the list finds with the same conditions', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(condition, { maxLength: 3 }), async (conditions) => {
      const unique = [
        ...new Map(conditions.map((one) => [`${one.field}[${one.op}]`, one])).values(),
      ]
      const query = unique.map(
        ({ field, op, value }) => `${field}[${op}]=${encodeURIComponent(String(value))}`,
      )
      const { body: list } = await client.get(`/leases?${query.join('&')}`)
      const and = unique.map(({ field, op, value }) => ({ [field]: { [op]: value } }))
      const { data } = await asked(and.length > 0 ? { where: { and } } : {})
      expect(idsOf(data)).toEqual(idsOf(list.data))
    }),
    { numRuns: 25 },
  )
})

it('splits the rows in two by any condition and its opposite', async () => {
  const all = idsOf((await asked({})).data)
  await fc.assert(
    fc.asyncProperty(fc.array(condition, { minLength: 1, maxLength: 3 }), async (conditions) => {
      const or = conditions.map(({ field, op, value }) => ({ [field]: { [op]: value } }))
      const [yes, no] = await Promise.all([
        asked({ where: { or } }),
        asked({ where: { not: { or } } }),
      ])
      expect([...idsOf(yes.data), ...idsOf(no.data)].toSorted()).toEqual(all.toSorted())
    }),
    { numRuns: 15 },
  )
})

it('gives the same rows in the same order page by page, in any order', async () => {
  const key = fc.constantFrom(
    'rentable_area',
    'expiration_date',
    'ti_allowance',
    'tenant.legal_name',
    'created_at',
  )
  const pair = fc.tuple(key, fc.constantFrom('asc', 'desc'))
  const order = fc.uniqueArray(pair, { maxLength: 3, selector: ([name]) => name })
  await fc.assert(
    fc.asyncProperty(order, fc.integer({ min: 1, max: 5 }), async (order_by, limit) => {
      const whole = await asked({ order_by, limit: 100 })
      const paged: string[] = []
      let cursor: string | null = null
      do {
        const page: Awaited<ReturnType<typeof asked>> = await asked({
          order_by,
          limit,
          ...(cursor ? { cursor } : {}),
        })
        paged.push(...idsOf(page.data))
        cursor = page.next_cursor
      } while (cursor)
      expect(paged).toEqual(idsOf(whole.data))
    }),
    { numRuns: 12 },
  )
})
