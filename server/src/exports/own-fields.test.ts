/** Fields of an organization's own in lists as files and in exports. */
import { parquetReadObjects } from 'hyparquet'
import { expect, it } from 'vitest'
import { grid, newOrganization, ownDatabase } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { samples } from '../../test/samples.ts'
import { storageOf } from '../documents/storage.ts'
import type { Row } from '../kit/resource.ts'
import { deployOperations } from '../schema/schema-fixture.ts'
import { takeExport } from './work.ts'

// Exports are taken of every organization.
await ownDatabase()

/** The file of an export, which has one row. */
async function exported(client: TestClient, body: Row): Promise<Buffer> {
  const { app, db, base } = await grid()
  const asked = await client.post('/exports', body)
  expect(asked.status, JSON.stringify(asked.body)).toBe(202)
  const log = (text: string): void => expect.fail(text)
  const stopping = new AbortController().signal
  await takeExport({ config: app.config, db, storage: storageOf(app.config), log, stopping })
  const path = `/exports/${asked.body.id}`
  expect((await client.get(path)).body).toMatchObject({ state: 'completed', rows_written: 1 })
  const answer = await fetch(`${base}${path}/content`, { headers: { 'x-api-key': client.key } })
  return Buffer.from(await answer.arrayBuffer())
}

const field = (label: string, type: string): Row => ({
  op: 'add_attribute',
  object_type: 'party',
  label,
  type,
})

it('each is a column of its type in lists and exports, and can be chosen and filtered by', async () => {
  const client = await newOrganization()
  await deployOperations(client, [
    field('Rating', 'integer'),
    field('Reviewed on', 'date'),
    field('Credit', 'money'),
  ])
  const credit = { amount: '-12.50', currency: 'EUR' }
  const ext = { rating: 7, reviewed_on: '2026-02-28', credit }
  const made = await client.post('/parties', { ...samples.party(), ext })
  expect(made.status, JSON.stringify(made.body)).toBe(201)
  const { id } = made.body
  const names = 'id,ext.rating,ext.reviewed_on,ext.credit.amount,ext.credit.currency'
  const table = `${names}\r\n${id},7,2026-02-28,-12.50,EUR\r\n`
  const list = async (path: string): Promise<string> => String((await client.get(path)).body)
  expect(await list('/parties?format=csv&fields=id,ext')).toBe(table)
  const chosen = await list('/parties?format=csv&fields=id,ext.rating')
  expect(chosen).toBe(`id,ext.rating\r\n${id},7\r\n`)
  expect(await list('/grid/v2/parties?format=csv')).toContain(',ext.rating,ext.reviewed_on,')

  const body = { type: 'party', fields: ['id', 'ext'], filters: { 'ext.rating': { gte: 5 } } }
  expect((await exported(client, { ...body, format: 'csv' })).toString()).toBe(table)
  const file = new Uint8Array(await exported(client, { ...body, format: 'parquet' })).buffer
  expect(await parquetReadObjects({ file })).toEqual([
    {
      id,
      'ext.rating': 7n,
      'ext.reviewed_on': new Date('2026-02-28'),
      'ext.credit.amount': -12.5,
      'ext.credit.currency': 'EUR',
    },
  ])
  const unknown = { type: 'party', format: 'csv', filters: { 'ext.nonsense': 1 } }
  expect(await client.post('/exports', unknown)).toMatchObject({
    status: 422,
    body: { errors: [{ field: 'filters.ext.nonsense' }] },
  })
})
