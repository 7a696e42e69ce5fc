/** Logs are kept as long as their settings say, and the audit chain can be verified whatever was dropped. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterEach, describe, expect, inject, test } from 'vitest'
import { sealAll, tamper } from '../../test/audit.ts'
import { grid, newOrganization, owner } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { verifyFile } from '../audit/verify-file.ts'
import { readConfig } from '../config.ts'
import { readMigrations } from '../db/migrate.ts'
import { dropOldLogs, forgetAnswers } from './retention.ts'

const DAY_MS = 24 * 60 * 60 * 1_000

async function sql<T extends object>(text: string, params: unknown[] = []): Promise<T[]> {
  const client = await owner()
  try {
    return (await client.query<T>(text, params)).rows
  } finally {
    await client.end()
  }
}

async function partitions(like: string): Promise<string[]> {
  const rows = await sql<{ name: string }>(
    `select relname as name from pg_class where relispartition and relkind = 'r' and relname like $1 order by 1`,
    [like],
  )
  return rows.map(({ name }) => name)
}

const day = (days_ago: number): string =>
  new Date(Date.now() - days_ago * DAY_MS).toISOString().slice(0, 10)

const named = (date: string): string => `request_log_${date.replaceAll('-', '')}`

/** Other tests may hold a log for longer than a drop waits: like background work, this tries again. */
async function patiently(run: () => Promise<unknown>): Promise<void> {
  while (true) {
    try {
      await run()
      return
    } catch (error) {
      if ((error as { code?: string }).code !== '55P03') throw error
    }
  }
}

/** Drops what is older than the settings say. @returns the partitions that went. */
async function drop(settings: Readonly<Record<string, string>> = {}): Promise<string[]> {
  const { db } = await grid()
  const before = await partitions('%')
  await patiently(async () => await dropOldLogs(db, readConfig(settings)))
  const left = new Set(await partitions('%'))
  return before.filter((name) => !left.has(name))
}

afterEach(async () => {
  await drop()
})

describe('the request log', () => {
  test('is dropped by the day, 30 days after unless told otherwise', async () => {
    await sql('select app.ensure_partitions($1::date), app.ensure_partitions($2::date)', [
      day(35),
      day(27),
    ])
    const left = await drop({ GRID_RETENTION_REQUEST_LOG_DAYS: '0' })
    expect(left.filter((name) => name.startsWith('request_log'))).toEqual([])
    const dropped = await drop()
    const expected = [35, 34, 33, 32, 31].map((days) => named(day(days)))
    expect(dropped.filter((name) => name.startsWith('request_log'))).toEqual(expected)
    expect(await partitions('request_log_2%')).toContain(named(day(30)))
    const shorter = await drop({ GRID_RETENTION_REQUEST_LOG_DAYS: '28' })
    expect(shorter).toEqual([named(day(30)), named(day(29))])
  })

  test('has its partitions a week ahead', async () => {
    const names = await partitions('request_log_2%')
    for (const days of [0, 1, 2, 3, 4, 5, 6, 7]) expect(names).toContain(named(day(-days)))
  })
})

describe('what is dropped', () => {
  const old = ['audit_entry_202001', 'audit_seal_202001', 'event_202001']

  test('is wholly older, in every log', async () => {
    await sql(`select app.ensure_partitions('2020-01-05')`)
    expect(await partitions('%_202001')).toEqual(old)
    const dropped = await drop()
    for (const name of [...old, 'event_202002', 'request_log_20200105'])
      expect(dropped).toContain(name)
    expect(await partitions('%_202001')).toEqual([])
    expect(await drop()).toEqual([])
  })

  test('is nothing that is kept for ever', async () => {
    await sql(`select app.ensure_partitions('2020-01-05')`)
    const settings = { GRID_RETENTION_AUDIT_DAYS: '0', GRID_RETENTION_EVENTS_DAYS: '0' }
    await drop(settings)
    expect(await partitions('%_202001')).toEqual(old)
  })

  test('is never young, whatever the service asks for', async () => {
    const { db } = await grid()
    for (const log of ['audit_seal', 'audit_entry', 'event', 'request_log', 'party', 'nothing'])
      await patiently(
        async () => await db.flyControl(`select app.drop_partitions($1, 'infinity')`, [log]),
      )
    const left = await partitions('%')
    const month = day(0).slice(0, 7).replace('-', '')
    expect(left).toContain(`event_${month}`)
    for (const table of ['audit_seal', 'audit_entry']) expect(left).toContain(`${table}_${month}`)
    for (const days of [0, 1]) expect(left).toContain(named(day(-days)))
    expect(() => readConfig({ GRID_RETENTION_AUDIT_DAYS: '7' })).toThrow(/30 to 36500/)
  })

  test('are no events that someone still needs', async () => {
    const client = await owner()
    await client.query('begin')
    await client.query(`select app.ensure_partitions('2020-01-05')`)
    await client.query(
      `create or replace function app.events_needed_since() returns timestamptz language sql as $$ select '2020-01-20Z'::timestamptz $$`,
    )
    const drop = `select app.drop_partitions('event', '2021-01-01') as name`
    expect((await client.query(drop)).rows).toEqual([])
    await client.query(
      `create or replace function app.events_needed_since() returns timestamptz language sql as $$ select '2020-02-01Z'::timestamptz $$`,
    )
    expect((await client.query(drop)).rows).toEqual([{ name: 'event_202001' }])
    await client.query('rollback')
    await client.end()
  })
})

