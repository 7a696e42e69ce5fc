/** Many objects, loads and work in the background: what fields promise there. */
import { randomUUID } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { placeAll } from '../../test/feed.ts'
import { grid, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { extColumns, ownStore } from '../kit/extended.ts'
import { extFields } from '../kit/extension-field.ts'
import { ranksOf } from '../kit/history.ts'
import type { Source } from '../kit/history.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { SYSTEM } from '../organizations/service.ts'
import { adapterOf, load } from '../sdis/load-fixture.ts'
import { doorWrites, prepare, write } from '../sdis/load.ts'
import type { Load } from '../sdis/load.ts'
import { deployed, deployOperations, newLease } from './schema-fixture.ts'
import { tendSchemas } from './upkeep.ts'

const running = new AbortController().signal

const fail = (message: string): void => expect.fail(message)

describe('in an organization with many objects', () => {
  it('filters and sorts go through the index, and are refused without', async () => {
    const client = await newOrganization()
    await deployed(
      client,
      'add a percent field share to parties; add an integer field score to parties',
    )
    await deployed(
      client,
      'add a filterable percent field rank to parties; add a filterable text field city to parties',
    )
    const { body } = await client.get('/schema-fields')
    const ids = body.data.map(({ id }: { id: string }) => id.slice(4))
    const behind = await owner()
    await behind.query(
      `insert into party (org_id, id, version, created_at, updated_at, contested, search, body, ext)
       select $1, 800000000 + n, 1, now(), now(), false, '', json_build_object('id', 'pty_' || n, 'ext', x.ext), x.ext
       from generate_series(1, 20100) n cross join lateral (select case when n % 3 = 0 then null
         else jsonb_build_object('x' || $2, n % 50, 'x' || $3, 'C' || n % 7) end as ext) x`,
      [client.org_id, ids[2], ids[3]],
    )
    await behind.query(
      `insert into ext_index (org_id, field_id, object_id, v_num, v_text)
       select org_id, f, id, case when f = $2::bigint then (ext->>('x' || f))::numeric end, case when f = $3::bigint then ext->>('x' || f) end
       from party cross join unnest(array[$2::bigint, $3::bigint]) f where org_id = $1 and ext is not null`,
      [client.org_id, ids[2], ids[3]],
    )
    await behind.query('analyze ext_index; analyze party')
    await behind.end()
    for (const query of ['ext.share[gt]=5', 'sort=ext.score']) {
      const refused = await client.get(`/parties?${query}`)
      expect(refused.body.errors).toMatchObject([{ code: 'not_filterable' }])
    }
    const found = await client.get('/parties?ext.rank=49&ext.city=C3&include=total_count&limit=1')
    expect(found.body.total_count).toBe(await counted(client.org_id, ids))
    for (const sort of ['ext.rank', '-ext.rank', '-ext.city,-id']) await expectOrder(client, sort)
  })
})

/** Walks a list by pages and holds the order against the rows. */
async function expectOrder(client: TestClient, sort: string): Promise<void> {
  const name = sort.includes('rank') ? 'rank' : 'city'
  const values: (string | number | null)[] = []
  const seen = new Set<string>()
  let cursor = ''
  for (let page = 0; page < 5; page++) {
    const { body } = await client.get(
      `/parties?sort=${sort}&limit=200${cursor}&fields=id,ext.${name}`,
    )
    for (const { id, ext } of body.data) {
      seen.add(id)
      values.push(ext[name])
    }
    cursor = `&cursor=${encodeURIComponent(body.next_cursor)}`
  }
  expect(seen.size).toBe(1_000)
  const sign = sort.startsWith('-') ? -1 : 1
  const order = (a: string | number, b: string | number): number =>
    sign * (a < b ? -1 : a > b ? 1 : 0)
  expect(values).toEqual(
    values.toSorted((a, b) => (a === null ? 1 : b === null ? -1 : order(a, b))),
  )
}

async function counted(org_id: number, ids: string[]): Promise<number> {
  const behind = await owner()
  const { rows } = await behind.query<{ count: number }>(
    `select count(*)::int as count from party where org_id = $1 and ext->>('x' || $2) = '49' and ext->>('x' || $3) = 'C3'`,
    [org_id, ids[2], ids[3]],
  )
  await behind.end()
  return rows[0]?.count ?? -1
}

describe('work in the background', () => {
  it('indexes values of a field that became filterable, whatever is written meanwhile', async () => {
    const client = await newOrganization()
    await deployed(client, 'add a percent field green share to leases')
    const [first, second] = await Promise.all(
      [5, 6].map((green_share) => newLease(client, { ext: { green_share } })),
    )
    await deployed(client, 'make green share filterable')
    expect((await client.get('/leases?ext.green_share=5')).body.data).toHaveLength(1)
    const { db } = await grid()
    await Promise.all([
      tendSchemas(db, fail, running),
      client.patch(`/leases/${first?.body.id}`, { ext: { green_share: 7 } }),
      client.patch(`/leases/${second?.body.id}`, { ext: { green_share: null } }),
    ])
    const fields = await client.get('/schema-fields')
    expect(fields.body.data).toMatchObject([{ filterable: true, indexed: true }])
    const behind = await owner()
    const { rows } = await behind.query(
      'select v_num::float8 as v from ext_index where org_id = $1',
      [client.org_id],
    )
    await behind.end()
    expect(rows).toEqual([{ v: 7 }])
  })

  it('indexes texts that are longer than the field allows by now, and forgets what was cleared meanwhile', async () => {
    const client = await newOrganization()
    const { db } = await grid()
    const party = async (motto: string): Promise<string> =>
      (await client.post('/parties', { ...samples.party(), ext: { motto } })).body.id
    const change = (op: string, more: object): Promise<Answer> =>
      deployOperations(client, [{ op, object_type: 'party', field: 'motto', ...more }])
    const field = { op: 'add_attribute', object_type: 'party', label: 'Motto', type: 'text' }
    await deployOperations(client, [{ ...field, max_length: 20_000 }])
    const noise = Array.from({ length: 500 }, () => randomUUID()).join('')
    const [long, short] = [await party(`Z${noise}`), await party('A')]
    await change('set_validation', { max_length: 100 })
    await change('set_filterable', { filterable: true })
    await tendSchemas(db, fail, running)
    expect((await client.patch(`/parties/${long}`, { dba_name: 'Long' })).status).toBe(200)
    const sorted = async (): Promise<string[]> =>
      (await client.get('/parties?sort=-ext.motto')).body.data.map(({ id }: { id: string }) => id)
    expect(await sorted()).toEqual([long, short])
    await change('set_filterable', { filterable: false })
    await client.patch(`/parties/${long}`, { ext: { motto: null } })
    await change('set_filterable', { filterable: true })
    await tendSchemas(db, fail, running)
    expect((await client.get('/parties?ext.motto[gte]=B')).body.data).toEqual([])
    expect(await sorted()).toEqual([short, long])
  })

  it('converts values to another type under the same name; what cannot be converted stays in the facts', async () => {
    const client = await newOrganization()
    await deployed(client, 'add a text field rating to leases')
    const leases = await Promise.all(
      ['4', '4,5', 'good'].map((rating) => newLease(client, { ext: { rating } })),
    )
    const plan = await client.post('/schema-extensions/propose', {
      text: 'convert rating on leases to decimal',
    })
    const preview = await client.get(`/schema-extensions/${plan.body.id}/preview`)
    expect(preview.body).toMatchObject({
      conversions: [
        {
          field: 'lease.rating',
          values: 3,
          convertible: 2,
          failing: 1,
          samples: [{ value: 'good' }],
        },
      ],
      cost: { objects: 3, values_to_convert: 2 },
      issues: [],
    })
    const path = `/schema-extensions/${plan.body.id}`
    await client.post(`${path}/approve`, { confirm: ['rating'] })
    expect((await client.post(`${path}/deploy`, {})).status).toBe(200)
    const { db } = await grid()
    await tendSchemas(db, fail, running)
    const shown = await Promise.all(
      leases.map(async ({ body }) => (await client.get(`/leases/${body.id}`)).body.ext),
    )
    expect(shown).toEqual([{ rating: 4 }, { rating: 4.5 }, { rating: null }])
    const facts = await client.get(`/grid/v2/objects/${leases[0]?.body.id}/facts?field=ext.rating`)
    expect(facts.body.data).toMatchObject([{ value: 4, source: { kind: 'computed' } }])
    expect((await client.post(`${path}/rollback`, {})).status).toBe(200)
    expect((await client.get(`/leases/${leases[2]?.body.id}`)).body.ext).toEqual({ rating: 'good' })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('converts nothing over what was written to the new field meanwhile', async () => {
    const client = await newOrganization()
    await deployed(client, 'add a text field rating to leases')
    const { body: lease } = await newLease(client, { ext: { rating: '4' } })
    await deployed(client, 'convert rating on leases to decimal')
    await client.patch(`/leases/${lease.id}`, { ext: { rating: 9 } })
    await client.patch(`/leases/${lease.id}`, { ext: { rating: null } })
    const { db } = await grid()
    await tendSchemas(db, fail, running)
    expect((await client.get(`/leases/${lease.id}`)).body.ext).toEqual({ rating: null })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})

describe('a load', () => {
  it('fills fields, keeps those that others filled, and tells of both', async () => {
    const client = await newOrganization()
    await deployed(
      client,
      'add a filterable percent field share to buildings; yes/no pets on buildings',
    )
    const head = 'Code,Name,Area\n'
    await load(client, adapterOf(), `${head}A,Alpha,100\n`, '2025-01-01')
    const { id } = (await client.get('/buildings?code=A')).body.data[0]
    await client.patch(`/buildings/${id}`, { ext: { pets: true } })
    await load(client, adapterOf(), `${head}A,Alpha,150\n`, '2025-02-01')
    const { body } = await client.get(`/buildings/${id}`)
    expect(body).toMatchObject({ rentable_area: 150, ext: { pets: true, share: null } })

    const [field] = (await client.get('/schema-fields')).body.data
    const key = `x${String(field.id).slice(4)}`
    const made = await written(client.org_id, {
      name: 'Beta',
      property_id: body.property_id,
      [key]: 12.5,
    })
    expect((await client.get('/buildings?ext.share[gt]=12')).body.data).toMatchObject([
      { id: made, name: 'Beta', ext: { share: 12.5, pets: null } },
    ])
    await placeAll(client.org_id)
    const { body: feed } = await client.get(`/events?object_id=${made}`)
    expect(feed.data[0].data).toMatchObject({ object: { ext: { share: 12.5 } } })
    expect(feed.data[0].data.changed).toContain('ext.share')
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})

/** Loads one building as a job does. @returns its id. */
async function written(org_id: number, stated: Row): Promise<string> {
  const { app } = await grid()
  const store = await ownStore(app.store, org_id)
  const sources = await ranksOf(store.db, org_id)
  const source_id = Math.max(...sources.keys())
  const one: Load = {
    store,
    org_id,
    job_id: 1,
    actor: SYSTEM,
    source_id,
    source: sources.get(source_id) as Source,
    confidence: 1_000,
    stream: 'test',
    resource: store.registry.get('building') as Resource,
    names: new Set(Object.keys(stated)),
    parts: new Map(),
    at: Date.parse('2025-03-01'),
    next: null,
    all: false,
    watched: false,
    unseen: false,
  }
  const prepared = await prepare(one, [{ key: 'B', row: 1, hash: '1', object_id: null, stated }])
  const writes = doorWrites(one, prepared, [])
  await store.db.transaction(org_id, async (tx) => await write(one, tx, prepared, writes))
  return `bld_${prepared.creates[0]?.id}`
}

it('adapters and tables are told of the fields that there are', async () => {
  const client = await newOrganization()
  await deployed(
    client,
    'select fit-out: shell, Warm shell on spaces; add a money field budget in EUR to spaces; add a link to a party called broker on spaces',
  )
  const { app } = await grid()
  const { id } = (await client.get('/schema-fields')).body.data[0]
  const fields = (await extFields(app.store, client.org_id)).get('space')
  expect(fields?.['fit_out']).toMatchObject({
    key: `x${id.slice(4)}`,
    field: { kind: 'choice', schema: { enum: ['shell', 'Warm shell', 'warm_shell'] } },
    stored: { shell: 1, 'Warm shell': 2, warm_shell: 2 },
  })
  expect(Object.keys(fields ?? {})).toEqual(['fit_out', 'budget'])
  const columns = (await extColumns(app.store, client.org_id)).get('space')
  expect(columns?.map(({ name }) => name)).toEqual(['ext.fit_out', 'ext.budget', 'ext.broker'])
})
