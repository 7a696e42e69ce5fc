/** Rows made again of their claims: while others write, while external ids change hands, when no source lists the object. */
import { describe, expect, it } from 'vitest'
import { sealAll } from '../../test/audit.ts'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { newParty } from '../identity/merge-fixture.ts'
import { adapterOf, load } from '../sdis/load-fixture.ts'
import { tendOrganization } from './work.ts'

const hours = (n: number): string => new Date(Date.now() + n * 3_600_000).toISOString()

const say = async (client: TestClient, object: string, fact: object): Promise<Answer> =>
  await client.post('/grid/v2/facts', { object, op: 'assert', reason: 'Test', ...fact })

it('an external id that comes back when another object has it stays there; all else that is due goes on', async () => {
  const client = await newOrganization()
  const { db } = await grid()
  const key = { system: 'erp', id: '7' }
  const late = await newParty(client, 'Late Ltd', {})
  const other = await newParty(client, 'Other Ltd', {})
  const attributes = { external_ids: [key, { system: 'crm', id: '7' }], ticker: 'LATE' }
  const valid_from = hours(1)
  expect((await say(client, late, { attributes, valid_from })).status).toBe(201)
  expect((await say(client, other, { attribute: 'ticker', value: 'OTH', valid_from })).status).toBe(
    201,
  )
  const first = await newParty(client, 'First Ltd', { external_ids: [key] })
  await tendOrganization(db, client.org_id, new Date(hours(1.1)))
  const seen = async (id: string): Promise<object> => (await client.get(`/parties/${id}`)).body
  const crm = { system: 'crm', id: '7' }
  expect(await seen(late)).toMatchObject({ ticker: 'LATE', external_ids: [crm] })
  expect(await seen(other)).toMatchObject({ ticker: 'OTH' })
  expect(await seen(first)).toMatchObject({ external_ids: [key] })
  await sealAll(client)
  const { body: log } = await client.get('/audit-logs?action=external_ids.left_out')
  expect(log.data).toMatchObject([{ details: { external_ids: [key] } }])
})

it('claims by hand and writes of the same object at once are all answered', async () => {
  const client = await newOrganization()
  const id = await newParty(client, 'Busy Ltd', {})
  const both = Array.from({ length: 12 }, async (_, i) => {
    const [answer, other] = await Promise.all([
      client.patch(`/parties/${id}`, { dba_name: `Busy ${i}` }),
      i % 3 === 0 ? say(client, id, { attribute: 'ticker', value: `B${i}` }) : null,
    ])
    return [answer.status, other?.status ?? 201]
  })
  expect(new Set((await Promise.all(both)).flat())).toEqual(new Set([200, 201]))
  expect(await checkOrganization(client.org_id)).toEqual([])
})

describe('what its source lists no longer', () => {
  const mode = { mode: 'full_snapshot', guards: { max_retract_pct: 100 } }
  const adapter = adapterOf({}, mode)
  const HEAD = 'Code,Name,Area\n'

  const found = async (client: TestClient, code: string): Promise<Answer['body']> => {
    const { body } = await client.get(`/buildings?code=${code}&include=archived`)
    return body.data[0]
  }

  it('keeps its last values, whoever writes to it', async () => {
    const client = await newOrganization()
    await load(client, adapter, `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-01-01')
    const { id } = await found(client, 'B')
    await load(client, adapter, `${HEAD}A,Alpha,1\n`, '2025-02-01')
    const path = `/buildings/${id}`
    for (const hvac_type of ['Old', 'New']) {
      const { status, body } = await client.patch(path, { hvac_type })
      expect(status).toBe(200)
      expect(body).toMatchObject({ code: 'B', name: 'Beta', rentable_area: 2, hvac_type })
      expect(body.archived_at).not.toBeNull()
    }
    const fact = await say(client, id, { attribute: 'hvac_type', value: 'Said' })
    expect(fact.status).toBe(201)
    expect((await client.get(path)).body).toMatchObject({ name: 'Beta', hvac_type: 'Said' })
    expect(await checkOrganization(client.org_id)).toEqual([])
    await load(client, adapter, `${HEAD}A,Alpha,1\nB,Beta,3\n`, '2025-03-01')
    const back = (await client.get(path)).body
    expect(back).toMatchObject({ rentable_area: 3, hvac_type: 'Said', archived_at: null })
  })

  it('is archived also when somebody wrote to it before', async () => {
    const client = await newOrganization()
    await load(client, adapter, `${HEAD}A,Alpha,1\nB,Beta,2\n`, '2025-01-01')
    const { id } = await found(client, 'B')
    await client.patch(`/buildings/${id}`, { hvac_type: 'Old' })
    await load(client, adapter, `${HEAD}A,Alpha,1\n`, '2025-02-01')
    const { body } = await client.get(`/buildings/${id}`)
    expect(body).toMatchObject({ name: 'Beta', hvac_type: 'Old' })
    expect(body.archived_at).not.toBeNull()
    expect(await checkOrganization(client.org_id)).toEqual([])
  })
})
