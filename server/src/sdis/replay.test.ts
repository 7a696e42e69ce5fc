/** Rows that were left out: listed, downloaded, corrected and loaded again. */
import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import { adapterOf, buildings, load } from './load-fixture.ts'

const TEXT = 'Code,Name,Area\nA,Alpha,1\nB,=Beta,many\nC,"Gamma, Inc",few\nD,Delta,4\n'

async function replay(
  client: TestClient,
  job: { id: string },
  body: unknown,
  headers: Record<string, string> = {},
): Promise<Answer['body']> {
  const sent = await client.post(`/sdis/jobs/${job.id}/replay`, body, headers)
  if (sent.status !== 202) throw new Error(JSON.stringify(sent.body))
  expect(sent.headers.get('location')).toBe(`/api/v1/sdis/jobs/${sent.body.id}`)
  return await finished(client, sent.body.id)
}

async function states(client: TestClient, job: { id: string }): Promise<unknown[][]> {
  const { body } = await client.get(`/sdis/jobs/${job.id}/errors`)
  return body.data.map((e: Record<string, unknown>) => [e['row'], e['status'], e['replayed_by']])
}

describe('errors', () => {
  it('are a table with the columns of the file, safe to open in a spreadsheet', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), TEXT)
    const answer = await client.get(`/sdis/jobs/${job.id}/errors?format=csv`)
    expect(answer.headers.get('content-type')).toBe('text/csv; charset=utf-8')
    const [head, first, second] = answer.body.split('\r\n')
    expect(head).toMatch(
      /^error_row,error_level,error_status,error_fields,error_codes,error_messages,/,
    )
    expect(head.split(',').slice(6).toSorted()).toEqual(['Area', 'Code', 'Name'])
    expect(first).toMatch(/^3,error,open,rentable_area,not_a_number,/)
    expect(first).toContain("'=Beta")
    expect(second).toContain('"Gamma, Inc"')
  })

  it('are marked by hand', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), TEXT)
    const path = `/sdis/jobs/${job.id}/errors`
    const answer = await client.patch(`${path}/1`, { status: 'ignored' })
    expect(answer).toMatchObject({ status: 200, body: { n: 1, row: 3, status: 'ignored' } })
    const { body } = await client.get(`${path}?status=open`)
    expect(body.data.map(({ row }: { row: number }) => row)).toEqual([4])
    expect((await client.patch(`${path}/99`, { status: 'fixed' })).status).toBe(404)
    expect((await client.patch(`${path}/x`, { status: 'fixed' })).status).toBe(422)
    expect((await client.patch(`${path}/1`, { status: 'gone' })).status).toBe(422)
    const other = await newOrganization()
    expect((await other.patch(`${path}/1`, { status: 'fixed' })).status).toBe(404)
  })
})

describe('a replay', () => {
  it('loads the table of errors after it was corrected', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), TEXT, '2025-03-01')
    const { body: table } = await client.get(`/sdis/jobs/${job.id}/errors?format=csv`)
    const corrected = table.replace(',many,', ',2,').replace(',few,', ',three,')
    const child = await replay(client, job, corrected, { 'content-type': 'text/csv' })
    expect(child).toMatchObject({
      kind: 'replay',
      parent_job_id: job.id,
      as_of: '2025-03-01',
      mode: 'upsert',
      state: 'completed_with_errors',
      counts: { rows_read: 2, created: 1, quarantined: 1 },
    })
    expect(await buildings(client, 'name,rentable_area')).toMatchObject({
      B: { name: '=Beta', rentable_area: 2 },
    })
    expect(await states(client, job)).toEqual([
      [3, 'fixed', child.id],
      [4, 'open', child.id],
    ])
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it.each([
    ['rows', { rows: [{ error_row: 3, Code: 'B', Name: 'Beta', Area: 2 }] }],
    ['NDJSON', { rows: '{"error_row":3,"Code":"B","Name":"Beta","Area":"2"}\n' }],
    ['CSV', { rows: 'error_row,Code,Name,Area\n3,B,Beta,2\n' }],
  ])('takes %s', async (_, body) => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), TEXT)
    const child = await replay(client, job, body)
    expect(child).toMatchObject({ state: 'completed', counts: { created: 1 } })
    expect(await states(client, job)).toEqual([
      [3, 'fixed', child.id],
      [4, 'open', null],
    ])
  })

  it('reads the same rows again by another adapter', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), TEXT)
    const words = { from: 'row.Area', type: 'number', nulls: ['many', 'few'] }
    const adapter = JSON.parse(
      adapterOf({ map: { name: 'row.Name', code: 'row.Code', rentable_area: words } }),
    )
    const child = await replay(client, job, { adapter })
    expect(child).toMatchObject({ state: 'completed', counts: { created: 2 } })
    expect(Object.keys(await buildings(client, 'name')).toSorted()).toEqual(['A', 'B', 'C', 'D'])
  })

  it('is undone like any job', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), TEXT)
    const child = await replay(client, job, { rows: [{ Code: 'B', Name: 'Beta', Area: 2 }] })
    expect(await client.post(`/sdis/jobs/${job.id}/undo`, undefined)).toMatchObject({ status: 409 })
    const { body } = await client.post(`/sdis/jobs/${child.id}/undo`, undefined)
    expect(await finished(client, body.id)).toMatchObject({ state: 'completed' })
    expect(Object.keys(await buildings(client, 'name')).toSorted()).toEqual(['A', 'D'])
  })

  it('is refused without rows, with a text that breaks off, of a job that runs no more', async () => {
    const client = await newOrganization()
    const clean = await load(client, adapterOf(), 'Code,Name,Area\nA,Alpha,1\n')
    const path = `/sdis/jobs/${clean.id}/replay`
    expect((await client.post(path, {})).status).toBe(422)
    expect((await client.post(path, { rows: '{"Code":' })).status).toBe(422)
    expect((await client.post(path, { rows: '"Code' })).status).toBe(422)
    expect((await client.post('/sdis/jobs/job_999999999/replay', {})).status).toBe(404)
    const { body } = await client.post(`/sdis/jobs/${clean.id}/undo`, undefined)
    await finished(client, body.id)
    expect((await client.post(path, {})).status).toBe(409)
  })
})
