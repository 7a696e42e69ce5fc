/** A sandbox: emptied, filled, its clock moved; and what never happens to live data. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { sealAll } from '../../test/audit.ts'
import { eventsOf } from '../../test/feed.ts'
import { grid, newOrganization, owner, ownDatabase } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { leaseParents, portfolio, samples } from '../../test/samples.ts'
import { auditKey } from '../audit/key.ts'
import { ORG_TABLES } from '../db/tables.ts'
import { form } from '../documents/upload-fixture.ts'
import { storageOf } from '../documents/storage.ts'
import type { Row } from '../kit/resource.ts'
import { loop } from '../queue/loop.ts'
import { placeTransactions } from '../events/sequencer.ts'
import { sealing } from '../queue/work.ts'
import { tendAgendas } from '../schedule/service.ts'
import { claimTask } from './queries.ts'
import { takeTask } from './work.ts'

// Tasks are taken of every organization, and the tests want to choose when.
await ownDatabase()

const problems: string[] = []
let stop: (() => Promise<void>) | null = null

/** A worker, as a process has it. */
async function work(): Promise<void> {
  const { app, db } = await grid()
  const storage = storageOf(app.config)
  const log = (text: string): void => void problems.push(text)
  const seal = sealing(db, auditKey(app.config))
  stop = loop('sandboxes', log, async (stopping) => takeTask({ db, storage, seal, log, stopping }))
}

async function rest(): Promise<void> {
  await stop?.()
  stop = null
}

beforeAll(work)
afterAll(rest)

async function newSandbox(): Promise<TestClient> {
  return await newOrganization({ standing: { environment: 'sandbox' } })
}

/** A portfolio is some thousand writes, which a busy machine takes its time for. */
const LONG_MS = 110_000
const LONG = { timeout: 120_000 }

/** Has a task done, however long that takes on a busy machine. */
async function done(client: TestClient, path: string, body?: Row): Promise<Row> {
  const asked = await client.post(path, body)
  expect([200, 202], JSON.stringify(asked.body)).toContain(asked.status)
  const task = async (): Promise<Row> => (await client.get(`/sandbox/tasks/${asked.body.id}`)).body
  await expect.poll(async () => (await task())['finished_at'], { timeout: LONG_MS }).not.toBeNull()
  return await task()
}

const ASYNC = { prefer: 'respond-async' }

async function counts(client: TestClient): Promise<Record<string, number>> {
  return (await client.get('/sandbox')).body.objects
}

describe('what a sandbox refuses', () => {
  const posts: [string, Row | undefined][] = [
    ['/sandbox/reset', undefined],
    ['/sandbox/seed', { portfolio: 'demo' }],
    ['/sandbox/clock', { advance_days: 1 }],
  ]
  it.each(posts)('%s with a live key is 403 and touches nothing', async (path, body) => {
    const client = await newOrganization()
    await portfolio(client)
    const before = await counts(client)
    const answer = await client.post(path, body)
    expect(answer).toMatchObject({ status: 403, body: { code: 'sandbox_only' } })
    expect(await counts(client)).toEqual(before)
    expect((await client.get('/sandbox')).body).toMatchObject({
      environment: 'production',
      last_task: null,
    })
  })

  it('live data is not reached even past the endpoint', async () => {
    const { db } = await grid()
    const client = await newOrganization()
    await portfolio(client)
    const emptied = db.query(client.org_id, 'select app.empty_sandbox()', [])
    await expect(emptied).rejects.toThrow(/is no sandbox/)
    expect((await counts(client))['lease']).toBe(1)
  })

  const bad: [string, Row, string][] = [
    ['/sandbox/seed', { portfolio: 'mine' }, 'portfolio'],
    ['/sandbox/seed', { portfolio: 'demo', size: 'xxl' }, 'size'],
    ['/sandbox/seed', { portfolio: 'demo', seed: -1 }, 'seed'],
    ['/sandbox/clock', {}, 'advance_days'],
    ['/sandbox/clock', { advance_days: -1 }, 'advance_days'],
    ['/sandbox/clock', { advance_days: 1.5 }, 'advance_days'],
    ['/sandbox/clock', { advance_days: 36_501 }, 'advance_days'],
  ]
  it.each(bad)('%s %j is 422', async (path, body, field) => {
    const client = await newSandbox()
    const answer = await client.post(path, body)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field }] } })
  })
})

