/** The attack table of the SQL console: nothing of another organization is returned, nothing runs past its limits. */
import { afterAll, describe, expect, it } from 'vitest'
import { Client } from 'pg'
import { grid, owner } from '../../../test/grid.ts'
import { consoleConfig } from '../../db/console-role.ts'
import { FUNCTIONS } from './allowed.ts'
import { SqlConsole } from './console.ts'
import { LET_THROUGH, REFUSED } from './attacks-fixture.ts'
import { openConsole } from './console-fixture.ts'

const { app, run, own, foreign, ids, foreignIds } = await openConsole()
afterAll(async () => await app.close())

const MEGABYTE = 1_048_576

describe('a statement that', () => {
  it.each(LET_THROUGH)('is ordinary is answered: %s', async (sql) => {
    expect(await run(sql)).toMatchObject({ status: 200 })
  })

  it.each(REFUSED)('%s is refused', async (_, sql, code) => {
    const answer = await run(sql)
    expect(answer).toMatchObject({ status: 422, body: { code: 'sql_refused' } })
    expect(answer.body.errors.map((error: { code: string }) => error.code)).toContain(code)
  })

  it.each([
    [
      'makes a billion rows',
      'select count(*) from generate_series(1, 1000000000)',
      'query_too_costly',
    ],
    [
      'joins all with all',
      `select count(*) from ${Array.from({ length: 6 }, (_, i) => `generate_series(1, 1000) a${i}`).join(', ')}`,
      'query_too_costly',
    ],
    [
      'hides from the planner how much it does',
      `select count(*) from ${['a', 'b', 'c'].map((n) => `generate_series(1, 3000) ${n}`).join(', ')}
        where ${['a', 'b', 'c'].map((n) => `length(${n}::text) - length(${n}::text) = 0`).join(' and ')}`,
      'query_timeout',
    ],
    [
      'sorts more than there is room for',
      `select a, md5(a::text || b::text) as m from generate_series(1, 3000) a, generate_series(1, 3000) b order by m`,
      'query_t',
    ],
    ['divides by nothing', 'select 1 / 0', 'sql_failed'],
    ['asks for a column that is none', 'select nope from lease', 'sql_failed'],
    [
      'reads bytes without end',
      `select data || data from lease where 1 / (version - version) = 1`,
      'sql_failed',
    ],
  ])('%s is stopped', async (_, sql, code) => {
    const started = performance.now()
    const { status, body } = await run(sql)
    expect(status).toBe(422)
    expect(body.code).toMatch(new RegExp(`^${code}`))
    expect(performance.now() - started).toBeLessThan(15_000)
  })

  it('answers too much is cut off: rows and bytes', async () => {
    const rows = await run('select i from generate_series(1, 100000) i')
    expect(rows.body).toMatchObject({ row_count: 1000, limit_hit: 'rows' })
    // The wide text is made once, so that sending it is all there is to do.
    const text = Array.from({ length: 60 }, () => 'data::text').join(' || ')
    const wide = `with w as materialized (select ${text} as t from lease) select t from w, generate_series(1, 900)`
    const bytes = await run(wide)
    expect(bytes.body.limit_hit).toBe('bytes')
    expect(JSON.stringify(bytes.body).length).toBeLessThan(14 * MEGABYTE)
    expect(bytes.body.row_count).toBeGreaterThan(1)
  })

  it('tries every view and column never meets another organization', async () => {
    const { body } = await own.get('/grid/v2/sql/views')
    for (const { name } of body.data as { name: string }[]) {
      const answer = await run(`select * from ${name}`)
      expect(answer.status, name).toBe(200)
      expect(answer.body.row_count, name).toBeGreaterThan(0)
      const text = JSON.stringify(answer.body.rows)
      for (const id of Object.values(foreignIds)) expect(text, name).not.toContain(`"${id}"`)
    }
    const seen = await run('select api_id from objects order by api_id')
    expect(seen.body.rows.flat().toSorted()).toEqual(Object.values(ids).toSorted())
    const digits = Object.values(foreignIds).map((id) => id.replace(/^.*_/, ''))
    expect(
      (await run(`select count(*) from facts where object_id in (${digits.join(', ')})`)).body.rows,
    ).toEqual([[0]])
  })

  it('fails does not tell of rows that it may not see', async () => {
    const digits = String(foreignIds['lease']).slice(3)
    const leak = `select 1 / (case when id = ${digits} then 0 else 1 end) from lease`
    expect((await run(leak)).body.rows).toEqual([[1]])
    const cast = `select count(*) from facts where object_id = ${digits} and (value #>> '{}')::int > 0`
    expect((await run(cast)).body.rows).toEqual([[0]])
  })
})

