/** Jobs from JSON, as one transaction, forced, stopped at the first error. */
import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newClient, newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import { samples } from '../../test/samples.ts'
import { adapterOf, buildings, errorsOf, load, sendWith, written } from './load-fixture.ts'

const HEAD = 'Code,Name,Area\n'

async function run(
  client: TestClient,
  text: string,
  options: Record<string, unknown>,
  adapter = adapterOf(),
): Promise<Answer['body']> {
  const { status, body } = await sendWith(client, adapter, text, { options })
  if (status !== 202) throw new Error(JSON.stringify(body))
  return await finished(client, body.id)
}

describe('POST /sdis/jobs with JSON', () => {
  const adapter = JSON.parse(adapterOf()) as Record<string, unknown>

  it.each([
    ['rows', [{ Code: 'A', Name: 'Alpha, "Inc"', Area: 1.5 }]],
    ['a text', `${HEAD}A,"Alpha, ""Inc""",1.5\n`],
  ])('takes %s', async (_, inline) => {
    const client = await newOrganization()
    const { status, body } = await client.post('/sdis/jobs', { adapter, input: { inline } })
    expect(status).toBe(202)
    expect(await finished(client, body.id)).toMatchObject({ state: 'completed' })
    expect(await buildings(client, 'name,rentable_area')).toEqual({
      A: { name: 'Alpha, "Inc"', rentable_area: 1.5 },
    })
  })

  it('takes rows for an adapter of workbooks, numbers as its locale has them', async () => {
    const client = await newOrganization()
    const german = JSON.parse(
      adapterOf({}, { source: { kind: 'xlsx' }, locale: { decimal: ',', thousands: '.' } }),
    )
    const input = { inline: [{ Code: 'A', Name: 'Alpha', Area: 1234.5 }] }
    const { body } = await client.post('/sdis/jobs', { adapter: german, input, mode: 'apply' })
    await finished(client, body.id)
    expect(await buildings(client, 'rentable_area')).toEqual({ A: { rentable_area: 1_234.5 } })
    const text = await client.post('/sdis/jobs', { adapter: german, input: { inline: HEAD } })
    expect(text).toMatchObject({ status: 422, body: { errors: [{ field: 'input.inline' }] } })
  })

  it('takes a document, of a key that may read it', async () => {
    const client = await newOrganization()
    const { body: document } = await client.post('/documents', samples.document())
    const form = new FormData()
    form.append('file', new Blob([`${HEAD}A,Alpha,1\n`], { type: 'text/csv' }), 'table.csv')
    await client.post(`/documents/${document.id}/versions`, form)
    const job = { adapter, input: { document_id: document.id } }
    const { body } = await client.post('/sdis/jobs', job)
    expect(await finished(client, body.id)).toMatchObject({
      state: 'completed',
      file: { name: 'table.csv' },
      counts: { created: 1 },
    })
    const jobsOnly = await newClient(client.org_id, ['write:jobs'])
    expect(await jobsOnly.post('/sdis/jobs', job)).toMatchObject({
      status: 403,
      body: { required_scope: 'read:documents' },
    })
    const other = await newOrganization()
    expect((await other.post('/sdis/jobs', job)).status).toBe(404)
  })

  it.each([
    ['no input', { adapter }, ['input']],
    ['two inputs', { adapter, input: { inline: 'x', document_id: 'doc_1' } }, ['input']],
    ['no rows', { adapter, input: { inline: [] } }, ['input.inline']],
    ['an unknown mode', { adapter, input: { inline: 'x' }, mode: 'fast' }, ['mode']],
    [
      'unknown options',
      { adapter, input: { inline: 'x' }, options: { approve: 'never', fast: true } },
      ['options.approve', 'options.fast'],
    ],
    ['a day to come', { adapter, input: { inline: 'x' }, as_of: '2999-01-01' }, ['as_of']],
    [
      'a broken adapter',
      { adapter: {}, input: { inline: 'x' } },
      ['adapter.adapter', 'adapter.source', 'adapter.streams'],
    ],
  ])('refuses %s, naming it', async (_, body, fields) => {
    const client = await newOrganization()
    const answer = await client.post('/sdis/jobs', body)
    expect(answer.status).toBe(422)
    const named = answer.body.errors.map(({ field }: { field: string }) => field)
    expect(named.toSorted()).toEqual(fields.toSorted())
  })

  it('answers a repeat with the first job, and 409 to another mode', async () => {
    const client = await newOrganization()
    const headers = { 'idempotency-key': 'once' }
    const job = { adapter, input: { inline: `${HEAD}A,Alpha,1\n` } }
    const first = await client.post('/sdis/jobs', job, headers)
    const again = await client.post('/sdis/jobs', job, headers)
    expect(again.body.id).toBe(first.body.id)
    const dry = await client.post('/sdis/jobs', { ...job, mode: 'dry_run' }, headers)
    expect(dry).toMatchObject({ status: 409, body: { code: 'idempotency_conflict' } })
    await finished(client, first.body.id)
  })
})

