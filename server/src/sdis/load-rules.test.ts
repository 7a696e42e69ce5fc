import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newOrganization, owner } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import { samples } from '../../test/samples.ts'
import { adapterOf, buildings, errorsOf, load } from './load-fixture.ts'

const HEAD = 'Code,Name,Area\n'

describe('guards', () => {
  const rows = (count: number, from = 0): string =>
    HEAD + Array.from({ length: count }, (_, i) => `K${from + i},N,1\n`).join('')

  it('refuse a file with too few rows, and nothing of it is written', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf({}, { guards: { min_rows: 20 } }), rows(19))
    expect(job).toMatchObject({
      state: 'failed',
      error: { code: 'too_few_rows', details: { rows: 19, min_rows: 20 } },
      counts: { created: 0 },
    })
    expect(await buildings(client, 'name')).toEqual({})
  })

  it.each([
    ['number', { max_errors: 1 }, 'awaiting_review'],
    ['number', { max_errors: 2 }, 'completed_with_errors'],
    ['share', { max_error_pct: 19 }, 'awaiting_review'],
    ['share', { max_error_pct: 20 }, 'completed_with_errors'],
  ])('weigh the errors by %s: %j is %s', async (_, guards, state) => {
    const client = await newOrganization()
    const csv = `${rows(8)}B1,N,x\nB2,N,y\n`
    const job = await load(client, adapterOf({}, { guards }), csv)
    expect(job).toMatchObject({ state, counts: { rows_read: 10, quarantined: 2 } })
    expect(await errorsOf(client, job)).toHaveLength(2)
    const waits = state === 'awaiting_review'
    expect(Object.keys(await buildings(client, 'name'))).toHaveLength(waits ? 0 : 8)
    if (!waits) return
    expect(job.error).toMatchObject({ code: 'too_many_errors' })
    await client.post(`/sdis/jobs/${job.id}/approve`, undefined)
    expect(await finished(client, job.id)).toMatchObject({
      state: 'completed_with_errors',
      counts: { rows_read: 10, quarantined: 2, created: 8 },
    })
    expect(await errorsOf(client, job)).toHaveLength(2)
  })

  it('want columns that the adapter does not read', async () => {
    const client = await newOrganization()
    const guards = { require_columns: ['Area', 'Tenant', 'Floor'] }
    const job = await load(client, adapterOf({}, { guards }), rows(3))
    expect(job).toMatchObject({
      state: 'failed',
      error: { code: 'missing_columns', details: { missing: ['Tenant', 'Floor'] } },
    })
  })

  it('ask before much ends: approved, the job goes on where it stood', async () => {
    const client = await newOrganization()
    const guarded = adapterOf({}, { mode: 'full_snapshot', guards: { max_retract_pct: 10 } })
    await load(client, guarded, rows(20), '2025-01-01')
    const waiting = await load(client, guarded, rows(15) + 'New,N,1\n', '2025-02-01')
    expect(waiting).toMatchObject({
      state: 'awaiting_review',
      finished_at: null,
      counts: { created: 1, ended: 0 },
      error: { code: 'too_many_ended', details: { ended: 5, live: 21, max_retract_pct: 10 } },
    })
    const approved = await client.post(`/sdis/jobs/${waiting.id}/approve`, undefined)
    expect(approved).toMatchObject({ status: 200, body: { error: null } })
    const job = await finished(client, waiting.id)
    expect(job).toMatchObject({
      state: 'completed',
      attempts: 2,
      counts: { rows_read: 16, created: 1, unchanged: 15, ended: 5 },
    })
    expect(Object.keys(await buildings(client, 'name'))).toHaveLength(16)
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('ask before much ends: cancelled, everything stays', async () => {
    const client = await newOrganization()
    const guarded = adapterOf({}, { mode: 'full_snapshot' })
    await load(client, guarded, rows(20), '2025-01-01')
    const waiting = await load(client, guarded, rows(10), '2025-02-01')
    expect(waiting.state).toBe('awaiting_review')
    expect(await client.delete(`/sdis/jobs/${waiting.id}`)).toMatchObject({
      body: { state: 'cancelled' },
    })
    expect(Object.keys(await buildings(client, 'name'))).toHaveLength(20)
  })
})

describe('formats', () => {
  it('a file from Germany: byte-order mark, semicolons, decimal commas, dates with dots', async () => {
    const client = await newOrganization()
    const adapter = adapterOf(
      {
        key: 'row.Nummer',
        map: {
          name: 'row["Straße"]',
          code: 'row.Nummer',
          rentable_area: 'row["Fläche"]',
          remeasured_date: 'row.Stand',
        },
      },
      { locale: { decimal: ',', thousands: '.', date: ['dd.MM.yyyy'], timezone: 'Europe/Berlin' } },
    )
    const csv =
      '\ufeffNummer;Straße;Fläche;Stand\r\nG-1;"Münchner Straße 1; Hof";1.234,5;23.05.2025\r\n'
    const job = await load(client, adapter, csv, '2025-06-01')
    expect(job).toMatchObject({ state: 'completed', counts: { created: 1 } })
    expect(await buildings(client, 'name,rentable_area,remeasured_date')).toEqual({
      'G-1': {
        name: 'Münchner Straße 1; Hof',
        rentable_area: 1_234.5,
        remeasured_date: '2025-05-23',
      },
    })
    const { body } = await client.get(`/sdis/jobs/${job.id}/facts`)
    expect(body.data[0].valid_from).toBe('2025-05-31T22:00:00.000Z')
  })

  it('a file from Seattle: thousands separators, one of them wrong', async () => {
    const client = await newOrganization()
    const csv = 'Code,Name,Area\n1,Mayflower,"88,434"\n2,Paramount,"103,566"\n3,Westin,"956,11"\n'
    const job = await load(client, adapterOf(), csv)
    expect(await buildings(client, 'rentable_area')).toEqual({
      1: { rentable_area: 88_434 },
      2: { rentable_area: 103_566 },
    })
    expect(await errorsOf(client, job)).toEqual([[4, 'rentable_area', 'not_a_number']])
  })

  it('a fixed reference holds for every row', async () => {
    const client = await newOrganization()
    const { body: property } = await client.post('/properties', samples.property())
    const map = { name: 'row.Name', code: 'row.Code', property_id: { value: property.id } }
    await load(client, adapterOf({ map }), `${HEAD}A,Alpha,1\nB,Beta,2\n`)
    const { body } = await client.get(`/buildings?property_id=${property.id}&include=total_count`)
    expect(body.total_count).toBe(2)
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})

describe('the sources of an organization', () => {
  it('do not mix: the same key of another source is another object', async () => {
    const client = await newOrganization()
    await load(client, adapterOf(), `${HEAD}A,Alpha,1\n`)
    await load(client, adapterOf({}, { source: { name: 'Other' } }), `${HEAD}A,Alpha,1\n`)
    const { body } = await client.get('/buildings?code=A&include=total_count')
    expect(body.total_count).toBe(2)
  })

  it('do not mix: the same source of another organization is another one', async () => {
    const [one, two] = [await newOrganization(), await newOrganization()]
    await load(one, adapterOf(), `${HEAD}A,Alpha,1\n`)
    const job = await load(two, adapterOf(), `${HEAD}A,Alpha,1\n`)
    expect(job.counts).toMatchObject({ created: 1 })
    const direct = await owner()
    const { rows } = await direct.query(
      'select count(distinct object_id) as n from source_record where org_id = any($1)',
      [[one.org_id, two.org_id]],
    )
    await direct.end()
    expect(rows).toEqual([{ n: '2' }])
  })
})
