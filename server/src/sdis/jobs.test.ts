/** Jobs as a client meets them: accepted or refused, run, and reported row by row. */
import { describe, expect, test } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newClient, newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished, runJob, sendJob } from '../../test/jobs.ts'
import { buildWorkbook, workbookEntries, buildZip, zippedRun } from './readers/workbook-fixture.ts'

function adapter(more = '', stream = '', source = '{ name: Test, kind: csv }'): string {
  return `
adapter: test
source: ${source}
${more}
streams:
  - name: buildings
    type: building
    key: row.Code
    ${stream}
    map:
      code: row.Code
      name: row.Name
      rentable_area: { from: row.Area, nulls: ["0"] }
      year_built: row.Built
`
}

function csv(...rows: string[]): { name: string; bytes: Uint8Array<ArrayBuffer> } {
  return { name: 'buildings.csv', bytes: bytes(`Code,Name,Area,Built\n${rows.join('\n')}\n`) }
}

function bytes(data: string | Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(Buffer.from(data))
}

const SMALL = csv('A,Alpha,1000,1990', 'B,Beta,2000,1991')

async function buildings(client: TestClient, query = ''): Promise<Answer['body'][]> {
  return (await client.get(`/buildings?limit=200&sort=code${query}`)).body.data
}

describe('a job is refused', () => {
  test.each<[string, string, Parameters<typeof sendJob>[2], string | undefined, number, string]>([
    ['without a readable document', 'adapter: [', SMALL, undefined, 422, 'adapter'],
    [
      'for an unknown part of the document',
      adapter('mod: upsert'),
      SMALL,
      undefined,
      422,
      'adapter.mod',
    ],
    [
      'for an unknown field of the type',
      adapter().replace('year_built:', 'year_bild:'),
      SMALL,
      undefined,
      422,
      'adapter.streams[0].map.year_bild',
    ],
    [
      'for an unknown type',
      adapter().replace('type: building', 'type: bilding'),
      SMALL,
      undefined,
      422,
      'adapter.streams[0].type',
    ],
    [
      'for an expression that does not read',
      adapter().replace('key: row.Code', 'key: row.Code + '),
      SMALL,
      undefined,
      422,
      'adapter.streams[0].key',
    ],
    ['for a day that does not exist', adapter(), SMALL, '2026-02-30', 422, 'as_of'],
    ['for a day in the future', adapter(), SMALL, '2999-01-01', 422, 'as_of'],
  ])('%s', async (_, document, file, as_of, status, field) => {
    const client = await newOrganization()
    const answer = await sendJob(client, document, file, as_of)
    expect(answer).toMatchObject({ status, body: { errors: [{ field }] } })
    expect((await client.get('/sdis/jobs')).body.data).toEqual([])
    const { body } = await client.get(`/request-logs?request_id=${answer.body.request_id}`)
    expect(body.data).toHaveLength(1)
  })

  test('as JSON, without its scope, and for another organization', async () => {
    const client = await newOrganization()
    const json = await client.post('/sdis/jobs', { adapter: 'x' })
    expect(json.status).toBe(415)
    const reader = await newClient(client.org_id, ['read:jobs'])
    expect((await sendJob(reader, adapter(), SMALL)).status).toBe(403)
    const job = await runJob(client, adapter(), SMALL)
    const other = await newOrganization()
    for (const path of ['', '/errors', '/facts']) {
      expect((await other.get(`/sdis/jobs/${job.id}${path}`)).status).toBe(404)
    }
    expect((await other.post(`/sdis/jobs/${job.id}/cancel`, {})).status).toBe(404)
  })
})

const XLSX = '{ name: Test, kind: xlsx, sheet: "Rent*" }'
const SHEET = {
  name: 'Rent Roll',
  rows: [
    ['Code', 'Name', 'Area', 'Built'],
    ['A', 'Alpha', 1000, 1990],
  ],
}
const WORKBOOK = { sheets: [SHEET] }

