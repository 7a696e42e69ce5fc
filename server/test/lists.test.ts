/** What lists promise: filters, sorts, search, shapes and counts, over a small portfolio whose answers are known. */
import { describe, expect, it } from 'vitest'
import { filterColumns, OPERATORS_OF } from '../src/kit/list-columns.ts'
import type { Resource, Row } from '../src/kit/resource.ts'
import { resources } from '../src/resources.ts'
import { newOrganization, owner } from './grid.ts'
import { portfolio, samples } from './samples.ts'

const client = await newOrganization()
const foreign = await portfolio(await newOrganization())
const ids = await portfolio(client)

const TENANTS = {
  acme: { kind: 'company', legal_name: 'Acme Legal LLP', industry_code: '541110', tags: ['core'] },
  bolt: {
    kind: 'person',
    legal_name: 'Bolt, Dana',
    industry_code: null,
    roles: ['tenant', 'vendor'],
  },
  crane: {
    kind: 'company',
    legal_name: 'Crane & Söhne 100%',
    industry_code: '238290',
    ticker: 'CR_N',
  },
} as const

const parties: Record<string, string> = {}
for (const [name, body] of Object.entries(TENANTS)) {
  parties[name] = (await client.post('/parties', body)).body.id
}

/** Leases by name: what they are looked for by. */
const LEASES: Record<string, Row> = {
  A: { tenant_party_id: parties['acme'], expiration_date: '2027-12-31', rentable_area: 900.5 },
  B: { tenant_party_id: parties['bolt'], expiration_date: '2028-06-30', rentable_area: 10_000 },
  C: {
    tenant_party_id: parties['crane'],
    expiration_date: '2028-06-30',
    rentable_area: 1000,
    tags: ['x', 'y'],
  },
  D: {
    tenant_party_id: parties['acme'],
    expiration_date: null,
    is_month_to_month: true,
    rentable_area: 0,
  },
}
for (const [name, body] of Object.entries(LEASES)) {
  const answer = await client.post('/leases', {
    ...samples.lease(ids['property'] as string, parties['acme'] as string),
    name: `Lease ${name}`,
    ...body,
  })
  LEASES[name] = answer.body as Row
}

/** The letters of the leases an answer holds, in its order. */
async function letters(query: string): Promise<string> {
  const { status, body } = await client.get(`/leases?name[starts_with]=Lease&${query}`)
  expect(status, `${query} ${JSON.stringify(body)}`).toBe(200)
  return (body.data as Row[]).map((row) => String(row['name']).slice(-1)).join('')
}

