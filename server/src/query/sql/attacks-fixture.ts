/** Statements that are refused before the database sees them, and ordinary ones beside them. */

/** Ways to make one value of all columns of `a`. */
const WHOLE_ROWS = [
  'a::text',
  'to_jsonb(a)',
  'to_jsonb(a.*)',
  'a.to_jsonb',
  '(a).to_jsonb',
  'concat(a)',
  'row(a.*)::text',
  'row((lag(a) over ()).*)::text',
  '(select to_jsonb(b) from (select a.*) b)',
]

/** What is refused before the database sees it, with a code of the refusal. */
export const REFUSED: [string, string, string][] = [
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
  ['gathers rows in an array', 'select array(select data from lease)', 'not_allowed'],
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
  ['doubles text by joining', doublingJoined(16), 'too_large'],
  ['plans the same again for each use', plannedAgain(16), 'not_allowed'],
  ...WHOLE_ROWS.map((whole): [string, string, string] => [
    `puts whole rows together: ${whole}`,
    wholeRows(6, whole),
    'too_large',
  ]),
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

function doublingJoined(levels: number): string {
  const parts = Array.from(
    { length: levels },
    (_, i) => `t${i + 1} as (select x from t${i} a full join t${i} b using (x))`,
  )
  return `with t0 as (select name as x from property), ${parts.join(', ')} select x from t${levels}`
}

function plannedAgain(levels: number): string {
  const parts = Array.from(
    { length: levels },
    (_, i) => `t${i + 1} as not materialized (select a.x from t${i} a, t${i} b)`,
  )
  return `with t0 as (select name as x from property), ${parts.join(', ')} select x from t${levels}`
}

/** Level upon level, each with columns of which every one holds the whole row of the level before. */
function wholeRows(levels: number, whole: string): string {
  const columns = Array.from({ length: 20 }, (_, i) => `${whole} as c${i}`).join(', ')
  const parts = Array.from(
    { length: levels },
    (_, i) => `t${i + 1} as (select ${columns} from t${i} a)`,
  )
  return `with t0 as (select name as x from property), ${parts.join(', ')} select c0 from t${levels}`
}

/** What people write, however much of it there is, is no growth. */
export const LET_THROUGH = [
  'select to_jsonb(l), l.* from lease l join property p on p.id = l.property_id',
  'select (jsonb_each(data)).* from lease',
  `with a as (select * from lease), b as (select * from a), c as (select * from b) select to_jsonb(c) from c`,
  `with status as (select status, count(*) from lease group by status) select status.status, status.count from status`,
  `select l.id from lease l where exists (select * from property p where p.id = l.property_id) order by l.data ->> 'status'`,
  `select * from (select * from lease union all select * from lease) x natural join (select id from lease) y`,
]
