/** Undo takes back what a job wrote: every row reads as before, byte for byte but for its version and time. */
import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished, runJob } from '../../test/jobs.ts'
import { samples } from '../../test/samples.ts'
import { resources } from '../resources.ts'
import { adapterOf, buildings, load, sendWith } from './load-fixture.ts'

const HEAD = 'Code,Name,Area\n'
const SNAPSHOT = adapterOf({}, { mode: 'full_snapshot', guards: { max_retract_pct: 100 } })

/** The bodies of all objects that are not deleted, by id, without what every write moves on. */
async function rowsOf(org_id: number): Promise<Map<string, string>> {
  const client = await owner()
  const rows = new Map<string, string>()
  for (const { name, prefix } of resources) {
    const found = await client.query<{ id: string; body: string }>(
      `select id, body from ${name} where org_id = $1 and deleted_at is null`,
      [org_id],
    )
    for (const { id, body } of found.rows) {
      const { version: _, updated_at: __, ...rest } = JSON.parse(body)
      rows.set(`${prefix}_${id}`, JSON.stringify(rest))
    }
  }
  await client.end()
  return rows
}

async function undo(client: TestClient, job: { id: string }): Promise<Answer['body']> {
  const { status, body } = await client.post(`/sdis/jobs/${job.id}/undo`, undefined)
  if (status !== 202) throw new Error(JSON.stringify(body))
  return await finished(client, body.id)
}

