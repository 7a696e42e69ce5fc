/** Exports whose storage fails, takes long, or whose process ends. */
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it, vi } from 'vitest'
import { grid, newOrganization, owner, ownDatabase } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { portfolio } from '../../test/samples.ts'
import { storageOf } from '../documents/storage.ts'
import { ApiError } from '../kit/errors.ts'
import type { Row } from '../kit/resource.ts'
import { claimExport } from './queries.ts'
import { takeExport } from './work.ts'
import type { ExportWork } from './work.ts'

// Exports are taken of every organization, and the tests want to choose when.
await ownDatabase()

const PARTIES = { type: 'party', format: 'csv', fields: ['id'] }

let client: TestClient
beforeAll(async () => {
  client = await newOrganization()
  await portfolio(client)
})

async function workplace(stopping = new AbortController()): Promise<ExportWork> {
  const { app, db } = await grid()
  const { config } = app
  return { config, db, storage: storageOf(config), log: () => {}, stopping: stopping.signal }
}

function digitsOf({ id }: { id: string }): string {
  return id.slice('xpt_'.length)
}

/** The row of an export, as workers see it. */
async function rowOf(one: { id: string }): Promise<Row> {
  const db = await owner()
  const { rows } = await db.query<Row>(
    'select state, attempts, locked_until, locked_until > now() as held from export where id = $1',
    [digitsOf(one)],
  )
  await db.end()
  return rows[0] ?? {}
}

describe('an export', () => {
  it('is tried again after a pause while the storage is down, and holds no room meanwhile', async () => {
    const { app, db } = await grid()
    const { body } = await client.post('/exports', PARTIES)
    const place = await workplace()
    const put = async (): Promise<never> => {
      throw new ApiError('unavailable', 'The storage is down.')
    }
    await takeExport({ ...place, storage: { ...place.storage, put } })
    expect(await rowOf(body)).toMatchObject({ state: 'queued', attempts: 1, held: true })
    expect(await claimExport(db, 79, 999_999)).toBeUndefined()
    const folder = join(app.config.GRID_DATA_DIR, 'files', 'exporting')
    const own = readdirSync(folder).filter((name) => name.includes(`doc_${digitsOf(body)}.`))
    expect(own.map((name) => statSync(join(folder, name)).size)).toEqual([0])
    const sql = await owner()
    await sql.query('update export set locked_until = now() where id = $1', [digitsOf(body)])
    await sql.end()
    await takeExport(place)
    expect((await client.get(`/exports/${body.id}`)).body).toMatchObject({
      state: 'completed',
      attempts: 2,
    })
  })

  it('is held while its file is put at its place, however long that takes', async () => {
    const { body } = await client.post('/exports', PARTIES)
    const until = async (): Promise<number> => Number((await rowOf(body))['locked_until'])
    const place = await workplace()
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    const put: typeof place.storage.put = async (key, file) => {
      const before = await until()
      vi.advanceTimersByTime(15_000)
      await expect.poll(until).toBeGreaterThan(before)
      await place.storage.put(key, file)
    }
    await takeExport({ ...place, storage: { ...place.storage, put } })
    vi.useRealTimers()
    expect(await rowOf(body)).toMatchObject({ state: 'completed', attempts: 1 })
  })

  it('goes back without an attempt when its process ends, and fails when it ends process after process', async () => {
    const { db } = await grid()
    const { body } = await client.post('/exports', PARTIES)
    const stopping = new AbortController()
    const place = await workplace(stopping)
    const put = async (): Promise<never> => {
      stopping.abort()
      throw new Error('The process ends.')
    }
    await takeExport({ ...place, storage: { ...place.storage, put } })
    expect(await rowOf(body)).toMatchObject({ state: 'queued', attempts: 0 })
    for (const lease_id of [80, 81, 82]) await claimExport(db, lease_id, 999_999)
    await takeExport(await workplace())
    expect((await client.get(`/exports/${body.id}`)).body).toMatchObject({
      state: 'failed',
      attempts: 4,
      error: { code: 'internal', message: 'The export failed on our side.' },
    })
  })
})
