/** Jobs that name a kept adapter: which version reads the file, and where it may. */
import { beforeAll, describe, expect, it } from 'vitest'
import { newOrganization } from '../../../test/grid.ts'
import type { Answer, TestClient } from '../../../test/grid.ts'
import { finished } from '../../../test/jobs.ts'
import { created, CSV, document, promoted, sendTo, tested } from './adapter-fixture.ts'

let client: TestClient
let id: string

/** An organization with an adapter of which version 1 is live, 2 a draft. */
beforeAll(async () => {
  client = await newOrganization()
  id = await created(client, 'kept')
  await tested(client, id)
  await promoted(client, id, 1)
  const next = document('kept', { description: 'Next.' })
  await client.post(`/sdis/adapters/${id}/versions`, { document: next })
})

describe('POST /sdis/jobs', () => {
  it('reads by the live version of the adapter it names', async () => {
    for (const named of [id, 'kept']) {
      const sent = await sendTo(client, named)
      expect(sent).toMatchObject({
        status: 202,
        body: { adapter: 'kept', adapter_id: id, adapter_version: 1 },
      })
      expect(await finished(client, sent.body.id)).toMatchObject({ state: 'completed' })
    }
  })

  it('writes nothing when the same version reads the same file again', async () => {
    const text = 'Code,Name,Area\nX,Xi,1\nY,Psi,2\n'
    const run = async (): Promise<Answer['body']> => {
      const sent = await sendTo(client, 'kept', { as_of: '2026-01-31' }, text)
      return await finished(client, sent.body.id)
    }
    expect((await run()).counts).toMatchObject({ created: 2 })
    expect((await run()).counts).toMatchObject({ created: 0, unchanged: 2, facts: 0 })
  })

  it.each<[string, string, Record<string, string>, string, string]>([
    ['a draft', 'kept', { version: '2' }, 'version', 'not_live'],
    ['a version that is not there', 'kept', { version: '9' }, 'version', 'not_found'],
    ['a version that is no number', 'kept', { version: 'new' }, 'version', 'out_of_range'],
    ['a name of nothing', 'nothing', {}, 'adapter', 'not_found'],
    ['an id of nothing', 'adp_999999999', {}, 'adapter', 'not_found'],
    [
      'a version of a document',
      JSON.stringify(document()),
      { version: '1' },
      'version',
      'conflicting',
    ],
  ])('refuses %s', async (_, adapter, fields, field, code) => {
    const answer = await sendTo(client, adapter, fields)
    expect(answer).toMatchObject({ status: 422, body: { errors: [{ field, code }] } })
  })

  it('refuses an adapter of which no version is live', async () => {
    const draft = await created(client, 'draft-only')
    expect(await sendTo(client, draft)).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'adapter', code: 'not_live' }] },
    })
  })

  it('of another organization knows nothing of it', async () => {
    const other = await newOrganization()
    expect(await sendTo(other, id)).toMatchObject({ status: 422 })
  })

  it('in a sandbox takes any version', async () => {
    const sandbox = await newOrganization({ standing: { environment: 'sandbox' } })
    const own = await created(sandbox, 'tried')
    const sent = await sendTo(sandbox, own, { version: '1' })
    expect(sent).toMatchObject({ status: 202, body: { adapter_id: own, adapter_version: 1 } })
    expect(await finished(sandbox, sent.body.id)).toMatchObject({ state: 'completed' })
  })
})

describe('POST /sdis/adapters/{id}/rollback', () => {
  it('lists the jobs that wrote through the version it takes back, last first', async () => {
    const own = await newOrganization()
    const adapter = await created(own, 'back')
    await tested(own, adapter)
    await promoted(own, adapter, 1)
    await own.post(`/sdis/adapters/${adapter}/versions`, {
      document: document('back', { description: 'Second.' }),
    })
    await tested(own, adapter, 2)
    await promoted(own, adapter, 2)
    const jobs: string[] = []
    for (const [day, area] of [
      ['2026-01-31', 10],
      ['2026-02-28', 20],
      ['2026-03-31', 20],
    ] as const) {
      const text = CSV.replace('100', String(area))
      const sent = await sendTo(own, 'back', { as_of: day }, text)
      jobs.push((await finished(own, sent.body.id)).id)
    }
    const { body } = await own.post(`/sdis/adapters/${adapter}/rollback`, {})
    // The last one found everything as it was and wrote nothing.
    expect(body.undo).toMatchObject([{ id: jobs[1], as_of: '2026-02-28' }, { id: jobs[0] }])
    expect(body.adapter.live_version).toBe(1)
  })
})