/** Without the parser: what the role of the console can do by itself, if the fence before it had a hole. */
describe('behind the fence', () => {
  async function raw(sql: string): Promise<unknown> {
    const { db } = await grid()
    const console = new SqlConsole(db, 1_000_000)
    try {
      return (await console.run(own.org_id, sql, 1_000)).rows
    } catch (error) {
      return (error as Error).message
    } finally {
      await console.close()
    }
  }

  it('a session has no organization but that of its token', async () => {
    const count = 'select count(*) from console.lease'
    expect(await raw(count)).toEqual([[1]])
    const { db } = await grid()
    const forged = `(select count(*) from public.lease where org_id = ${foreign.org_id})`
    expect(await raw(`select ${forged}`)).toEqual([[0]])
    expect(await raw(`select set_config('app.org_id', '${foreign.org_id}', true)`)).toMatch(
      /permission denied/,
    )
    expect(await raw('select count(*) from public.console_context')).toMatch(/permission denied/)
    expect(await raw('select count(*) from public.api_key')).toMatch(/permission denied/)
    expect(await raw('select app.org()')).toMatch(/permission denied/)
    expect(await raw(`select app.set_org(${foreign.org_id})`)).toMatch(/permission denied/)
    // The rows that any role may read of the service's are none.
    expect(await db.flyControl('select count(*) from console_context', [])).toEqual([
      [Buffer.from('0')],
    ])
  })

  it('a token that is forged or has expired opens nothing', async () => {
    const { db } = await grid()
    const client = new Client(consoleConfig(db.config))
    await client.connect()
    const count = async (token: string): Promise<unknown> => {
      await client.query('begin')
      await client.query(`set local app.console_token = '${token}'`)
      const { rows } = await client.query('select count(*)::int as n from lease')
      await client.query('rollback')
      return rows[0].n
    }
    const sql = await owner()
    const put = async (token: string, age: string): Promise<void> => {
      await sql.query(
        `insert into console_context values (sha256($1::bytea), $2, now() + $3::interval)`,
        [token, own.org_id, age],
      )
    }
    await put('good', '1 minute')
    await put('old', '-1 second')
    expect([
      await count('good'),
      await count('old'),
      await count('forged'),
      await count(''),
    ]).toEqual([1, 0, 0, 0])
    await sql.query('delete from console_context where org_id = $1', [own.org_id])
    const settings = await client.query(`select name, setting from pg_settings where name in
      ('default_transaction_read_only', 'work_mem', 'max_parallel_workers_per_gather', 'temp_file_limit', 'statement_timeout') order by name`)
    expect(settings.rows.map(({ setting }) => setting)).toEqual([
      'on',
      '0',
      '5000',
      '262144',
      '16384',
    ])
    await expect(client.query('create temp table t (a int)')).rejects.toThrow(/read-only/)
    await expect(client.query('set role grid_app')).rejects.toThrow(/permission denied/)
    await expect(client.query('set session authorization grid')).rejects.toThrow(
      /permission denied/,
    )
    await client.end()
    await sql.end()
  })

  it('no function of the list changes anything, waits, or depends on more than its arguments and the time', async () => {
    const sql = await owner()
    const { rows } = await sql.query(
      `select f.name, bool_or(p.provolatile = 'v') as volatile, bool_or(p.prosecdef) as definer, count(p.oid)::int as found
       from unnest($1::text[]) f(name) left join pg_proc p on p.proname = f.name and p.pronamespace = 'pg_catalog'::regnamespace
       group by 1 having bool_or(p.provolatile = 'v') or bool_or(p.prosecdef) or count(p.oid) = 0`,
      [[...FUNCTIONS]],
    )
    await sql.end()
    expect(rows).toEqual([])
  })

  it('it can neither write, nor read files, nor run past its time', async () => {
    expect(await raw(`update lease set version = 1`)).toMatch(/syntax error|cannot|permission/)
    expect(await raw(`select pg_read_file('/etc/passwd')`)).toMatch(/permission denied/)
    expect(await raw(`select lo_import('/etc/passwd')`)).toMatch(/permission denied|read-only/)
    expect(await raw('select 1; select 2')).toMatch(/multiple commands|syntax error/)
    const started = performance.now()
    expect(await raw('select pg_sleep(60)')).toMatch(/stopped/)
    expect(performance.now() - started).toBeLessThan(15_000)
  })
})
