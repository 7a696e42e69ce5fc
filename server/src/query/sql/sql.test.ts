import { afterAll, describe, expect, it } from 'vitest'
import { grid, newClient, newOrganization, owner } from '../../../test/grid.ts'
import { portfolio } from '../../../test/samples.ts'
import { columns } from '../../kit/row.ts'
import type { Row } from '../../kit/resource.ts'
import { ALL_SCOPES } from '../../kit/scopes.ts'
import { resources } from '../../resources.ts'
import { openConsole } from './console-fixture.ts'
import { SqlParser } from './parser.ts'
import { valueOf } from './values.ts'
import { readViews } from './view-queries.ts'

/** The type by its number. */
const JSONB = 3802

const { app, run, own, foreign, ids } = await openConsole()
afterAll(async () => await app.close())

describe('a statement', () => {
  it('answers its rows with what their columns are, no digit lost', async () => {
    const { status, body } = await run(
      `select api_id, id, version, rentable_area, expiration_date, is_month_to_month, tags, created_at, data -> 'currency' as currency, null as nothing from lease`,
    )
    expect(status).toBe(200)
    const id = Number(String(ids['lease']).slice(3))
    const { body: lease } = await own.get(`/leases/${ids['lease']}`)
    expect(body.rows).toEqual([
      [
        ids['lease'],
        id,
        1,
        '5000',
        '2030-12-31',
        lease.is_month_to_month,
        '{}',
        expect.any(String),
        'USD',
        null,
      ],
    ])
    expect(new Date(body.rows[0][7]).toISOString()).toBe(lease.created_at)
    expect(body.columns.map(({ type }: { type: string }) => type)).toEqual([
      'text',
      'bigint',
      'integer',
      'numeric',
      'date',
      'boolean',
      'text[]',
      'timestamptz',
      'jsonb',
      'text',
    ])
    expect(body).toMatchObject({
      object: 'sql_result',
      row_count: 1,
      limit_hit: null,
      ms: expect.any(Number),
    })
  })

  it('keeps every digit of numbers within JSON', () => {
    for (const text of ['12345678901234567890', '[1.10,{"a":0.12345678901234567890}]', '1e400'])
      expect(JSON.stringify(valueOf(JSONB, text))).toBe(text)
    expect(valueOf(JSONB, '{"a":[1,0.5,"12345678901234567890"]}')).toEqual({
      a: [1, 0.5, '12345678901234567890'],
    })
  })

  const FINE: [string, string, unknown[][]][] = [
    [
      'joins',
      `select p.name, l.rentable_area from lease l join property p on p.id = l.property_id`,
      [['Harbor Point', '5000']],
    ],
    [
      'groups',
      `select status, count(*), sum(rentable_area) from lease group by 1 having count(*) > 0 order by 2 desc`,
      [['draft', 1, '5000']],
    ],
    [
      'windows',
      `select row_number() over w, rank() over (partition by type order by id) from objects window w as (order by id) order by 1 limit 1`,
      [[1, 1]],
    ],
    [
      'common table expressions',
      `with a as (select property_id as p, rentable_area x from lease), b as (select p, sum(x) as s from a group by p) select s from b where p in (select p from a)`,
      [['5000']],
    ],
    [
      'months',
      `select to_char(d, 'YYYY-MM') from generate_series('2026-01-31'::date, '2026-03-31', interval '1 month') as d`,
      [['2026-01'], ['2026-02'], ['2026-03']],
    ],
    [
      'cases',
      `select case when rentable_area >= 5000 then 'large' else 'small' end, coalesce(null, greatest(1, 2)) from lease`,
      [['large', 2]],
    ],
    [
      'dates',
      `select extract(year from expiration_date)::int, date_trunc('month', expiration_date)::date, expiration_date - commencement_date, age(expiration_date, commencement_date) is not null from lease`,
      [[2030, '2030-12-01', 1825, true]],
    ],
    [
      'JSON',
      `select data #>> '{address,city}', k.key from property, jsonb_each(data -> 'address') as k where k.key = 'city'`,
      [['Boston', 'city']],
    ],
    [
      'facts',
      `select f.value from facts f join lease l on l.id = f.object_id where f.field = 'rentable_area' and f.source = 'API'`,
      [[5000]],
    ],
    [
      'the schema',
      `select type from schema where view = 'lease' and "column" = 'expiration_date'`,
      [['date']],
    ],
    ['sets', `select 1 union all select 2 except select 3 order by 1`, [[1], [2]]],
    [
      'text',
      `select upper(left(name, 3)) || '-' || length(name), name ilike 'harbor%', position('P' in name), trim(' x '), substring(name from 1 for 2) from property`,
      [['HAR-12', true, 8, 'x', 'Ha']],
    ],
    [
      'rollups',
      `select type, count(*) from objects where type in ('lease', 'party') group by rollup (type) order by 1 nulls last`,
      [
        ['lease', 1],
        ['party', 1],
        [null, 2],
      ],
    ],
    ['what it ends in', 'select 1; -- the end', [[1]]],
    [
      'lists of values',
      `select x.a from (values (1), (2)) as x (a) where x.a = any (array[2, 3]) and x.a between 1 and 2 and not x.a in (7) and x.a is not null`,
      [[2]],
    ],
    [
      'percentiles',
      'select percentile_cont(0.5) within group (order by a) from generate_series(1, 3) a',
      [[2]],
    ],
    [
      'lateral parts',
      `select s.y from lease l cross join lateral (select l.rentable_area * 2 as y) s`,
      [['10000']],
    ],
    [
      'what exists',
      `select exists (select from lease l where l.property_id = p.id), (select count(*) from lease) from property p`,
      [[true, 1]],
    ],
  ]
  it.each(FINE)('may use %s', async (_, sql, rows) => {
    const { body } = await run(sql)
    expect(body.errors ?? body.detail).toBeUndefined()
    expect(body.rows).toEqual(rows)
  })

  it('answers as many rows as are asked for', async () => {
    const { body } = await run('select api_id from objects', 2)
    expect(body).toMatchObject({ row_count: 2, limit_hit: 'rows' })
    expect((await run('select 1', 0)).status).toBe(422)
    expect((await run('select 1', 1001)).status).toBe(422)
  })

  it('that fails says why and where, as the database does', async () => {
    const { body } = await run('select nope from lease')
    expect(body).toMatchObject({
      code: 'sql_failed',
      detail: expect.stringContaining('nope'),
      sqlstate: '42703',
    })
  })

  it('that is refused is told everything at once, with what was meant', async () => {
    const { body } = await run('select lenght(x), pg_sleep(1) from leases')
    const at = { field: 'sql', pointer: '/sql' }
    expect(body.errors).toEqual([
      {
        ...at,
        code: 'unknown_function',
        message: `the function 'lenght' is not allowed`,
        suggestion: 'length',
      },
      { ...at, code: 'unknown_function', message: `the function 'pg_sleep' is not allowed` },
      { ...at, code: 'unknown_view', message: `there is no view 'leases'`, suggestion: 'lease' },
    ])
  })

  it('is in the audit log with what it cost, also when it was refused', async () => {
    const by = await newOrganization()
    await run('select count(*) from lease', undefined, by)
    await run('select pg_sleep(60)', undefined, by)
    const sql = await owner()
    const { rows } = await sql.query(
      `select action, details from audit_entry where org_id = $1 and action = 'sql.run' order by tx_id`,
      [by.org_id],
    )
    await sql.end()
    expect(rows.map(({ details }) => details)).toEqual([
      {
        sql: 'select count(*) from lease',
        outcome: 'ok',
        views: ['lease'],
        cost: expect.any(Number),
        rows: 1,
        ms: expect.any(Number),
      },
      {
        sql: 'select pg_sleep(60)',
        outcome: 'sql_refused',
        views: [],
        cost: null,
        rows: null,
        ms: null,
      },
    ])
  })
})

