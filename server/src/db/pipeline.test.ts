import { afterAll, describe, expect, inject, it } from 'vitest'
import { Gather, Pipeline } from './pipeline.ts'
import type { Cells, Param } from './pipeline.ts'

const { host, port, app: user } = inject('database')
const pipeline = new Pipeline({ host, port, user, database: 'postgres' }, 1)
await pipeline.open()
afterAll(async () => await pipeline.close())

const text = (rows: Cells[] | undefined): (string | null)[] =>
  (rows ?? []).map((row) => row[0]?.toString() ?? null)

async function one(sql: string, ...params: Param[]): Promise<(string | null)[]> {
  const [rows] = await pipeline.fly([{ sql, params }])
  return text(rows)
}

describe('a pipelined connection', () => {
  it('answers many flights in the order they were sent, whatever their rows weigh', async () => {
    const sql = 'select repeat($1::text, $2::integer)'
    const sizes = [1, 300_000, 0, 5, 1_000_000, 262_144, 262_139, 7]
    const found = await Promise.all(sizes.map(async (size, i) => await one(sql, String(i), size)))
    expect(found.map(([cell]) => cell?.length)).toEqual(sizes)
    expect(found.every(([cell], i) => cell === String(i).repeat(sizes[i] as number))).toBe(true)
  })

  it('passes every kind of value, and null', async () => {
    const sql =
      'select to_jsonb(array[$1::text, $2::integer::text, $3::bigint::text, $4::boolean::text, $5::text])'
    const [cell] = await one(sql, `ü'"\\ 🏢`, -1, 2n ** 62n, true, null)
    expect(JSON.parse(String(cell))).toEqual([`ü'"\\ 🏢`, '-1', String(2n ** 62n), 'true', null])
  })

  it('runs a flight as one transaction: when a statement fails none has an effect', async () => {
    const values = await pipeline
      .fly([
        { sql: 'create temporary table effect (n integer)', params: [] },
        { sql: 'select 1 / $1::integer', params: [0] },
        { sql: 'select 2', params: [] },
      ])
      .catch((error: { code: string }) => error.code)
    expect(values).toBe('22012')
    expect(await one(`select to_regclass('effect')`)).toEqual([null])
  })

  it('fails alone: flights before and after it are answered', async () => {
    const bad = async (): Promise<unknown> =>
      await one('select 1 / $1::integer', 0).catch(() => 'failed')
    const good = async (n: number): Promise<unknown> => await one('select $1::integer', n)
    const found = await Promise.all([good(1), bad(), good(2), bad(), bad(), good(3)])
    expect(found).toEqual([['1'], 'failed', ['2'], 'failed', 'failed', ['3']])
  })

  it('keeps no statement that failed', async () => {
    for (let i = 0; i < 30; i++) await one('select 1 / $1::integer', 0).catch(() => null)
    await one('select 1')
    const [count] = await one(
      `select count(*) from pg_prepared_statements where statement like 'select 1 /%'`,
    )
    expect(Number(count)).toBeLessThanOrEqual(1)
  })

  it('prepares again what the server has forgotten, and gathers each row once', async () => {
    const page = async (): Promise<string> => {
      const gather = new Gather('[', Buffer.allocUnsafe(16))
      const rows = {
        sql: 'select n::text, n from generate_series(1, $1::integer) n',
        params: [5],
        gather,
      }
      const count = { sql: 'select count(*) from generate_series(1, $1::integer)', params: [5] }
      const [list] = await pipeline.fly([rows, count])
      return gather.finish(list?.length ?? 0, ']').toString()
    }
    expect(await page()).toBe('[1,2,3,4,5]')
    await one('deallocate all')
    expect(await page()).toBe('[1,2,3,4,5]')
    const [name] = await one(
      `select name from pg_prepared_statements where statement like 'select count(*) from gen%'`,
    )
    await one(`deallocate ${name}`)
    expect(await page()).toBe('[1,2,3,4,5]')
  })

  it('closes the statements prepared longest ago when there are too many', async () => {
    for (let i = 0; i < 600; i++) await one(`select ${i}`)
    const [count] = await one('select count(*) from pg_prepared_statements')
    expect(Number(count)).toBeLessThanOrEqual(501)
    expect(await one('select 0')).toEqual(['0'])
  })

  it('that is lost fails what was in the air and is opened anew for the next flight', async () => {
    const [pid] = await one('select pg_backend_pid()')
    const sleeping = one('select pg_sleep(30)').catch((error: Error) => error.message)
    const other = new Pipeline({ host, port, user, database: 'postgres' }, 1)
    await other.fly([{ sql: 'select pg_terminate_backend($1::integer)', params: [String(pid)] }])
    expect(await sleeping).toMatch(/database closed the connection/)
    expect(await one('select 1')).toEqual(['1'])
    expect(await one('select pg_backend_pid()')).not.toEqual([pid])
    await other.close()
    await expect(other.fly([{ sql: 'select 1', params: [] }])).rejects.toThrow(
      /connections are closed/,
    )
  })
})