describe('an atomic job', () => {
  const rows = Array.from({ length: 1_200 }, (_, i) => `K${i},N,1\n`).join('')

  it('writes the whole file', async () => {
    const client = await newOrganization()
    const snapshot = adapterOf({}, { mode: 'full_snapshot', guards: { max_retract_pct: 100 } })
    await load(client, snapshot, `${HEAD}K0,Old,9\nGone,N,1\n`, '2025-01-01')
    const job = await run(client, HEAD + rows, { atomic: true }, snapshot)
    expect(job).toMatchObject({
      state: 'completed',
      counts: { rows_read: 1_200, created: 1_199, changed: 1, ended: 1 },
    })
    expect(await checkOrganization(client.org_id)).toEqual([])
    const again = await run(client, HEAD + rows, { atomic: true }, snapshot)
    expect(again.counts).toMatchObject({ created: 0, changed: 0, unchanged: 1_200, ended: 0 })
  })

  it('writes nothing when a guard trips at its end, and keeps the errors', async () => {
    const client = await newOrganization()
    const strict = adapterOf({}, { guards: { max_errors: 0 } })
    await load(client, strict, `${HEAD}Z,N,1\n`)
    const was = await written(client.org_id)
    const job = await run(client, `${HEAD}${rows}Bad,N,x\n`, { atomic: true }, strict)
    expect(job).toMatchObject({ state: 'awaiting_review', error: { code: 'too_many_errors' } })
    expect(await written(client.org_id)).toEqual(was)
    expect(await errorsOf(client, job)).toHaveLength(1)
    await client.post(`/sdis/jobs/${job.id}/approve`, undefined)
    expect(await finished(client, job.id)).toMatchObject({
      state: 'completed_with_errors',
      counts: { created: 1_200, quarantined: 1 },
    })
    expect(await errorsOf(client, job)).toHaveLength(1)
  })

  it('refuses the external id that an earlier row has taken', async () => {
    const client = await newOrganization()
    const external = { list: { system: { value: 'erp' }, id: 'row.Ext' } }
    const adapter = adapterOf({
      map: { name: 'row.Name', code: 'row.Code', external_ids: external },
    })
    const many = Array.from({ length: 600 }, (_, i) => `K${i},N,${i}\n`).join('')
    const job = await run(client, `Code,Name,Ext\n${many}Last,N,0\n`, { atomic: true }, adapter)
    expect(job.counts).toMatchObject({ created: 600, quarantined: 1 })
    expect(await errorsOf(client, job)).toEqual([[602, 'external_ids', 'duplicate_external_id']])
  })
})

describe('options', () => {
  it('stop ends the job at the first bad row', async () => {
    const client = await newOrganization()
    const job = await run(client, `${HEAD}A,N,1\nB,N,x\n`, { on_error: 'stop' })
    expect(job).toMatchObject({ state: 'failed', error: { code: 'row_errors' } })
    expect(await buildings(client, 'name')).toEqual({})
  })

  it('force looks at rows that are as they were', async () => {
    const client = await newOrganization()
    await load(client, adapterOf(), `${HEAD}A,N,1\n`)
    const job = await run(client, `${HEAD}A,N,1\n`, { force: true })
    expect(job).toMatchObject({ state: 'completed', counts: { unchanged: 1, facts: 0 } })
  })

  it.each([
    ['no JSON', 'fast', 'options'],
    ['an unknown one', '{"fast":true}', 'options.fast'],
  ])('of a form are refused: %s', async (_, options, field) => {
    const client = await newOrganization()
    const answer = await sendWith(client, adapterOf(), HEAD, { options })
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field }] } })
  })
})
