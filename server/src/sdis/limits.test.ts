/** The limits that jobs keep to, told and enforced. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { clientWith, grid, newOrganization, owner, ownDatabase } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import { STANDARD_LIMITS } from './limits.ts'
import type { JobLimits } from './limits.ts'
import { adapterOf, blocked, errorsOf, load, ownIds, sendWith } from './load-fixture.ts'
import { sweepImports, sweepJobs } from './sweep.ts'
import { workOnJob } from './work.ts'

await ownDatabase()
await ownIds()

const HEAD = 'Code,Name,Area\n'

/** Runs a job under limits of its own. */
async function runWithin(
  client: TestClient,
  text: string,
  more: Record<string, unknown>,
  limits: Partial<JobLimits>,
): Promise<Answer['body']> {
  const { body } = await sendWith(client, adapterOf(), text, more)
  const { db } = await grid()
  while (true) {
    const job = (await client.get(`/sdis/jobs/${body.id}`)).body
    if (job.state !== 'queued') return job
    await workOnJob(db, inject('files'), () => {}, undefined, { ...STANDARD_LIMITS, ...limits })
  }
}

describe('limits', () => {
  it('are told with what is used of them', async () => {
    const { client, release } = await blocked()
    await sendWith(client, adapterOf(), `${HEAD}A,N,1\n`, {})
    const { status, body } = await client.get('/sdis/limits')
    expect(status).toBe(200)
    expect(body).toMatchObject({
      file_bytes: 512 * 1024 * 1024,
      rows: 5_000_000,
      columns: 500,
      atomic_rows: 200_000,
      running_jobs: 2,
      queued_jobs: 100,
      run_time_s: 14_400,
      used: { running_jobs: 1, queued_jobs: 1, waiting_jobs: 0 },
    })
    const { db } = await grid()
    await workOnJob(db, inject('files'), () => {}, undefined, { ...STANDARD_LIMITS, running: 1 })
    expect((await client.get('/sdis/jobs?state=queued')).body.data).toHaveLength(1)
    await release()
  })

  it.each<[string, Partial<JobLimits>, Record<string, unknown>, string]>([
    ['rows', { rows: 1 }, {}, 'too_many_rows'],
    ['columns', { columns: 2 }, {}, 'too_many_columns'],
    ['the length of a cell', { cell_chars: 3 }, {}, 'cell_too_long'],
    [
      'the rows of an atomic job',
      { atomic_rows: 1 },
      { options: { atomic: true } },
      'too_many_rows',
    ],
    ['the time a job runs', { run_s: -1 }, {}, 'time_limit'],
  ])('hold for %s', async (_, limits, more, code) => {
    const client = await newOrganization()
    const job = await runWithin(client, `${HEAD}A,Alpha,1\nB,Beta,2\n`, more, limits)
    expect(job).toMatchObject({ state: 'failed', error: { code } })
  })

  it('hold for errors and rows of a diff that are kept', async () => {
    const client = await newOrganization()
    const bad = Array.from({ length: 5 }, (_, i) => `K${i},N,x\n`).join('')
    const job = await runWithin(client, HEAD + bad, {}, { error_rows: 3 })
    expect(await errorsOf(client, job)).toHaveLength(3)
    const text = `${HEAD}A,Alpha,1\nB,Beta,2\n`
    const dry = await runWithin(client, text, { mode: 'dry_run' }, { diff_rows: 1 })
    const { body } = await client.get(`/sdis/jobs/${dry.id}/diff`)
    expect(body.summary).toMatchObject({ rows_kept: 1, truncated: true })
    expect(body.summary.objects.building.created).toBe(2)
    expect(body.data).toHaveLength(1)
  })

  it('end the waiting for approval after a week, and drop results after their days', async () => {
    const client = await newOrganization()
    const options = { approve: 'always' }
    const waiting = await runWithin(client, `${HEAD}A,N,1\n`, { options }, {})
    const done = await load(client, adapterOf(), `${HEAD}B,N,x\n`)
    const direct = await owner()
    await direct.query(
      `update job set waiting_since = waiting_since - interval '8 days', finished_at = finished_at - interval '91 days' where org_id = $1`,
      [client.org_id],
    )
    const { db } = await grid()
    expect(await sweepJobs(db, STANDARD_LIMITS)).toBe(2)
    const chunks = await direct.query('select from job_chunk where org_id = $1', [client.org_id])
    await direct.end()
    expect(chunks.rowCount).toBe(0)
    expect((await client.get(`/sdis/jobs/${waiting.id}`)).body).toMatchObject({
      state: 'cancelled',
      error: { code: 'approval_expired' },
    })
    expect(await errorsOf(client, done)).toEqual([])
    expect(await client.post(`/sdis/jobs/${done.id}/replay`, {})).toMatchObject({ status: 409 })
    expect(await client.post(`/sdis/jobs/${done.id}/undo`, undefined)).toMatchObject({
      status: 409,
    })
    expect((await finished(client, done.id)).state).toBe('completed_with_errors')
  })

  it('clear away after a day what was left of uploads and of pulls that broke off', async () => {
    const { db } = await grid()
    const folder = await mkdtemp(join(tmpdir(), 'imports-'))
    const imports = join(folder, 'imports')
    await mkdir(imports)
    for (const name of ['org_1.doc_7.ver_0', 'org_1.doc_8.ver_0.pull'])
      await writeFile(join(imports, name), '')
    expect(await sweepImports(db, folder)).toBe(0)
    expect(await sweepImports(db, folder, Date.now() + 25 * 60 * 60 * 1_000)).toBe(2)
    expect(await readdir(imports)).toEqual([])
    await rm(folder, { recursive: true })
  })

  it('need a key', async () => {
    expect((await clientWith('', 0).get('/sdis/limits')).status).toBe(401)
  })
})