/** Tables that a reset leaves as they are: settings, logs, and what others of the organization are told by. */
const KEPT =
  `organization tx source sandbox_clock sandbox_task app_installation audit_entry audit_seal
  audit_checkpoint audit_head audit_due request_log usage_request usage_meter webhook
  webhook_health delivery_log delivery_body replay inbox inbox_request adapter
  adapter_version connection schedule saved_query schema_field schema_plan schema_version
  survivorship_rule survivorship_head`.split(/\s+/)

describe('emptying', () => {
  it('has been decided on for every table', async () => {
    const client = await owner()
    const { rows } = await client.query<{ emptied: string[] }>(
      'select app.sandbox_tables() as emptied',
    )
    await client.end()
    const emptied = rows[0]?.emptied ?? []
    expect(emptied.filter((name) => KEPT.includes(name))).toEqual([])
    const open = ORG_TABLES.filter((name) => !KEPT.includes(name) && !emptied.includes(name))
    expect(open).toEqual([])
  })

  it('removes data and feed; keys, webhooks and the audit chain stay, and a neighbour is not touched', async () => {
    const [client, other] = await Promise.all([newSandbox(), newSandbox()])
    await Promise.all([portfolio(client), portfolio(other)])
    const document = await client.post(
      '/documents',
      form({ title: 'Lease', document_type: 'lease' }, {}),
    )
    expect(document.status).toBe(201)
    const hook = { url: 'https://hooks.example/a', events: ['*'] }
    expect((await client.post('/webhooks', hook)).status).toBe(201)
    const answer = await client.post('/sandbox/reset', undefined)
    expect(answer).toMatchObject({
      status: 200,
      body: { kind: 'reset', state: 'completed', result: { deleted: 10 }, attempts: 1 },
    })
    expect(Object.values(await counts(client)).every((count) => count === 0)).toBe(true)
    expect((await client.get('/webhooks')).body.data).toHaveLength(1)
    expect((await client.get(`/documents/${document.body.id}/content`)).status).toBe(404)
    expect((await counts(other))['lease']).toBe(1)
    const events = await eventsOf(client.org_id)
    expect(events.map(({ type }) => type)).toEqual(['sandbox.reset'])
    const { db } = await grid()
    while ((await placeTransactions(db)) > 0);
    const facts = await owner()
    const { rows } = await facts.query(
      'select count(*)::integer as n from assertion where org_id = $1 and object_id <> $1',
      [client.org_id],
    )
    const audit = await facts.query('select action from audit_entry where org_id = $1', [
      client.org_id,
    ])
    await facts.end()
    await sealAll(client)
    expect((await client.get('/audit-logs/verify')).body).toMatchObject({ ok: true, fault: null })
    const [made] = (await client.get('/audit-logs?action=lease.created')).body.data
    expect(made.after).toMatchObject({ lease_type: 'direct' })
    expect(rows).toEqual([{ n: 0 }])
    expect(audit.rows.map(({ action }: { action: string }) => action)).toContain('lease.created')
    // The sandbox goes on as a new one would.
    await portfolio(client)
    expect((await counts(client))['lease']).toBe(1)
  })

  it('waits for who holds the audit chain, so that no entry loses what it tells', async () => {
    const client = await newSandbox()
    const path = `/audit-logs?action=party.created`
    await client.post('/parties', { ...samples.party(), legal_name: 'Before' })
    const holder = await owner()
    await holder.query('insert into audit_head (org_id) values ($1) on conflict do nothing', [
      client.org_id,
    ])
    await holder.query('begin')
    await holder.query('select from audit_head where org_id = $1 for update', [client.org_id])
    const asked = await client.post('/sandbox/reset', undefined, ASYNC)
    const state = async (): Promise<string> =>
      (await client.get(`/sandbox/tasks/${asked.body.id}`)).body.state
    await expect.poll(state).toBe('running')
    await client.post('/parties', { ...samples.party(), legal_name: 'Meanwhile' })
    expect(await state()).toBe('running')
    await holder.query('rollback')
    await holder.end()
    await expect.poll(state).toBe('completed')
    await sealAll(client)
    const entries = (await client.get(path)).body.data as { after: Row }[]
    const names = entries.map(({ after }) => after['legal_name'])
    expect(new Set(names)).toEqual(new Set(['Before', 'Meanwhile']))
  })

  it('leaves what the audit log is still to tell of', async () => {
    const { db } = await grid()
    const client = await newSandbox()
    await client.post('/parties', samples.party())
    await db.query(client.org_id, 'select app.empty_sandbox()', [])
    await sealAll(client)
    const [made] = (await client.get('/audit-logs?action=party.created')).body.data
    expect(made.after).toMatchObject({ legal_name: samples.party().legal_name })
    await db.query(client.org_id, 'select app.empty_sandbox()', [])
    expect(await eventsOf(client.org_id)).toEqual([])
  })

  it('is done once per idempotency key', async () => {
    const client = await newSandbox()
    const header = { 'idempotency-key': 'reset-1' }
    const first = await client.post('/sandbox/reset', undefined, { ...header, ...ASYNC })
    expect(first.status).toBe(202)
    const { id } = first.body
    expect(first.headers.get('location')).toBe(`/api/v1/sandbox/tasks/${id}`)
    await expect
      .poll(async () => (await client.get(`/sandbox/tasks/${id}`)).body.state)
      .toBe('completed')
    const again = await client.post('/sandbox/reset', undefined, header)
    expect([again.status, again.body.id]).toEqual([202, id])
    expect((await client.get('/sandbox/tasks')).body.data).toHaveLength(1)
  })
})

