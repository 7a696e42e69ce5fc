import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { inject } from 'vitest'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { allowing } from '../../addresses.ts'
import { owner } from '../../../test/grid.ts'
import { postgresRows } from './postgres-queries.ts'
import type { PostgresPull } from './postgres-queries.ts'
import type { PostgresSettings, PostgresSource } from './types.ts'

/** Another system's schema, in the database of the tests. */
const SCHEMA = `pms_${randomBytes(4).toString('hex')}`

/** The database of the tests may listen on a socket file only: here it is on a port of this host. */
const door = createServer((socket) => {
  const { host, port } = inject('database')
  const behind = host.startsWith('/') ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host)
  for (const [from, to] of [
    [socket, behind],
    [behind, socket],
  ] as const)
    from.on('error', () => to.destroy()).pipe(to)
})

beforeAll(async () => {
  await once(door.listen(0, '127.0.0.1'), 'listening')
  const client = await owner()
  await client.query(`create schema ${SCHEMA}`)
  await client.query(
    `create table ${SCHEMA}."Leases" (id bigint, rent numeric, "Changed" timestamptz, note text)`,
  )
  await client.query(
    `insert into ${SCHEMA}."Leases" select i, 12345678901234567890.10 + i, timestamptz '2026-01-01Z' + i * interval '1 hour', null
     from generate_series(1, 2500) i`,
  )
  await client.end()
})

afterAll(async () => {
  door.close()
  const client = await owner()
  await client.query(`drop schema ${SCHEMA} cascade`)
  await client.end()
})

async function pull(
  source: Partial<PostgresSource>,
  given: Partial<Omit<PostgresPull, 'settings'>> & { settings?: Partial<PostgresSettings> } = {},
  sizes: number[] = [],
): Promise<{ text: string; cursor: string | null }[]> {
  const { owner: user } = inject('database')
  const { port } = door.address() as AddressInfo
  const rows: { text: string; cursor: string | null }[] = []
  const batches = postgresRows({
    secret: null,
    allowed: allowing(['127.0.0.1/32']),
    signal: new AbortController().signal,
    ...given,
    source: { kind: 'postgres', connection: 'test', ...source },
    settings: {
      host: '127.0.0.1',
      port,
      database: 'postgres',
      user,
      tls: 'off',
      ...given.settings,
    },
  })
  for await (const batch of batches) {
    sizes.push(batch.length)
    rows.push(...batch)
  }
  return rows
}

describe('rows of another database', () => {
  it('come with every digit, from a table or a select', async () => {
    const rows = await pull({ table: `${SCHEMA}.Leases` })
    expect(rows).toHaveLength(2500)
    expect(rows[0]?.text).toContain('"rent":12345678901234567891.10')
    const [one] = await pull({
      sql: `select id, note from ${SCHEMA}."Leases" where id = 7 -- the seventh`,
    })
    expect(one).toEqual({ text: '{"id":7,"note":null}', cursor: null })
  })

  it('come few at a time when they are large, and none that is too large', async () => {
    const large = (bytes: number): string =>
      `select repeat('x', ${bytes}) as text from generate_series(1, 60)`
    const sizes: number[] = []
    const rows = await pull({ sql: large(900_000) }, {}, sizes)
    expect([rows.length, Math.max(...sizes.slice(1))]).toEqual([60, 4])
    await pull({ sql: 'select 1 as one from generate_series(1, 9)' }, { first: 5 }, sizes)
    expect(sizes.slice(-2)).toEqual([5, 4])
    await expect(pull({ sql: large(1_100_000) })).rejects.toMatchObject({
      code: 'source_too_large',
    })
  })

  it('come in the order of the cursor, from a value on', async () => {
    const since = { cursor: 'Changed', from: '2026-04-14T02:00:00Z' }
    const rows = await pull({ table: `${SCHEMA}.Leases` }, { since })
    expect(rows.map(({ text }) => (JSON.parse(text) as { id: number }).id).slice(0, 2)).toEqual([
      2474, 2475,
    ])
    expect(rows).toHaveLength(27)
    expect(Date.parse(`${rows.at(-1)?.cursor}:00`)).toBe(
      Date.parse('2026-01-01T00:00:00Z') + 2500 * 3_600_000,
    )
  })

  it.each<[string, Partial<PostgresSource>, Parameters<typeof pull>[1], string]>([
    ['a table that is not there', { table: 'nothing.here' }, {}, 'source_failed'],
    [
      'two statements',
      { sql: `select 1) r; drop table ${SCHEMA}."Leases"; select (2` },
      {},
      'source_failed',
    ],
    [
      'a write',
      { sql: `with gone as (delete from ${SCHEMA}."Leases" returning *) select * from gone` },
      {},
      'source_failed',
    ],
    ['a function that writes', { sql: `select setval('app.tx_seq', 1)` }, {}, 'source_failed'],
    [
      'a database that is not there',
      { table: 'x' },
      { settings: { database: 'nothing' } },
      'source_failed',
    ],
    ['a port without one', { table: 'x' }, { settings: { port: 1 } }, 'source_unreachable'],
    [
      'one without TLS that is to be verified',
      { table: 'x' },
      { settings: { tls: 'verify' } },
      'source_tls',
    ],
    ['a private address', { table: 'x' }, { allowed: allowing([]) }, 'source_unreachable'],
    [
      'a name of a private address',
      { table: 'x' },
      {
        settings: { host: 'db.example' },
        allowed: allowing([]),
        resolve: async () => [{ address: '10.0.0.1', family: 4 }],
      },
      'source_unreachable',
    ],
  ])('are refused: %s', async (_, source, given, code) => {
    await expect(pull(source, given)).rejects.toMatchObject({ code })
    const client = await owner()
    const { rows } = await client.query(`select count(*) from ${SCHEMA}."Leases"`)
    await client.end()
    expect(rows).toEqual([{ count: '2500' }])
  })
})
