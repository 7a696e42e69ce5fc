/** The attack table of the SQL console: nothing of another organization is returned, nothing runs past its limits. */
import { afterAll, describe, expect, it } from 'vitest'
import { Client } from 'pg'
import { grid, owner } from '../../../test/grid.ts'
import { consoleConfig } from '../../db/console-role.ts'
import { FUNCTIONS } from './allowed.ts'
import { SqlConsole } from './console.ts'
import { openConsole } from './console-fixture.ts'

const { app, run, own, foreign, ids, foreignIds } = await openConsole()
afterAll(async () => await app.close())

const MEGABYTE = 1_048_576

/** What is refused before the database sees it, with a code of the refusal. */
const REFUSED: [string, string, string][] = [
  [
    'sets its organization',
    `with x as materialized (select set_config('app.org_id','2',true)) select id from x, lease`,
    'unknown_function',
  ],
  ['sets its token', `select set_config('app.console_token','00',true)`, 'unknown_function'],
  ['reads its token', `select current_setting('app.console_token')`, 'unknown_function'],
  [
    'runs SQL within a function',
    `select query_to_xml('select * from public.lease', true, false, '')`,
    'unknown_function',
  ],
  [
    'runs SQL in a cursor',
    `select cursor_to_xml('answer', 1, false, false, '')`,
    'unknown_function',
  ],
  [
    'runs SQL in another table',
    `select table_to_xml('public.lease', true, false, '')`,
    'unknown_function',
  ],
  [
    'runs SQL over a link',
    `select * from dblink('host=127.0.0.1', 'select 1') as t(a int)`,
    'not_allowed',
  ],
  ['runs SQL over a link in a list', `select dblink_exec('select 1')`, 'unknown_function'],
  ['runs a block', `do $$ begin perform 1; end $$`, 'not_select'],
  ['sends two statements', 'select 1; select 2', 'one_statement'],
  ['sends none', '-- nothing', 'one_statement'],
  ['sleeps', 'select pg_sleep(60)', 'unknown_function'],
  ['sleeps, qualified', 'select pg_catalog.pg_sleep(60)', 'unknown_function'],
  ['sleeps, in a list of rows', 'select * from pg_sleep(60)', 'unknown_function'],
  [
    'sleeps, in a default of a window',
    'select lag(1, 1, pg_sleep(9)::text::int) over () from lease',
    'unknown_function',
  ],
  ['sleeps, in an order', 'select 1 from lease order by pg_sleep(9)', 'unknown_function'],
  ['sleeps, in a limit', 'select 1 limit length(pg_sleep(9)::text)', 'unknown_function'],
  [
    'sleeps, in a filter',
    'select count(*) filter (where pg_sleep(9) is null) from lease',
    'unknown_function',
  ],
  ['sleeps, in a VALUES', 'values (pg_sleep(9))', 'unknown_function'],
  [
    'sleeps, in a join',
    'select 1 from lease a join lease b on pg_sleep(9) is null',
    'unknown_function',
  ],
  ['sleeps, in an array', 'select (array[pg_sleep(9)::text])[1]', 'unknown_function'],
  ['updates', `update lease set status = 'x'`, 'not_select'],
  [
    'updates within WITH',
    `with x as (update lease set status = 'x' returning 1) select * from x`,
    'not_allowed',
  ],
  [
    'deletes within WITH',
    'with x as (delete from lease returning 1) select * from x',
    'not_allowed',
  ],
  ['inserts', 'insert into lease (id) values (1)', 'not_select'],
  ['makes a table', 'select * into stolen from lease', 'not_allowed'],
  ['makes a table as', 'create table stolen as select 1', 'not_select'],
  ['copies to a program', `copy (select 1) to program 'sh'`, 'not_select'],
  ['reads a file', `select pg_read_file('/etc/passwd')`, 'unknown_function'],
  ['reads a binary file', `select pg_read_binary_file('/etc/passwd')`, 'unknown_function'],
  ['lists a folder', `select pg_ls_dir('/')`, 'unknown_function'],
  ['imports a file', `select lo_import('/etc/passwd')`, 'unknown_function'],
  ['writes a file', `select lo_export(1, '/tmp/x')`, 'unknown_function'],
  ['makes a large object', `select lo_from_bytea(0, 'x')`, 'unknown_function'],
  ['takes a lock', 'select pg_advisory_lock(7016, 0)', 'unknown_function'],
  ['takes a lock for the transaction', 'select pg_try_advisory_xact_lock(1)', 'unknown_function'],
  ['locks rows', 'select id from lease for update', 'not_allowed'],
  ['notifies', `select pg_notify('a', 'b')`, 'unknown_function'],
  ['listens', 'listen a', 'not_select'],
  ['sets', `set role grid_app`, 'not_select'],
  ['shows', 'show all', 'not_select'],
  ['explains', 'explain analyze select 1', 'not_select'],
  ['prepares', 'prepare x as select 1', 'not_select'],
  ['ends the transaction', 'commit', 'not_select'],
  ['sees who works', 'select * from pg_stat_activity', 'unknown_view'],
  ['ends who works', 'select pg_terminate_backend(1)', 'unknown_function'],
  ['sees roles', 'select * from pg_roles', 'unknown_view'],
  ['sees the catalog', 'select * from pg_class', 'unknown_view'],
  ['sees the catalog, qualified', 'select * from pg_catalog.pg_class', 'not_allowed'],
  ['sees tables, qualified', 'select * from public.api_key', 'not_allowed'],
  ['sees tables', 'select * from api_key', 'unknown_view'],
  ['sees tables of the views', 'select * from assertion', 'unknown_view'],
  ['sees the contexts', 'select * from console_context', 'unknown_view'],
  ['sees the information schema', 'select * from information_schema.tables', 'not_allowed'],
  [
    'sees tables behind a name of WITH elsewhere',
    'select * from (with api_key as (select 1) select 1 from api_key) x, api_key',
    'unknown_view',
  ],
  ['casts to a name of the catalog', `select 'api_key'::regclass`, 'unknown_type'],
  ['casts to a role', `select 1::regrole`, 'unknown_type'],
  ['casts to XML', `select '<a/>'::xml`, 'unknown_type'],
  ['casts to the type of a table', `select (null::api_key)`, 'unknown_type'],
  ['asks who it is', 'select current_user', 'not_allowed'],
  ['asks where it is', 'select current_catalog', 'not_allowed'],
  ['asks for the version', 'select version()', 'unknown_function'],
  ['asks for the address', 'select inet_server_addr()', 'unknown_function'],
  ['calls a function of ours', 'select app.set_org(1)', 'unknown_function'],
  ['calls a function as a column', 'select l.pg_column_size from lease l', 'unknown_column'],
  ['calls a function as a column of a row', 'select (l).to_json from lease l', 'unknown_column'],
  ['calls an aggregate as a column', 'select l.json_agg from lease l', 'unknown_column'],
  [
    'calls an aggregate as a column it names',
    'select l.json_agg from (select 1 as json_agg) x, lease l',
    'unknown_column',
  ],
  ['uses an operator of a schema', 'select 1 operator(pg_catalog.+) 1', 'unknown_operator'],
  ['raises to a power', 'select 9.99 ^ 99999.99', 'unknown_operator'],
  ['repeats', `select repeat('x', 900000000)`, 'unknown_function'],
  ['pads', `select lpad('x', 900000000)`, 'unknown_function'],
  ['formats widely', `select format('%900000000s', 'x')`, 'unknown_function'],
  [
    'gathers text',
    `select string_agg(md5(i::text), '') from generate_series(1, 20000000) i`,
    'unknown_function',
  ],
  ['gathers arrays', 'select array_agg(i) from generate_series(1, 20000000) i', 'unknown_function'],
  ['gathers JSON', 'select jsonb_agg(data) from lease', 'unknown_function'],
  [
    'makes series of what it reads',
    'select 1 from generate_series(1, (select 1000000000))',
    'not_constant',
  ],
  [
    'recurs',
    'with recursive t(n) as (select 1 union all select n + 1 from t) select n from t',
    'not_allowed',
  ],
  [
    'recurs and doubles',
    `with recursive t(a) as (select 'xx' union all select a || a from t) select 1 from t`,
    'not_allowed',
  ],
  ['doubles text level upon level', doubling(16), 'too_large'],
  ['doubles text in WITH', doublingWith(16), 'too_large'],
  ['doubles text beside itself', doublingBeside(16), 'too_large'],
  [
    'replaces one sign by many, again and again',
    `select replace(replace(replace('a', 'a', '${'a'.repeat(900)}'), 'a', '${'a'.repeat(900)}'), 'a', '${'a'.repeat(900)}')`,
    'too_large',
  ],
  [
    'replaces by what it reads',
    `select replace(data::text, 'a', data::text) from lease`,
    'too_large',
  ],
  ['samples', 'select 1 from lease tablesample system (1)', 'not_allowed'],
  ['reads XML tables', `select * from xmltable('/a' passing '<a/>' columns b text)`, 'not_allowed'],
  [
    'reads JSON tables',
    `select * from json_table('[]', '$' columns (a int path '$'))`,
    'not_allowed',
  ],
  ['names a collation', `select 'a' collate "C"`, 'not_allowed'],
  ['takes a parameter', 'select $1', 'not_allowed'],
  ['nests without end', `select ${'(select '.repeat(1_100)}1${')'.repeat(1_100)}`, 'too_deep'],
  ['adds without end', `select 1${'+1'.repeat(4_900)}`, 'too_deep'],
  ['denies without end', `select ${'not '.repeat(2_400)}true`, 'too_deep'],
  ['is no SQL', 'selec 1', 'syntax'],
]

function doubling(levels: number): string {
  let sql = 'select name as x from property'
  for (let i = 0; i < levels; i++) sql = `select x || x as x from (${sql}) s${i}`
  return sql
}

function doublingWith(levels: number): string {
  const parts = Array.from(
    { length: levels },
    (_, i) => `t${i + 1} as (select x || x as x from t${i})`,
  )
  return `with t0 as (select name as x from property), ${parts.join(', ')} select x from t${levels}`
}

function doublingBeside(levels: number): string {
  const parts = Array.from(
    { length: levels },
    (_, i) => `lateral (select x${i} || x${i} as x${i + 1}) s${i + 1}`,
  )
  return `select x${levels} from (select name as x0 from property) s0, ${parts.join(', ')}`
}

describe('a statement that', () => {
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
    const wide = `select ${Array.from({ length: 60 }, () => 'x.data::text').join(' || ')} from lease x, generate_series(1, 900) i`
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
