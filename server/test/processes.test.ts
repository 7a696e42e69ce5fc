/** Four processes of the service on one database: one quota, keys that end everywhere. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { createKey } from '../src/keys/service.ts'
import { idDigits } from '../src/kit/ids.ts'
import { ALL_SCOPES } from '../src/kit/scopes.ts'
import { grid, newOrganization, ownDatabase } from './grid.ts'

const PROCESSES = 4

// They have a master key of their own: what other tests have sealed they could not open.
await ownDatabase()

let children: ChildProcess[] = []
let bases: string[] = []
let folder: string

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'grid-processes-'))
  // Keys that are there already: no process makes the first ones.
  await writeFile(join(folder, 'keys.json'), '{}')
  const { host, port: databasePort, app: user } = inject('database')
  const { db } = await grid()
  for (let i = 0; i < PROCESSES; i++) {
    const port = await freePort()
    bases.push(`http://127.0.0.1:${port}`)
    const env = {
      PATH: process.env['PATH'],
      DATABASE_URL: `postgres://${user}@localhost:${databasePort}/${db.config.database}?host=${encodeURIComponent(host)}`,
      GRID_DATA_DIR: folder,
      GRID_PORT: String(port),
      GRID_LOG: 'error',
      GRID_PIPELINED: '2',
    }
    const args = ['server/src/main.ts', 'serve']
    children.push(spawn(process.execPath, args, { env, stdio: ['ignore', 'ignore', 'inherit'] }))
  }
  await Promise.all(bases.map(ready))
}, 60_000)

afterAll(async () => {
  for (const child of children) {
    if (child.exitCode !== null) continue
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill('SIGTERM')
    await gone
  }
  await rm(folder, { recursive: true, force: true })
})

async function ready(base: string): Promise<void> {
  for (let i = 0; i < 500; i++) {
    const answer = await fetch(`${base}/openapi.json`).catch(() => null)
    await answer?.body?.cancel()
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error(`${base} does not answer`)
}

async function statusOf(process: number, key: string): Promise<number> {
  const base = bases[process % PROCESSES] as string
  const answer = await fetch(`${base}/api/v1/parties?limit=1`, { headers: { 'x-api-key': key } })
  await answer.arrayBuffer()
  return answer.status
}

describe('four processes', () => {
  it('admit a hundred requests of a sandbox, one after the other; the next is refused by each', async () => {
    const { key } = await newOrganization({ standing: { environment: 'sandbox' } })
    for (let i = 0; i < 100; i++) expect([i, await statusOf(i, key)]).toEqual([i, 200])
    for (let i = 0; i < PROCESSES; i++) expect(await statusOf(i, key)).toBe(429)
  }, 60_000)

  it('admit a hundred of 256 requests of 64 clients at once', async () => {
    const { key } = await newOrganization({ standing: { environment: 'sandbox' } })
    const statuses: number[] = []
    const client = async (n: number): Promise<void> => {
      for (let i = 0; i < 4; i++) statuses.push(await statusOf(n + i, key))
    }
    await Promise.all(Array.from({ length: 64 }, async (_, n) => await client(n)))
    expect(statuses.filter((status) => status === 200)).toHaveLength(100)
    expect(statuses.filter((status) => status === 429)).toHaveLength(156)
  }, 60_000)

  it('refuse a key within a second of its end in one of them', async () => {
    const { db } = await grid()
    const { org_id, key } = await newOrganization()
    const made = await createKey(db, org_id, {
      name: 'K',
      scopes: ALL_SCOPES,
      environment: 'production',
    })
    for (let i = 0; i < PROCESSES; i++) expect(await statusOf(i, made.text)).toBe(200)
    const headers = { 'x-api-key': key }
    const url = `${bases[0]}/api/v1/api-keys/key_${idDigits('key', made.id)}`
    expect((await fetch(url, { method: 'DELETE', headers })).status).toBe(204)
    const ended = performance.now()
    expect(await statusOf(0, made.text)).toBe(401)
    await Promise.all(
      [1, 2, 3].map(async (process) => {
        while ((await statusOf(process, made.text)) === 200)
          expect(performance.now() - ended).toBeLessThan(1_000)
      }),
    )
  }, 60_000)
})
