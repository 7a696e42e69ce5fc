/** Undo of a job whose objects were merged since: taken back on the head, or refused; never in part. */
import { describe, expect, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import { samples } from '../../test/samples.ts'
import { merged, standing } from '../identity/merge-fixture.ts'
import { adapterOf, load } from './load-fixture.ts'

const HEAD = 'Code,Name,Area\n'

/** Of a source that is believed before people. */
const TRUSTED = adapterOf({}, { source: { rank: 10 } })

async function buildingOf(client: TestClient, code: string): Promise<string> {
  const { body } = await client.get(`/buildings?code=${code}`)
  return body.data[0].id
}

const undo = async (client: TestClient, job: { id: string }): Promise<Answer> =>
  await client.post(`/sdis/jobs/${job.id}/undo`, undefined)

const sound = async ({ org_id }: TestClient): Promise<void> =>
  expect(await checkOrganization(org_id)).toEqual([])

/** A building by hand, and one of a source that a second file has spoken of. */
async function twoFiles(): Promise<{ client: TestClient; own: string; job: Answer['body'] }> {
  const client = await newOrganization()
  await load(client, TRUSTED, `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-01-01')
  const property = await client.post('/properties', samples.property())
  const { body, status } = await client.post('/buildings', samples.building(property.body.id))
  expect(status, JSON.stringify(body)).toBe(201)
  const job = await load(client, TRUSTED, `${HEAD}A,Other,7\nB,Beta,3\n`, '2025-02-01')
  return { client, own: body.id, job }
}

describe('undo of a job whose objects were merged since', () => {
  it('takes back what it said of the member, on the head; the way back reads as before the job', async () => {
    const { client, own, job } = await twoFiles()
    const member = await buildingOf(client, 'A')
    const merge = await merged(client, own, member)
    const path = `/buildings/${own}`
    expect((await client.get(path)).body.rentable_area).toBe(7)
    const { status, body } = await undo(client, job)
    expect(status).toBe(202)
    expect(await finished(client, body.id)).toMatchObject({
      state: 'completed',
      counts: { changed: 2, ended: 0 },
    })
    expect((await client.get(path)).body.rentable_area).toBe(1)
    await sound(client)
    expect((await client.delete(`/grid/v2/merges/${merge}`)).status).toBe(204)
    expect(await standing(client, `/buildings/${member}`)).toMatchObject({
      name: 'Alpha',
      rentable_area: 1,
    })
    expect((await client.get(path)).body.rentable_area).toBe(250_000)
    await sound(client)
    const again = await load(client, TRUSTED, `${HEAD}A,Other,7\nB,Beta,3\n`, '2025-02-01')
    expect(again.counts).toMatchObject({ changed: 2, created: 0 })
  })

  it('takes back both records of the source that became one object', async () => {
    const { client, job } = await twoFiles()
    const [a, b] = [await buildingOf(client, 'A'), await buildingOf(client, 'B')]
    const forced = { winner: a, loser: b, force: true }
    expect(await client.post('/grid/v2/merges', forced)).toMatchObject({ status: 201 })
    const { body } = await undo(client, job)
    expect(await finished(client, body.id)).toMatchObject({ state: 'completed' })
    expect((await client.get(`/buildings/${b}`)).body).toMatchObject({ id: a, rentable_area: 1 })
    await sound(client)
  })

  it.each([
    ['merged into another', false],
    ['taken others in', true],
  ])('is refused while what it made has been %s', async (_, wins) => {
    const client = await newOrganization()
    const property = await client.post('/properties', samples.property())
    const other = (await client.post('/buildings', samples.building(property.body.id))).body.id
    const job = await load(client, adapterOf(), `${HEAD}A,Alpha,1\n`, '2025-01-01')
    const made = await buildingOf(client, 'A')
    const [winner, loser] = wins ? [made, other] : [other, made]
    const merge = await merged(client, winner, loser)
    const before = await standing(client, `/buildings/${winner}`)
    expect(await undo(client, job)).toMatchObject({
      status: 409,
      body: { code: 'conflict', merges: [merge], object_ids: [loser] },
    })
    expect(await standing(client, `/buildings/${winner}`)).toEqual(before)
    expect((await client.delete(`/grid/v2/merges/${merge}`)).status).toBe(204)
    const { body } = await undo(client, job)
    expect(await finished(client, body.id)).toMatchObject({ state: 'completed' })
    expect((await client.get(`/buildings/${made}`)).status).toBe(404)
    expect((await client.get(`/buildings/${other}`)).status).toBe(200)
    await sound(client)
  })
})
