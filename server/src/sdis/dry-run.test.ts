/** A dry run says what a load would do, to the fact, and writes nothing. */
import { readFile } from 'node:fs/promises'
import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import { adapterOf, buildings, load, sendWith, written } from './load-fixture.ts'

const HEAD = 'Code,Name,Area\n'

/** Runs a job with options. */
async function run(
  client: TestClient,
  adapter: string,
  text: string | { name: string; bytes: Uint8Array<ArrayBuffer> },
  more: Record<string, unknown>,
): Promise<Answer['body']> {
  const sent = await sendWith(client, adapter, text, more)
  if (sent.status !== 202) throw new Error(JSON.stringify(sent.body))
  return await finished(client, sent.body.id)
}

async function all(client: TestClient, path: string): Promise<Answer['body'][]> {
  const rows: Answer['body'][] = []
  for (let cursor: string | null = ''; cursor !== null;) {
    const more: string = cursor ? `&cursor=${encodeURIComponent(cursor)}` : ''
    const { body } = await client.get(`${path}?limit=200${more}`)
    rows.push(...body.data)
    cursor = body.next_cursor
  }
  return rows
}

/** What tells the time, or names an object that a dry run does not make. */
function comparable(field: string, value: unknown): unknown {
  if (field === 'status_history') return null
  return JSON.parse(JSON.stringify(value).replaceAll(/"bld_\d+"/g, '"bld"'))
}

/** The facts of a diff, each as the load would write it: by key for objects that do not exist yet. */
function factsOfDiff(rows: readonly Answer['body'][]): string[] {
  return rows
    .flatMap(({ facts }) =>
      facts
        .filter(({ action }: { action: string }) => action !== 'retracted')
        .map(({ field, value, valid_from }: Record<string, unknown>) =>
          JSON.stringify([field, comparable(field as string, value), valid_from]),
        ),
    )
    .toSorted((a: string, b: string) => (a < b ? -1 : 1))
}

function factsOfJob(facts: readonly Answer['body'][]): string[] {
  return facts
    .filter(({ status }) => status !== 'retracted')
    .map(({ field, value, valid_from }) =>
      JSON.stringify([field, comparable(field, value), valid_from]),
    )
    .toSorted((a: string, b: string) => (a < b ? -1 : 1))
}