describe('a filter', () => {
  it.each([
    ['', 'ABCD'],
    ['expiration_date=2028-06-30', 'BC'],
    ['expiration_date[ne]=2028-06-30', 'AD'],
    ['expiration_date[gt]=2027-12-31', 'BC'],
    ['expiration_date[gte]=2027-12-31', 'ABC'],
    ['expiration_date[lt]=2028-06-30', 'A'],
    ['expiration_date[lte]=2028-06-30', 'ABC'],
    ['expiration_date[is_null]=true', 'D'],
    ['expiration_date[is_null]=false', 'ABC'],
    ['expiration_date[in]=2027-12-31,2028-06-30', 'ABC'],
    ['expiration_date[nin]=2027-12-31', 'BCD'],
    ['expiration_date[gte]=2028-01-01&rentable_area[lt]=5000', 'C'],
    ['rentable_area[gt]=1000', 'B'],
    ['rentable_area=900.50', 'A'],
    ['rentable_area[in]=0,10000', 'BD'],
    ['is_month_to_month=true', 'D'],
    ['is_month_to_month[ne]=true', 'ABC'],
    ['status=draft', 'ABCD'],
    ['status[in]=active,holdover', ''],
    ['status[contains]=RAF', 'ABCD'],
    ['tags[contains]=y', 'C'],
    ['tags[contains]=z', ''],
    [`tenant_party_id=${parties['acme']}`, 'AD'],
    [`tenant_party_id[nin]=${parties['acme']},${parties['bolt']}`, 'C'],
    ['tenant.industry_code[starts_with]=54', 'AD'],
    ['tenant.industry_code[is_null]=true', 'B'],
    ['tenant.legal_name[contains]=100%25', 'C'],
    ['tenant.ticker[contains]=_', 'C'],
    ['tenant.kind=person', 'B'],
    ['property.name=Harbor Point&tenant.kind=company', 'ACD'],
    ['version=1', 'ABCD'],
    ['updated_at[gte]=2020-01-01&updated_at[lt]=2100-01-01T00:00:00%2B02:00', 'ABCD'],
    ['updated_at[gt]=2100-01-01', ''],
    ['archived_at[is_null]=true', 'ABCD'],
  ])('%s finds %s', async (query, expected) => {
    expect(await letters(`sort=name&${query}`)).toBe(expected)
  })

  it.each([
    [
      'expiraton_date=2028-06-30',
      { field: 'expiraton_date', code: 'unknown_filter', suggestion: 'expiration_date' },
    ],
    ['expiration_date[after]=2028-06-30', { code: 'unknown_operator' }],
    ['expiration_date[contains]=2028', { code: 'unknown_operator' }],
    ['expiration_date=2028-02-30', { code: 'invalid_value' }],
    ['rentable_area=many', { code: 'invalid_value' }],
    ['status=actve', { code: 'invalid_value' }],
    ['is_month_to_month=yes', { code: 'invalid_value' }],
    ['tenant_party_id=le_1', { code: 'invalid_value' }],
    ['tenant.nothing=1', { code: 'unknown_filter' }],
    ['rent_schedule=1', { code: 'unknown_filter' }],
    ['sort=nothing', { field: 'sort' }],
    ['sort=tags', { field: 'sort' }],
    ['sort=name,status,currency,id', { field: 'sort', code: 'too_many' }],
    ['limit=0', { field: 'limit', code: 'out_of_range' }],
    ['limit=201', { field: 'limit', code: 'out_of_range' }],
    ['limit=ten', { field: 'limit', code: 'out_of_range' }],
    ['limit=1&limit=2', { field: 'limit', code: 'repeated' }],
    ['fields=id,nothing', { field: 'fields' }],
    ['expand=nothing', { field: 'expand' }],
    ['expand=property.owner.parent', { field: 'expand', code: 'too_deep' }],
    ['include=nothing', { field: 'include' }],
    ['external_id=yardi', { field: 'external_id' }],
    ['as_of=yesterday', { field: 'as_of' }],
    ['known_at=2026-01-01', { field: 'known_at' }],
  ])('%s is refused', async (query, issue) => {
    const answer = await client.get(`/leases?${query}`)
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'validation_failed', errors: [issue] },
    })
  })

  it.each([
    ['tenant_party_id', foreign['party']],
    ['property_id', foreign['property']],
    ['id', foreign['lease']],
    ['id', 'le_999999999'],
  ])('by an id of another organization (%s) finds nothing', async (name, id) => {
    expect(await letters(`${name}=${id}`)).toBe('')
  })

  const columns = resources.flatMap((resource) =>
    [...filterColumns(resource).values()].map(
      (column) => [resource.name, column.name, resource, column] as const,
    ),
  )

  it('works on every column with every operator, and every column sorts', async () => {
    for (const [, name, resource, column] of columns) {
      const { examples, enum: words } = column.field.schema as {
        examples: unknown[]
        enum?: string[]
      }
      const value = encodeURIComponent(String(words?.[0] ?? [examples[0]].flat()[0]))
      const filters = OPERATORS_OF[column.type].map(
        (op) => `${name}[${op}]=${op === 'is_null' ? 'true' : value}`,
      )
      const sort = column.type === 'text[]' ? [] : [`sort=-${name}`]
      const path = `/grid/v2/${resource.path}?${[...filters, ...sort].join('&')}`
      const answer = await client.get(path)
      expect(answer.status, `${path} ${JSON.stringify(answer.body)}`).toBe(200)
    }
  })
})