describe('the console', () => {
  it('is open to sandboxes, and closed to others unless the service says so', async () => {
    const sandbox = await newOrganization({ standing: { environment: 'sandbox' } })
    const ask = async (client: typeof sandbox): Promise<unknown> =>
      (await client.post('/grid/v2/sql', { sql: 'select 1' })).body
    expect(await ask(sandbox)).toMatchObject({ rows: [[1]] })
    const live = await newOrganization()
    expect(await ask(live)).toMatchObject({ status: 403, code: 'console_closed' })
    const sql = await owner()
    const { rows } = await sql.query<{ details: Row }>(
      `select details from audit_entry where org_id = $1 and action = 'sql.run'`,
      [live.org_id],
    )
    await sql.end()
    expect(rows).toMatchObject([{ details: { sql: 'select 1', outcome: 'console_closed' } }])
  })

  it('asks for its scope and that of every view, and is not for keys of some properties', async () => {
    const some = await newClient(own.org_id, ['console:sql', 'read:leases', 'read:facts'])
    expect((await run('select 1 from lease', undefined, some)).status).toBe(200)
    expect((await run('select 1 from facts', undefined, some)).status).toBe(200)
    for (const [view, scope] of [
      ['property', 'read:properties'],
      ['objects', 'read:organizations'],
    ])
      expect(
        await run(`with x as (select 1 from ${view}) select * from x`, undefined, some),
      ).toMatchObject({ status: 403, body: { code: 'insufficient_scope', required_scope: scope } })
    const none = await newClient(
      own.org_id,
      ALL_SCOPES.filter((scope) => scope !== 'console:sql'),
    )
    expect(await run('select 1', undefined, none)).toMatchObject({
      status: 403,
      body: { required_scope: 'console:sql' },
    })
  })

  it('has a view of every type, with every column that its fields declare and what each means', async () => {
    const { db } = await grid()
    const views = new Map((await readViews(db)).map((view) => [view.name, view]))
    expect([...views.keys()]).toEqual([
      ...resources.map(({ name }) => name),
      'objects',
      'facts',
      'schema',
    ])
    for (const resource of resources) {
      const found = Object.fromEntries(
        (views.get(resource.name)?.columns ?? []).map(({ name, type }) => [name, type]),
      )
      const declared = Object.fromEntries(columns(resource).map(({ name, type }) => [name, type]))
      expect(found).toMatchObject({
        id: 'bigint',
        api_id: 'text',
        ...declared,
        version: 'integer',
        data: 'jsonb',
      })
    }
    for (const { description, columns: list } of views.values()) {
      expect(description).toBeTruthy()
      expect(list.filter((column) => !column.description)).toEqual([])
    }
    const { body } = await own.get('/grid/v2/sql/views')
    expect(body.data.map(({ name }: { name: string }) => name)).toEqual([...views.keys()])
  })

  it('shows no more than what was not deleted', async () => {
    const by = await newOrganization()
    const mine = await portfolio(by)
    await by.delete(`/work_orders/${mine['work_order']}`)
    expect((await run('select count(*) from work_order', undefined, by)).body.rows).toEqual([[0]])
  })

  it('runs two statements of an organization at a time, and those of others beside them', async () => {
    const names = ['a', 'b', 'c']
    const series = names.map((n) => `generate_series(1, 3000) ${n}`).join(', ')
    const hidden = names.map((n) => `length(${n}::text) - length(${n}::text) = 0`).join(' and ')
    const slow = `select count(*) from ${series} where ${hidden}`
    const answers = await Promise.all([
      ...Array.from({ length: 3 }, async () => await run(slow)),
      run('select 1', undefined, foreign),
    ])
    expect(answers.map(({ body }) => String(body.code ?? 'ok')).toSorted()).toEqual([
      'ok',
      'query_timeout',
      'query_timeout',
      'rate_limited',
    ])
  })
})

describe('the parser', () => {
  it('goes on after a statement that broke it, and after a thousand that are none', async () => {
    const parser = new SqlParser({ views: ['lease'], columns: [] })
    const broken = `select ${'(select '.repeat(3_000)}1${')'.repeat(3_000)}`
    for (let i = 0; i < 3; i++) expect(await parser.read(broken)).toHaveProperty('broken')
    const all = await Promise.all(
      Array.from({ length: 1_100 }, async () => await parser.read('selec')),
    )
    expect(all.every((judged) => 'syntax' in judged)).toBe(true)
    expect(await parser.read('select 1 from lease')).toEqual({
      verdict: { views: ['lease'], refusals: [] },
    })
    await parser.close()
  })
})