describe('the audit chain', () => {
  test('can be verified after its older part was dropped', async () => {
    const client = await newOrganization()
    await client.post('/parties', samples.party())
    await sealAll(client)
    await sql(`select app.ensure_partitions('2020-01-05')`)
    // As if that had been in January 2020.
    await tamper(
      [`update audit_seal set at = '2020-01-20Z' where org_id = $1`, [client.org_id]],
      [`update audit_head set at = '2020-01-20Z' where org_id = $1`, [client.org_id]],
    )
    await client.post('/parties', samples.party())
    await sealAll(client)
    const whole = await client.get('/audit-logs/verify')
    expect(whole.body).toMatchObject({ ok: true, first_position: 1, checkpoints: 1 })
    const first_position = whole.body.entries as number
    expect(await drop()).toContain('audit_seal_202001')
    const rest = await client.get('/audit-logs/verify')
    expect(rest.body).toMatchObject({ ok: true, entries: 1, first_position, checkpoints: 1 })

    const folder = await mkdtemp(join(tmpdir(), 'grid-retention-'))
    const file = join(folder, 'export.ndjson')
    await writeFile(file, (await client.get('/audit-logs/export')).body)
    expect(await verifyFile(file, null)).toMatchObject({ ok: true, entries: 1, first_position })
    await rm(folder, { recursive: true })

    await tamper(['delete from audit_checkpoint where org_id = $1', [client.org_id]])
    expect((await client.get('/audit-logs/verify')).body).toMatchObject({
      ok: false,
      fault: { position: 1, reason: 'missing' },
    })
  })
})

describe('stored answers', () => {
  test.each([
    ['24', { kept: 1, old: 0 }],
    ['48', { kept: 1, old: 1 }],
    ['0', { kept: 1, old: 1 }],
  ])('are kept for %s hours', async (hours, expected) => {
    const client = await newOrganization()
    const { db } = await grid()
    for (const key of ['kept', 'old'])
      await client.post('/parties', samples.party(), { 'idempotency-key': key })
    await sql(
      `update idempotency set at = now() - interval '25 hours' where org_id = $1 and key = 'old'`,
      [client.org_id],
    )
    await forgetAnswers(db, readConfig({ GRID_RETENTION_IDEMPOTENCY_HOURS: hours }))
    const [found] = await sql(
      `select count(*) filter (where key = 'kept')::int as kept, count(*) filter (where key = 'old')::int as old
       from idempotency where org_id = $1`,
      [client.org_id],
    )
    expect(found).toEqual(expected)
  })
})

describe('a database from before', () => {
  test('keeps its request log and gets its old entries sealed', async () => {
    const { host, port, owner: user } = inject('database')
    const name = `before_${process.pid}_${Date.now()}`
    await sql(`create database ${name}`)
    const client = new Client({ host, port, user, database: name })
    await client.connect()
    try {
      const migrations = await readMigrations()
      for (const migration of migrations.filter((one) => one.name < '0012'))
        await client.query(migration.sql)
      await client.query(
        `insert into request_log select 1, at, 7, 'req_1', 'GET', '/', '/', 200, 1, null, null, null
         from unnest(array[now(), date_trunc('month', now())]) as at`,
      )
      await client.query(
        `insert into tx (org_id, tx_id, at, events, first_seq, source_id, actor_type, actor_name) values (1, 1, now(), 1, 1, 1, 'system', 'x')`,
      )
      for (const migration of migrations.filter((one) => one.name >= '0012'))
        await client.query(migration.sql)
      const { rows } = await client.query('select count(*)::int as kept from request_log')
      expect(rows).toEqual([{ kept: 2 }])
      const due = await client.query('select app.audits_due(10)::int as org_id')
      expect(due.rows).toEqual([{ org_id: 1 }])
    } finally {
      await client.end()
      await sql(`drop database ${name}`)
    }
  })
})