describe('a sort', () => {
  it.each([
    ['expiration_date,name', 'ABCD'],
    ['-expiration_date,name', 'BCAD'],
    ['-expiration_date,-name', 'CBAD'],
    ['rentable_area', 'DACB'],
    ['-rentable_area', 'BCAD'],
    ['is_month_to_month,-name', 'DCBA'],
    ['created_at', 'ABCD'],
    ['-id', 'DCBA'],
  ])('by %s gives %s, nulls last', async (sort, expected) => {
    expect(await letters(`sort=${sort}`)).toBe(expected)
    let walked = ''
    let next: string | null = `/leases?name[starts_with]=Lease&limit=1&sort=${sort}`
    while (next) {
      const answer = await client.get(next)
      walked += String(answer.body.data[0].name).slice(-1)
      const link = answer.headers.get('link')
      expect(answer.body.has_more).toBe(link !== null)
      next = link
        ? new URL(/<(.*)>; rel="next"/.exec(link)?.[1] ?? '', 'http://x').href.replace(
            'http://x/api/v1',
            '',
          )
        : null
    }
    expect(walked).toBe(expected)
  })
})

describe('a search', () => {
  it.each([
    ['acme', ['Acme Legal LLP', 'Acme Legal LLP']],
    ['ACME legal', ['Acme Legal LLP', 'Acme Legal LLP']],
    ['legal acme', ['Acme Legal LLP', 'Acme Legal LLP']],
    ['acme leagl', ['Acme Legal LLP', 'Acme Legal LLP']],
    ['crane söhne', ['Crane & Söhne 100%']],
    ['100%', ['Crane & Söhne 100%']],
    ['%', ['Crane & Söhne 100%']],
    ['\\', []],
    ['nobody at all', []],
  ])('for %s finds %s', async (q, expected) => {
    const answer = await client.get(`/parties?sort=legal_name&q=${encodeURIComponent(q)}`)
    expect(answer.body.data.map((row: Row) => row['legal_name'])).toEqual(expected)
  })
})

describe('a shape', () => {
  const lease = (): string => `/leases/${LEASES['A']?.['id'] as string}`

  it('shows only the fields asked for, in v1 and grid/v2', async () => {
    const one = await client.get(`${lease()}?fields=id,tenant.legal_name&expand=tenant`)
    expect(one.body).toEqual({ id: LEASES['A']?.['id'], tenant: { legal_name: 'Acme Legal LLP' } })
    const list = await client.get(
      '/leases?fields=name,status&sort=name&name[starts_with]=Lease&limit=1',
    )
    expect(list.body.data).toEqual([{ name: 'Lease A', status: 'draft' }])
  })

  it('shows fields of objects two levels deep, and names one that is none', async () => {
    const { body } = await client.get(
      `${lease()}?expand=property.owner,spaces&fields=property.name,property.owner,spaces.suite`,
    )
    const { name } = (await client.get(`/properties/${ids['property']}`)).body as Row
    expect(body).toEqual({ property: { name, owner: null }, spaces: [] })
    const deep = `property${'.property'.repeat(50)}`
    const refused = await client.get(`${lease()}?expand=${deep}&fields=${deep}`)
    expect(refused).toMatchObject({ status: 422, body: { errors: [{ code: 'too_deep' }, {}] } })
    const wrong = await client.get(`${lease()}?expand=property&fields=property.nam`)
    expect(wrong).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'fields', suggestion: 'property.name' }] },
    })
  })

  it('expands what a row refers to, two levels deep, beside its id', async () => {
    const { body } = await client.get(`${lease()}?expand=tenant,property.owner,building,spaces`)
    const party = await client.get(`/parties/${parties['acme']}`)
    expect(body).toMatchObject({
      tenant_party_id: parties['acme'],
      tenant: party.body,
      building: null,
      spaces: [],
    })
    expect(body.property).toMatchObject({ id: ids['property'], owner: null })
  })

  it('shows the claims behind values', async () => {
    const { body } = await client.get(`${lease()}?include=provenance`)
    expect(body.provenance.expiration_date).toMatchObject({
      value: '2027-12-31',
      valid_to: null,
      confidence_pct: 100,
      source: { kind: 'api' },
      actor: { type: 'api_key', name: 'Test key' },
    })
    expect(body.provenance.term_months).toBeUndefined()
    const list = await client.get('/leases?include=facts&limit=1')
    expect(list.body.data[0].facts.currency).toMatchObject({ value: 'USD' })
    const some = await client.get('/leases?include=facts&limit=1&fields=id,currency')
    expect(Object.keys(some.body.data[0].facts as Row)).toEqual(['currency'])
    const object = `/grid/v2/objects/${LEASES['A']?.['id'] as string}/provenance`
    const one = await client.get(`${object}?field=expiration_date`)
    expect(Object.keys(one.body.fields as Row)).toEqual(['expiration_date'])
    expect(await client.get(`${object}?field=expiration`)).toMatchObject({ status: 422 })
  })

  it('counts when asked to, the same on every page', async () => {
    const first = await client.get('/leases?name[starts_with]=Lease&limit=3&include=total_count')
    expect(first.body).toMatchObject({ total_count: 4, has_more: true })
    const cursor = first.body.next_cursor as string
    const path = `/leases?name[starts_with]=Lease&limit=3&include=total_count&cursor=${cursor}`
    expect((await client.get(path)).body).toMatchObject({
      total_count: 4,
      has_more: false,
      next_cursor: null,
    })
    expect((await client.get('/leases')).body).not.toHaveProperty('total_count')
    expect((await client.get('/leases?status=active&include=total_count')).body.total_count).toBe(0)
  })
})