describe('a file cannot be used: the job fails, says why and writes nothing', () => {
  test.each<[string, string, Buffer, string]>([
    ['a renamed PDF', XLSX, Buffer.from('%PDF-1.7\n'.repeat(200)), 'not_a_workbook'],
    ['a workbook cut short', XLSX, buildWorkbook(WORKBOOK).subarray(0, 600), 'truncated_file'],
    [
      'another sheet',
      '{ name: Test, kind: xlsx, sheet: "Units*" }',
      buildWorkbook(WORKBOOK),
      'sheet_not_found',
    ],
    [
      'a missing column',
      XLSX,
      buildWorkbook({
        sheets: [
          {
            ...SHEET,
            rows: [
              ['Code', 'Name', 'Built'],
              ['A', 'Alpha', 1990],
            ],
          },
        ],
      }),
      'missing_columns',
    ],
    [
      'a zip bomb',
      XLSX,
      buildZip([
        ...workbookEntries(WORKBOOK).filter(({ name }) => !name.includes('sheet1')),
        {
          name: 'xl/worksheets/sheet1.xml',
          zipped: zippedRun(2 ** 31, 32),
          size: 2 ** 31,
        } as never,
      ]),
      'zip_bomb',
    ],
    ['a workbook sent as CSV', '{ name: Test, kind: csv }', buildWorkbook(WORKBOOK), 'not_a_csv'],
  ])('%s', async (_, source, data, code) => {
    const client = await newOrganization()
    const job = await runJob(client, adapter('', '', source), {
      name: 'file.xlsx',
      bytes: bytes(data),
    })
    expect(job).toMatchObject({
      state: 'failed',
      error: { code },
      counts: { created: 0, facts: 0 },
    })
    expect(job.error.message.length).toBeGreaterThan(10)
    expect(await buildings(client)).toEqual([])
  })
})