describe('undo', () => {
  it('restores what changed, ended and came back, and deletes what was made', async () => {
    const client = await newOrganization()
    const text = `${HEAD}A,Alpha,1\nB,Beta,2\nC,Gamma,3\n`
    await load(client, SNAPSHOT, text, '2025-01-01')
    await load(client, SNAPSHOT, `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-02-01')
    const was = await rowsOf(client.org_id)
    const june = `${HEAD}A,Alpha,1\nB,,9\nC,Gamma,4\nD,Delta,5\n`
    const job = await load(client, SNAPSHOT, june, '2025-03-01')
    expect(job.counts).toMatchObject({ created: 1, changed: 2 })
    const undone = await undo(client, job)
    expect(undone).toMatchObject({
      kind: 'undo',
      state: 'completed',
      parent_job_id: job.id,
      counts: { changed: 2, ended: 1 },
    })
    expect(await rowsOf(client.org_id)).toEqual(was)
    expect(await checkOrganization(client.org_id)).toEqual([])
    expect((await client.get(`/sdis/jobs/${job.id}`)).body.undone_by).toBe(undone.id)
    const facts = (await client.get(`/sdis/jobs/${undone.id}/facts?limit=200`)).body.data
    expect(
      facts.map(({ field, status }: Record<string, string>) => `${field} ${status}`),
    ).toContain('rentable_area retracted')
    const again = await load(client, SNAPSHOT, june, '2025-03-01')
    expect(again.counts).toMatchObject({ created: 1, changed: 2, unchanged: 1 })
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('leaves what others wrote', async () => {
    const client = await newOrganization()
    await load(client, adapterOf(), `${HEAD}A,Alpha,1\n`, '2025-01-01')
    const job = await load(client, adapterOf(), `${HEAD}A,Other,2\n`, '2025-02-01')
    const { body } = await client.get('/buildings?code=A')
    await client.patch(`/buildings/${body.data[0].id}`, { year_built: 1950 })
    await undo(client, job)
    expect(await buildings(client, 'name,rentable_area,year_built')).toEqual({
      A: { name: 'Alpha', rentable_area: 1, year_built: 1950 },
    })
  })

  it('of a second file for the same day restores the first', async () => {
    const client = await newOrganization()
    await load(client, adapterOf(), `${HEAD}A,Alpha,1\n`, '2025-01-01')
    const was = await rowsOf(client.org_id)
    const job = await load(client, adapterOf(), `${HEAD}A,,2\n`, '2025-01-01')
    await undo(client, job)
    expect(await rowsOf(client.org_id)).toEqual(was)
    expect(await checkOrganization(client.org_id)).toEqual([])
  })

  it('waits for approval before it deletes what others have written to', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), `${HEAD}A,Alpha,1\n`, '2025-01-01')
    const { body } = await client.get('/buildings?code=A')
    await client.patch(`/buildings/${body.data[0].id}`, { year_built: 1950 })
    const waiting = await undo(client, job)
    expect(waiting).toMatchObject({ state: 'awaiting_review', error: { code: 'objects_edited' } })
    expect(Object.keys(await buildings(client, 'name'))).toEqual(['A'])
    await client.post(`/sdis/jobs/${waiting.id}/approve`, undefined)
    expect(await finished(client, waiting.id)).toMatchObject({ state: 'completed' })
    expect(await buildings(client, 'name')).toEqual({})
  })

  it('takes back the references that had waited for what it made, and they wait again', async () => {
    const client = await newOrganization()
    const sites = JSON.stringify({
      adapter: 'sites',
      source: { name: 'Sites', kind: 'csv' },
      streams: [
        {
          name: 'sites',
          type: 'property',
          key: 'row.Code',
          map: { name: 'row.Name', code: 'row.Code' },
        },
      ],
    })
    const rule = { type: 'property', by: 'code', value: 'row.Site', missing: 'pending' }
    const waiting = adapterOf({ resolve: { property_id: rule } })
    const site = async (): Promise<unknown> => {
      const { body } = await client.get('/buildings?expand=property')
      return body.data[0].property?.name ?? null
    }
    await load(client, waiting, 'Code,Name,Area,Site\nA,Alpha,1,C-1\n', '2025-01-01')
    const was = await rowsOf(client.org_id)
    for (const options of [{}, { atomic: true }]) {
      const file = 'Code,Name\nC-1,North\n'
      const { body } = await sendWith(client, sites, file, { as_of: '2025-01-01', options })
      const job = await finished(client, body.id)
      expect(job.state).toBe('completed')
      expect(await site()).toBe('North')
      expect(await undo(client, job)).toMatchObject({ state: 'completed' })
      expect(await rowsOf(client.org_id)).toEqual(was)
      expect(await checkOrganization(client.org_id)).toEqual([])
    }
  })

  it('fails before it writes when others need what it would delete', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-01-01')
    const { body } = await client.get('/buildings?code=A')
    const floor = await client.post('/floors', samples.floor(body.data[0].id))
    expect(floor.status).toBe(201)
    expect(await undo(client, job)).toMatchObject({
      state: 'failed',
      error: { code: 'objects_in_use' },
    })
    expect(Object.keys(await buildings(client, 'name'))).toEqual(['A', 'B'])
  })
})

describe('POST /sdis/jobs/{id}/undo', () => {
  it('takes the last job of a stream first, and each once', async () => {
    const client = await newOrganization()
    const first = await load(client, adapterOf(), `${HEAD}A,Alpha,1\n`, '2025-01-01')
    const second = await load(client, adapterOf(), `${HEAD}A,Alpha,2\n`, '2025-02-01')
    const refused = await client.post(`/sdis/jobs/${first.id}/undo`, undefined)
    expect(refused).toMatchObject({ status: 409, body: { code: 'conflict', job_id: second.id } })
    const undone = await undo(client, second)
    for (const { id } of [second, undone])
      expect(await client.post(`/sdis/jobs/${id}/undo`, undefined)).toMatchObject({ status: 409 })
    await undo(client, first)
    expect(await buildings(client, 'name')).toEqual({})
  })

  it('answers a repeated request with the first job', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), `${HEAD}A,Alpha,1\n`, '2025-01-01')
    const headers = { 'idempotency-key': 'undo-1' }
    const path = `/sdis/jobs/${job.id}/undo`
    const first = await client.post(path, undefined, headers)
    const again = await client.post(path, undefined, headers)
    expect(again.body.id).toBe(first.body.id)
    expect(again.headers.get('idempotent-replayed')).toBe('true')
    await finished(client, first.body.id)
  })

  it('refuses a dry run', async () => {
    const client = await newOrganization()
    const { body } = await sendWith(client, adapterOf(), `${HEAD}A,Alpha,1\n`, { mode: 'dry_run' })
    await finished(client, body.id)
    expect(await client.post(`/sdis/jobs/${body.id}/undo`, undefined)).toMatchObject({
      status: 409,
    })
  })
})

test('any last file can be undone, whatever came before it', { timeout: 120_000 }, async () => {
  const cell = fc.constantFrom('', '1', '2')
  const file = fc.dictionary(fc.constantFrom('A', 'B', 'C'), fc.tuple(cell, cell), { minKeys: 1 })
  const day = fc.constantFrom('2025-01-01', '2025-02-01', '2025-03-01')
  const release = fc.record({ file, day, complete: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.array(release, { minLength: 1, maxLength: 4 }), async (releases) => {
      const client = await newOrganization()
      let was = new Map<string, string>()
      let last: Answer['body'] = null
      for (const { file, day, complete } of releases) {
        was = await rowsOf(client.org_id)
        const rows = Object.entries(file).map(([key, [name, area]]) => `${key},${name},${area}\n`)
        const adapter = complete ? SNAPSHOT : adapterOf()
        last = await load(client, adapter, HEAD + rows.join(''), day)
        expect(last.state).toBe('completed')
      }
      expect(await undo(client, last)).toMatchObject({ state: 'completed' })
      expect(await rowsOf(client.org_id)).toEqual(was)
      expect(await checkOrganization(client.org_id)).toEqual([])
    }),
    { numRuns: 12 },
  )
})

test(
  'June undone leaves May, byte for byte, and June loads again',
  { timeout: 170_000 },
  async () => {
    const folder = new URL('../../../examples/gsa-iolp/', import.meta.url).pathname
    const client = await newOrganization()
    const release = async (kind: string, month: string, day: string): Promise<Answer['body']> => {
      const adapter = await readFile(`${folder}${kind}.yaml`, 'utf8')
      return await runJob(client, adapter, `${folder}data/iolp-${kind}-${month}.xlsx`, day)
    }
    await release('buildings', '2025-05', '2025-05-23')
    await release('leases', '2025-05', '2025-05-23')
    const was = await rowsOf(client.org_id)
    const buildingsJune = await release('buildings', '2025-06', '2025-06-20')
    const leasesJune = await release('leases', '2025-06', '2025-06-20')
    expect(await undo(client, leasesJune)).toMatchObject({ state: 'completed' })
    expect(await undo(client, buildingsJune)).toMatchObject({ state: 'completed' })
    const now = await rowsOf(client.org_id)
    expect(now.size).toBe(was.size)
    expect([...now].filter(([id, body]) => was.get(id) !== body)).toEqual([])
    const again = await release('buildings', '2025-06', '2025-06-20')
    expect(again.counts).toMatchObject({
      created: buildingsJune.counts.created,
      changed: buildingsJune.counts.changed,
      ended: buildingsJune.counts.ended,
    })
    expect(await checkOrganization(client.org_id)).toEqual([])
  },
)