describe('filling', () => {
  it('writes a portfolio, and refuses what holds objects', LONG, async () => {
    const one = await newSandbox()
    const body = { portfolio: 'demo', size: 's', seed: 7 }
    const first = await done(one, '/sandbox/seed', body)
    expect(first).toMatchObject({ kind: 'seed', state: 'completed' })
    expect((await counts(one))['lease']).toBeGreaterThan(10)
    expect(await one.post('/sandbox/seed', body)).toMatchObject({ status: 409 })
    const empty = await done(one, '/sandbox/seed', { portfolio: 'empty', replace: true })
    expect(empty).toMatchObject({ state: 'completed', result: { created: {} } })
    expect((await counts(one))['property']).toBe(0)
  })

  it('is whole when its worker is killed halfway', LONG, async () => {
    const { db } = await grid()
    await rest()
    const client = await newSandbox()
    const asked = await client.post('/sandbox/seed', { portfolio: 'demo' }, ASYNC)
    expect(await client.post('/sandbox/reset', undefined)).toMatchObject({ status: 409 })
    // A worker takes it, writes a part, and is gone: no session has its number any more.
    expect(await claimTask(db, 1, 999_999)).toMatchObject({ org_id: client.org_id })
    await portfolio(client)
    await work()
    const path = `/sandbox/tasks/${asked.body.id}`
    const state = async (): Promise<string> => (await client.get(path)).body.state
    await expect.poll(state, { timeout: LONG_MS }).toBe('completed')
    const { body } = await client.get(path)
    expect(body.attempts).toBe(2)
    const made = Object.entries(body.result.created as Record<string, number>)
    expect(made.length).toBeGreaterThan(5)
    expect(await counts(client)).toMatchObject(Object.fromEntries(made))
  })
})

const dayIn = (days: number): string =>
  new Date(Date.now() + days * 86_400_000).toISOString().slice(0, 10)