describe('rows', () => {
  test('that cannot be used are kept with number, field, code and what they held; the others load', async () => {
    const client = await newOrganization()
    const loose = adapter('guards: { max_error_pct: 100 }')
    const job = await runJob(
      client,
      loose,
      csv(
        'A,Alpha,1000,1990',
        'B,Beta,many,1991',
        ',Gamma,1,1992',
        'A,Alpha again,2,1993',
        'D,Delta,3,19.5',
      ),
    )
    expect(job).toMatchObject({
      state: 'completed_with_errors',
      counts: { rows_read: 5, created: 1, quarantined: 4 },
    })
    const { body } = await client.get(`/sdis/jobs/${job.id}/errors`)
    expect(body.data).toMatchObject([
      {
        row: 3,
        field: 'rentable_area',
        code: 'not_a_number',
        level: 'error',
        raw: { Code: 'B', Area: 'many' },
      },
      { row: 4, field: 'key', code: 'missing_key', raw: { Name: 'Gamma' } },
      { row: 5, field: 'key', code: 'duplicate_key' },
      { row: 6, field: 'year_built', code: 'not_a_whole_number' },
    ])
    const first = await client.get(`/sdis/jobs/${job.id}/errors?limit=3`)
    const rest = await client.get(
      `/sdis/jobs/${job.id}/errors?limit=3&cursor=${encodeURIComponent(first.body.next_cursor)}`,
    )
    expect([...first.body.data, ...rest.body.data]).toEqual(body.data)
  })

  test('blank and zero cells state nothing; a later value of an API write outlasts an older file', async () => {
    const client = await newOrganization()
    await runJob(client, adapter(), SMALL, '2026-01-31')
    const [alpha] = await buildings(client)
    await client.patch(`/buildings/${alpha.id}`, { name: 'Alpha House' })
    const job = await runJob(
      client,
      adapter(),
      csv('A,Alpha,0,', 'B,Beta 2,2000,1991'),
      '2026-02-28',
    )
    expect(job.counts).toMatchObject({ changed: 1, unchanged: 1, ended: 0 })
    expect(await buildings(client)).toMatchObject([
      { name: 'Alpha House', rentable_area: 1000, year_built: 1990, version: 2 },
      { name: 'Beta 2', version: 2 },
    ])
    const { body } = await client.get(`/grid/v2/objects/${alpha.id}/conflicts`)
    expect(body.data).toMatchObject([
      { field: 'name', winner: { value: 'Alpha House' }, others: [{ value: 'Alpha' }] },
    ])
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})

describe('guards', () => {
  test('too few rows and too many errors fail the job', async () => {
    const client = await newOrganization()
    const few = await runJob(client, adapter('guards: { min_rows: 3 }'), SMALL)
    expect(few).toMatchObject({ state: 'failed', error: { code: 'too_few_rows' } })
    const bad = await runJob(client, adapter(), csv('A,Alpha,x,1990', 'B,Beta,y,1991'))
    expect(bad).toMatchObject({
      state: 'failed',
      error: { code: 'too_many_errors' },
      counts: { created: 0 },
    })
  })

  test('a snapshot that would end too much waits for approval, then ends it', async () => {
    const client = await newOrganization()
    const full = adapter('mode: full_snapshot')
    await runJob(client, full, SMALL, '2026-01-31')
    const waiting = await runJob(client, full, csv('A,Alpha,1000,1990'), '2026-02-28')
    expect(waiting).toMatchObject({
      state: 'awaiting_review',
      error: { code: 'too_many_ended', details: { ended: 1 } },
    })
    expect(await buildings(client)).toHaveLength(2)
    expect((await client.post(`/sdis/jobs/${waiting.id}/approve`, {})).body.state).toBe('queued')
    expect(await finished(client, waiting.id)).toMatchObject({
      state: 'completed',
      counts: { ended: 1, unchanged: 1 },
    })
    expect(await buildings(client)).toMatchObject([{ code: 'A' }])
    const { body } = await client.get('/buildings?as_of=2026-02-15')
    expect(body.data).toHaveLength(2)
    const again = await client.post(`/sdis/jobs/${waiting.id}/approve`, {})
    expect(again).toMatchObject({ status: 422, body: { code: 'invalid_transition' } })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})

describe('a job', () => {
  test('that waits is cancelled at once and runs no more', async () => {
    const client = await newOrganization()
    const sent = await sendJob(client, adapter(), SMALL)
    expect(sent.status).toBe(202)
    expect(sent.headers.get('location')).toBe(`/api/v1/sdis/jobs/${sent.body.id}`)
    const cancelled = await client.post(`/sdis/jobs/${sent.body.id}/cancel`, {})
    expect(cancelled.body.state).toBe('cancelled')
    expect((await finished(client, sent.body.id)).state).toBe('cancelled')
    expect(await buildings(client)).toEqual([])
  })

  test('sent again with its key is answered as before; with another file it is a conflict', async () => {
    const client = await newOrganization()
    const key = { 'idempotency-key': 'load-1' }
    const first = await sendJob(client, adapter(), SMALL, '2026-01-31', key)
    const second = await sendJob(client, adapter(), SMALL, '2026-01-31', key)
    expect(second).toMatchObject({ status: 202, body: { id: first.body.id } })
    expect(second.headers.get('idempotent-replayed')).toBe('true')
    expect(
      (await sendJob(client, adapter(), csv('C,Gamma,1,2000'), '2026-01-31', key)).status,
    ).toBe(409)
    expect((await client.get('/sdis/jobs')).body.data).toHaveLength(1)
  })

  test('shows the facts it wrote, a page at a time, without loss', async () => {
    const client = await newOrganization()
    const job = await runJob(
      client,
      adapter(),
      csv(...Array.from({ length: 30 }, (_, i) => `K${i},Name ${i},${i + 1},2000`)),
    )
    const seen: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const path: string = `/sdis/jobs/${job.id}/facts?limit=7${cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''}`
      const { body } = await client.get(path)
      seen.push(
        ...body.data.map(
          (fact: { object_id: string; field: string }) => `${fact.object_id} ${fact.field}`,
        ),
      )
      cursor = body.next_cursor
    }
    expect(new Set(seen).size).toBe(seen.length)
    expect(seen).toHaveLength(job.counts.facts)
  })

  test('leaves deleted objects deleted', async () => {
    const client = await newOrganization()
    await runJob(client, adapter(), SMALL, '2026-01-31')
    const [alpha] = await buildings(client)
    expect((await client.delete(`/buildings/${alpha.id}`)).status).toBe(204)
    await runJob(client, adapter(), csv('A,Alpha 2,1,1990', 'B,Beta,2000,1991'), '2026-02-28')
    expect(await buildings(client)).toMatchObject([{ code: 'B' }])
  })
})