describe('a collection under its parent', () => {
  it.each([
    ['/buildings', '/floors', 'building', 'flr'],
    ['/buildings', '/spaces', 'building', 'spc'],
    ['/parties', '/contacts', 'party', 'con'],
  ])('%s/{id}%s holds its children only', async (path, under, parent, prefix) => {
    const other = resources.find((resource) => resource.name === parent) as Resource
    const mine = await client.get(`${path}/${ids[parent]}${under}`)
    expect(mine.body.data.map((row: Row) => row[`${other.name}_id`])).toEqual([ids[parent]])
    expect(mine.body.data[0].id.startsWith(`${prefix}_`)).toBe(true)
    expect((await client.get(`${path}/${foreign[parent]}${under}`)).status).toBe(404)
    expect((await client.get(`${path}/${other.prefix}_999999999${under}`)).status).toBe(404)
  })
})

describe('what is archived or deleted', () => {
  it('is left out of lists and counts unless it is asked for', async () => {
    const own = await newOrganization()
    const names = ['here', 'archived', 'deleted']
    const made = await Promise.all(
      names.map(async (legal_name) => await own.post('/parties', { kind: 'company', legal_name })),
    )
    const [, archived, deleted] = made.map(({ body }) => body.id as string)
    // Only a source that stops listing an object archives it.
    const direct = await owner()
    await direct.query('update party set archived_at = now() where org_id = $1 and id = $2', [
      own.org_id,
      archived?.slice(4),
    ])
    await direct.end()
    await own.delete(`/parties/${deleted}`)
    const found = async (query: string): Promise<string> => {
      const { body } = await own.get(`/parties?sort=legal_name&include=total_count${query}`)
      expect(body.total_count).toBe(body.data.length)
      return body.data.map((row: Row) => row['legal_name']).join(' ')
    }
    expect(await found('')).toBe('here')
    expect(await found(',archived')).toBe('archived here')
    expect(await found(',deleted')).toBe('deleted here')
    expect(await found(',archived,deleted')).toBe('archived deleted here')
    expect(await found('&archived_at[is_null]=false')).toBe('archived')
    expect((await own.get(`/parties/${archived}`)).status).toBe(200)
  })
})