describe('the clock', () => {
  it(
    'fires commencements, steps, escalations, options, critical dates, ends and promised times, once each',
    LONG,
    async () => {
      const client = await newSandbox()
      const { property_id, tenant_party_id } = await leaseParents(client)
      const step = (start_date: string, amount_monthly: string): Row => ({
        start_date,
        kind: 'base',
        amount_monthly,
      })
      const made = await client.post('/leases', {
        ...samples.lease(property_id, tenant_party_id),
        status: 'draft',
        commencement_date: dayIn(3),
        expiration_date: dayIn(200),
        rent_schedule: [
          { ...step(dayIn(3), '1000.00'), end_date: dayIn(102) },
          step(dayIn(103), '1100.00'),
        ],
        escalations: [{ method: 'fixed_pct', value: 3, first_date: dayIn(60) }],
        options: [{ option_type: 'renewal', notice_start_date: dayIn(80), term_months: 60 }],
        critical_dates: [{ date_type: 'estoppel', date: dayIn(50), reminders_days: [10] }],
      })
      expect(made.status, JSON.stringify(made.body)).toBe(201)
      for (const status of ['in_review', 'out_for_signature', 'executed'])
        expect((await client.patch(`/leases/${made.body.id}`, { status })).status).toBe(200)
      const order = await client.post('/work_orders', {
        ...samples.work_order(property_id),
        priority: 'normal',
      })
      expect(order.status).toBe(201)
      const advance = async (advance_days: number): Promise<Row> => {
        return (await done(client, '/sandbox/clock', { advance_days }))['result'] as Row
      }
      const first = await advance(2)
      expect(first).toMatchObject({ ahead_days: 2 })
      expect(Object.keys(first['fired'] as Row).filter((type) => type.startsWith('lease'))).toEqual(
        [],
      )
      const next = await advance(2)
      expect(next['fired']).toMatchObject({ 'lease.commenced': 1 })
      const rest_ = await advance(210)
      expect(rest_).toMatchObject({
        ahead_days: 214,
        fired: {
          'lease.critical_date_due': 2,
          'lease.escalation_due': 1,
          'lease.expired': 1,
          'lease.expiring': 3,
          'lease.option_window_opened': 1,
          'lease.rent_step_started': 1,
        },
      })
      expect((await client.get(`/leases/${made.body.id}`)).body.status).toBe('expired')
      expect((await advance(0))['fired']).toEqual({})
      const told = (await eventsOf(client.org_id, ['work_order.*'])).map(({ type }) => type)
      expect(told.filter((type) => type === 'work_order.sla_breached').length).toBeGreaterThan(0)
      const state = await client.get('/sandbox')
      expect(state.body.clock.ahead_days).toBe(214)
      expect(state.body.clock.now.slice(0, 10)).toBe(dayIn(214))
      // From now on what is due by that clock happens by itself.
      const { db } = await grid()
      const late = await client.post('/leases', {
        ...samples.lease(property_id, tenant_party_id),
        status: 'draft',
        commencement_date: dayIn(213),
        expiration_date: dayIn(900),
      })
      for (const status of ['in_review', 'out_for_signature', 'executed'])
        await client.patch(`/leases/${late.body.id}`, { status })
      const stopping = new AbortController().signal
      await tendAgendas(db, { now: new Date(), log: (text) => problems.push(text), stopping })
      expect((await client.get(`/leases/${late.body.id}`)).body.status).toBe('active')
      await client.post('/sandbox/reset', undefined)
      expect((await client.get('/sandbox')).body.clock.ahead_days).toBe(0)
    },
  )

  it('makes retries due that wait for a later time', async () => {
    const client = await newSandbox()
    const hook = await client.post('/webhooks', { url: 'https://hooks.example/a', events: ['*'] })
    const db = await owner()
    const insert = async (id: number, next: string): Promise<void> =>
      void (await db.query(
        `insert into delivery (org_id, webhook_id, id, tx_id, n, type, object_id, created_at, state, trigger, next_at)
         values ($1, $2, $3, 1, 0, 'lease.created', 1, now(), 'pending', 'event', now() + $4::interval)`,
        [client.org_id, Number(String(hook.body.id).slice(3)), id, next],
      ))
    await insert(1, '5 hours')
    await insert(2, '3 days')
    const { body } = await client.post('/sandbox/clock', { advance_days: 1 })
    expect(body.result.retries).toBe(1)
    const { rows } = await db.query(
      'select id from delivery where org_id = $1 and next_at <= now() order by id',
      [client.org_id],
    )
    await db.end()
    expect(rows).toEqual([{ id: '1' }])
  })

  it('of one sandbox is not that of another', async () => {
    const [client, other] = await Promise.all([newSandbox(), newSandbox()])
    await client.post('/sandbox/clock', { advance_days: 30 })
    expect((await other.get('/sandbox')).body.clock.ahead_days).toBe(0)
  })
})

it('no task had to be tried again that was not meant to', () => {
  expect(problems).toEqual([])
})
