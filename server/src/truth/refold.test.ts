/** Rows made again of their claims, while others write and while external ids change hands. */
import { expect, it } from 'vitest'
import { sealAll } from '../../test/audit.ts'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { newParty } from '../identity/merge-fixture.ts'
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