describe('a dry run', () => {
  it('tells what would be created, changed, left and ended, and writes nothing', async () => {
    const client = await newOrganization()
    const adapter = adapterOf({}, { mode: 'full_snapshot', guards: { max_retract_pct: 100 } })
    await load(client, adapter, `${HEAD}A,Alpha,1\nB,Beta,2\nC,Gamma,3\n`, '2025-01-01')
    const was = await written(client.org_id)
    const text = `${HEAD}A,Alpha,1\nB,Beta,9\nD,Delta,4\nE,Echo,many\n`
    const job = await run(client, adapter, text, { as_of: '2025-02-01', mode: 'dry_run' })
    expect(job).toMatchObject({
      state: 'completed_with_errors',
      dry_run: true,
      counts: { created: 1, changed: 1, ended: 1, unchanged: 1, quarantined: 1 },
      diff_hash: expect.stringMatching(/^[0-9a-f]{64}$/),
    })
    expect(await written(client.org_id)).toEqual(was)
    const { body } = await client.get(`/sdis/jobs/${job.id}/diff`)
    expect(body).toMatchObject({
      job_id: job.id,
      hash: job.diff_hash,
      summary: {
        objects: { building: { created: 1, changed: 1, unchanged: 1, ended: 1 } },
        facts: { added: 4, corrected: 0, ended: 1, retracted: 0 },
        current_values: 1,
        changed_fields: { rentable_area: 1 },
        rows: { read: 4, valid: 3, quarantined: 1, warnings: 0 },
        rows_kept: 3,
        truncated: false,
        guards: [],
      },
      data: [
        {
          action: 'changed',
          key: 'B',
          row: 3,
          fields: [{ field: 'rentable_area', before: 2, after: 9 }],
          facts: [{ field: 'rentable_area', value: 9, action: 'added' }],
        },
        { action: 'created', key: 'D', object_id: null },
        { action: 'ended', key: 'C', facts: [{ field: '_present', action: 'ended' }] },
      ],
    })
    const ended = await client.get(`/sdis/jobs/${job.id}/diff?action=ended`)
    expect(ended.body.data.map(({ key }: { key: string }) => key)).toEqual(['C'])
    const [error] = (await client.get(`/sdis/jobs/${job.id}/errors`)).body.data
    expect(error).toMatchObject({ row: 5, code: 'not_a_number' })
  })

  it('makes no source, and finds the same twice', async () => {
    const client = await newOrganization()
    const text = `${HEAD}A,Alpha,1\n`
    const more = { mode: 'dry_run', as_of: '2025-01-01' }
    const first = await run(client, adapterOf(), text, more)
    const second = await run(client, adapterOf(), text, more)
    expect(second.diff_hash).toBe(first.diff_hash)
    const other = await run(client, adapterOf(), `${HEAD}A,Alpha,2\n`, more)
    expect(other.diff_hash).not.toBe(first.diff_hash)
  })

  it('names guards that would stop the load', async () => {
    const client = await newOrganization()
    const adapter = adapterOf({}, { mode: 'full_snapshot', guards: { max_error_pct: 10 } })
    await load(client, adapter, `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-01-01')
    const more = { mode: 'dry_run', as_of: '2025-02-01' }
    const job = await run(client, adapter, `${HEAD}A,Alpha,x\nC,Gamma,3\n`, more)
    const { body } = await client.get(`/sdis/jobs/${job.id}/diff`)
    expect(body.summary.guards.map(({ code }: { code: string }) => code)).toEqual([
      'too_many_errors',
      'too_many_ended',
    ])
  })

  it('tells of claims that others win and lose', async () => {
    const client = await newOrganization()
    const other = adapterOf({}, { source: { name: 'Master', rank: 10 } })
    await load(client, adapterOf({}, { source: { rank: 60 } }), `${HEAD}A,Alpha,1\n`, '2025-01-01')
    const { body: list } = await client.get('/buildings?code=A')
    await client.patch(`/buildings/${list.data[0].id}`, { rentable_area: 5, name: 'By hand' })
    const text = `${HEAD}A,Alpha,7\n`
    const source = { source: { rank: 60 } }
    const job = await run(client, adapterOf({}, source), text, { mode: 'dry_run' })
    const { body } = await client.get(`/sdis/jobs/${job.id}/diff`)
    expect(body.summary).toMatchObject({ conflicts: { won: 0, lost: 1 }, current_values: 0 })
    expect(body.data[0].conflicts).toEqual([
      {
        field: 'rentable_area',
        outcome: 'lost',
        value: 7,
        other_value: 5,
        other_source: 'API',
      },
    ])
    expect(other).toContain('Master')
  })
})

describe('an apply that names a dry run', () => {
  const text = `${HEAD}A,Alpha,1\nB,Beta,2\n`
  const more = { as_of: '2025-01-01' }

  it('writes what that found', async () => {
    const client = await newOrganization()
    const dry = await run(client, adapterOf(), text, { ...more, mode: 'dry_run' })
    const job = await run(client, adapterOf(), text, { ...more, options: { diff: dry.id } })
    expect(job).toMatchObject({
      state: 'completed',
      counts: { created: 2 },
      diff_hash: dry.diff_hash,
    })
  })

  it('writes nothing when it would do something else', async () => {
    const client = await newOrganization()
    const dry = await run(client, adapterOf(), text, { ...more, mode: 'dry_run' })
    await load(client, adapterOf(), `${HEAD}A,Alpha,1\n`, '2025-01-01')
    const job = await run(client, adapterOf(), text, { ...more, options: { diff: dry.id } })
    expect(job).toMatchObject({ state: 'failed', error: { code: 'diff_mismatch' } })
    expect(Object.keys(await buildings(client, 'name'))).toEqual(['A'])
  })

  it.each([
    ['no job', async () => 'job_999999999', 'not_found'],
    [
      'a job that is no dry run',
      async (client: TestClient) => (await load(client, adapterOf(), text)).id,
      'not_a_diff',
    ],
  ])('must name one: %s', async (_, idOf, code) => {
    const client = await newOrganization()
    const sent = await sendWith(client, adapterOf(), text, {
      options: { diff: await idOf(client) },
    })
    expect(sent).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'options.diff', code }] },
    })
  })
})

describe('a job that always waits for approval', () => {
  it('shows its diff, writes nothing before, and exactly that after', async () => {
    const client = await newOrganization()
    const options = { approve: 'always' }
    const job = await run(client, adapterOf(), `${HEAD}A,Alpha,1\n`, { options })
    expect(job).toMatchObject({
      state: 'awaiting_review',
      error: { code: 'approval_required' },
      counts: { created: 0 },
      approval_until: expect.any(String),
    })
    const { body } = await client.get(`/sdis/jobs/${job.id}/diff`)
    expect(body.summary.objects).toEqual({
      building: { created: 1, changed: 0, unchanged: 0, ended: 0 },
    })
    await client.post(`/sdis/jobs/${job.id}/approve`, undefined)
    expect(await finished(client, job.id)).toMatchObject({
      state: 'completed',
      counts: { created: 1 },
    })
  })
})

test('whatever came before, a load does what its dry run found', { timeout: 150_000 }, async () => {
  const cell = fc.constantFrom('', '1', '2', 'x')
  const file = fc.dictionary(fc.constantFrom('A', 'B', 'C'), fc.tuple(cell, cell), { minKeys: 1 })
  const day = fc.constantFrom('2025-01-01', '2025-02-01', '2025-03-01')
  const release = fc.record({ file, day, complete: fc.boolean() })
  const guards = { max_retract_pct: 100 }
  await fc.assert(
    fc.asyncProperty(fc.array(release, { minLength: 1, maxLength: 4 }), async (releases) => {
      const client = await newOrganization()
      for (const { file, day, complete } of releases) {
        const rows = Object.entries(file).map(([key, [name, area]]) => `${key},${name},${area}\n`)
        const adapter = adapterOf({}, complete ? { mode: 'full_snapshot', guards } : {})
        const text = HEAD + rows.join('')
        const dry = await run(client, adapter, text, { as_of: day, mode: 'dry_run' })
        const options = { diff: dry.id }
        const job = await run(client, adapter, text, { as_of: day, options })
        expect(job).toMatchObject({ state: dry.state, counts: dry.counts })
        const diff = await all(client, `/sdis/jobs/${dry.id}/diff`)
        const facts = await all(client, `/sdis/jobs/${job.id}/facts`)
        expect(factsOfJob(facts)).toEqual(factsOfDiff(diff))
      }
    }),
    { numRuns: 8 },
  )
})

test(
  'June: the dry run is what the job then does, fact for fact',
  { timeout: 150_000 },
  async () => {
    const folder = new URL('../../../examples/gsa-iolp/', import.meta.url).pathname
    const client = await newOrganization()
    const send = async (
      kind: string,
      month: string,
      more: Record<string, unknown>,
    ): Promise<Answer['body']> => {
      const adapter = await readFile(`${folder}${kind}.yaml`, 'utf8')
      const name = `iolp-${kind}-${month}.xlsx`
      const bytes = new Uint8Array(await readFile(`${folder}data/${name}`))
      return await run(client, adapter, { name, bytes }, more)
    }
    for (const kind of ['buildings', 'leases']) await send(kind, '2025-05', { as_of: '2025-05-23' })
    for (const kind of ['buildings', 'leases']) {
      const more = { as_of: '2025-06-20' }
      const dry = await send(kind, '2025-06', { ...more, mode: 'dry_run' })
      const diff = await all(client, `/sdis/jobs/${dry.id}/diff`)
      const job = await send(kind, '2025-06', { ...more, options: { diff: dry.id } })
      expect(job).toMatchObject({ state: 'completed', diff_hash: dry.diff_hash })
      const { bytes_read: _, bytes_total: __, ...counts } = dry.counts
      expect(job.counts).toMatchObject(counts)
      const facts = await all(client, `/sdis/jobs/${job.id}/facts`)
      expect(facts.length).toBeGreaterThan(100)
      expect(factsOfJob(facts)).toEqual(factsOfDiff(diff))
      const { body } = await client.get(`/sdis/jobs/${dry.id}/diff?limit=1`)
      expect(body.summary.rows_kept).toBe(diff.length)
    }
    expect(await checkOrganization(client.org_id)).toEqual([])
  },
)
