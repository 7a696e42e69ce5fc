import { mkdir, readdir, readFile, rename, rm, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, describe, expect, inject, it } from 'vitest'
import { grid, newOrganization, owner, ownDatabase } from '../../../test/grid.ts'
import type { TestClient } from '../../../test/grid.ts'
import { finished } from '../../../test/jobs.ts'
import { samples } from '../../../test/samples.ts'
import { bareStore } from '../../organizations/service.ts'
import { STANDARD_LIMITS } from '../limits.ts'
import { ownIds } from '../load-fixture.ts'
import { lookForFiles } from './drop.ts'
import type { Seen } from './drop.ts'

await ownDatabase()
await ownIds()

const closing: (() => void)[] = []
afterEach(() => {
  for (const close of closing.splice(0)) close()
})

describe('a drop folder', () => {
  const DOCUMENT = {
    adapter: 'dropped',
    source: { name: 'Dropped', kind: 'csv' },
    streams: [{ type: 'building', key: 'row.Code', map: { code: 'row.Code', name: 'row.Name' } }],
  }

  async function dropping(): Promise<{
    client: TestClient
    folder: string
    look: (seen: Seen) => Promise<number>
  }> {
    const { db } = await grid()
    const client = await newOrganization({ standing: { environment: 'sandbox' } })
    const root = join(inject('files'), `drop-${client.org_id}`)
    const folder = join(root, client.organization_id, 'dropped')
    await mkdir(folder, { recursive: true })
    closing.push(() => void rm(root, { recursive: true, force: true }))
    const dropped = {
      store: bareStore(db),
      folder: root,
      data_dir: inject('files'),
      limits: STANDARD_LIMITS,
      log: () => {},
    }
    return { client, folder, look: async (seen) => await lookForFiles(dropped, seen) }
  }

  async function promote(client: TestClient): Promise<void> {
    const direct = await owner()
    await direct.query('update adapter set live_version = 1 where org_id = $1', [client.org_id])
    await direct.end()
  }

  it('loads a file that stays as it is, and leaves one alone that is being written', async () => {
    const { client, folder, look } = await dropping()
    const made = await client.post('/sdis/adapters', { document: DOCUMENT })
    expect(made.status).toBe(201)
    const seen: Seen = new Map()
    await writeFile(join(folder, 'a.csv'), 'Code,Name\nA,Alpha\n')
    await writeFile(join(folder, 'b.csv.part'), 'Code,Name\nB,Be')
    expect(await look(seen)).toBe(0)
    // It has grown since.
    await writeFile(join(folder, 'a.csv'), 'Code,Name\nA,Alpha\nC,Gamma\n')
    await utimes(join(folder, 'a.csv'), 1, 1)
    expect(await look(seen)).toBe(0)
    // No version of the adapter is live yet.
    expect(await look(seen)).toBe(0)
    const [failed = '', reason = ''] = await readdir(join(folder, 'failed'))
    expect([failed.endsWith('-a.csv'), reason]).toEqual([true, `${failed}.txt`])
    expect((await client.get('/sdis/jobs')).body.data).toEqual([])
    await promote(client)
    await rename(join(folder, 'failed', failed), join(folder, 'a.csv'))
    expect([await look(seen), await look(seen), await look(seen)]).toEqual([0, 1, 0])
    const { body: jobs } = await client.get('/sdis/jobs')
    expect(await finished(client, jobs.data[0].id)).toMatchObject({
      state: 'completed',
      counts: { created: 2 },
    })
    expect(await readdir(folder)).toEqual(
      expect.arrayContaining(['b.csv.part', 'done', 'failed', 'taking']),
    )
    expect(await readdir(join(folder, 'done'))).toHaveLength(1)
  })

  it.each<[string, string, string | null]>([
    ['the day it names', '2025-05-31', '2025-05-31'],
    ['no day to come', '2999-05-31', null],
  ])('loads a file as of %s', async (_, day, as_of) => {
    const { client, folder, look } = await dropping()
    const source = { ...DOCUMENT.source, header: { find: ['Code'] }, cells: { as_of: 'B1' } }
    const document = { ...DOCUMENT, source, effective: { from: 'meta.as_of' } }
    expect((await client.post('/sdis/adapters', { document })).status).toBe(201)
    await promote(client)
    await writeFile(join(folder, 'a.csv'), `As of,${day}\nCode,Name\nA,Alpha\n`)
    const seen: Seen = new Map()
    expect([await look(seen), await look(seen)]).toEqual([0, as_of === null ? 0 : 1])
    const { body: jobs } = await client.get('/sdis/jobs')
    expect(jobs.data.map((job: { as_of: string }) => job.as_of)).toEqual(as_of ? [as_of] : [])
    const [, reason] = await readdir(join(folder, 'failed')).catch(() => [])
    if (as_of) await finished(client, jobs.data[0].id)
    else
      expect(await readFile(join(folder, 'failed', reason ?? ''), 'utf8')).toContain(
        'must not be after today',
      )
  })

  it('leaves a file whose adapter names what is there no more', async () => {
    const { client, folder, look } = await dropping()
    const property = (await client.post('/properties', samples.property())).body
    const map = { code: 'row.Code', name: 'row.Name', property_id: { value: property.id } }
    const document = { ...DOCUMENT, streams: [{ type: 'building', key: 'row.Code', map }] }
    expect((await client.post('/sdis/adapters', { document })).status).toBe(201)
    await promote(client)
    await client.delete(`/properties/${property.id}`)
    await writeFile(join(folder, 'a.csv'), 'Code,Name\nA,Alpha\n')
    const seen: Seen = new Map()
    expect([await look(seen), await look(seen)]).toEqual([0, 0])
    const [, reason = ''] = await readdir(join(folder, 'failed'))
    expect(await readFile(join(folder, 'failed', reason), 'utf8')).toContain(
      `no property has the id ${property.id}`,
    )
    expect((await client.get('/sdis/jobs')).body.data).toEqual([])
  })
})
