/**
 * kill -9, ten times, during an import and a stream of writes: what was acknowledged is there, nothing is half done. Then
 * during an import of one transaction, and while that is undone.
 */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { checkOrganization } from './consistency.ts'

const KILLS = 10
const ROWS = 40_000
const WRITERS = 3
const CHANGED = 10_000

let data_dir: string
let port: number
let key = ''
let child: ChildProcess | null = null

beforeAll(async () => {
  data_dir = await mkdtemp(join(tmpdir(), 'grid-crash-'))
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  port = (probe.address() as AddressInfo).port
  await new Promise((resolve) => probe.close(resolve))
})

afterAll(async () => {
  if (child?.exitCode === null) await end('SIGTERM')
  await rm(data_dir, { recursive: true, force: true })
})

async function start(): Promise<void> {
  child = spawn(process.execPath, ['server/src/main.ts', 'serve', '--work'], {
    env: {
      PATH: process.env['PATH'],
      GRID_DATA_DIR: data_dir,
      GRID_PORT: String(port),
      GRID_DEMO: 'none',
      GRID_LOG: 'error',
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  for (let i = 0; i < 1_500; i++) {
    const answer = await fetch(`http://127.0.0.1:${port}/openapi.json`).catch(() => null)
    await answer?.body?.cancel()
    if (answer?.ok) break
    await pause(20)
  }
  key = (JSON.parse(await readFile(join(data_dir, 'keys.json'), 'utf8')) as { live: string }).live
}

async function end(signal: 'SIGKILL' | 'SIGTERM'): Promise<void> {
  const gone = new Promise((resolve) => child?.once('exit', resolve))
  child?.kill(signal)
  await gone
}

async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

/** An answer, or null when the process died before it gave one. */
async function call(
  method: string,
  path: string,
  body?: unknown,
): Promise<{ status: number; body: Record<string, unknown> } | null> {
  const form = body instanceof FormData
  const headers = {
    'x-api-key': key,
    ...(body && !form ? { 'content-type': 'application/json' } : {}),
  }
  const init = { method, headers, ...(body ? { body: form ? body : JSON.stringify(body) } : {}) }
  try {
    const answer = await fetch(`http://127.0.0.1:${port}/api/v1${path}`, init)
    return { status: answer.status, body: (await answer.json()) as Record<string, unknown> }
  } catch {
    return null
  }
}

async function must(
  method: string,
  path: string,
  body?: unknown,
): Promise<Record<string, unknown>> {
  const answer = await call(method, path, body)
  if (!answer || answer.status >= 300) throw new Error(JSON.stringify(answer))
  return answer.body
}

const ADAPTER = `
adapter: crash
source: { name: Crash, kind: csv }
mode: full_snapshot
streams:
  - type: building
    key: row.Code
    map: { code: row.Code, name: row.Name, rentable_area: row.Area, year_built: row.Built }
`

/** @param added to every area. @param atomic as one transaction. */
async function sendImport(count: number, added: number, atomic: boolean): Promise<string> {
  const rows = Array.from(
    { length: count },
    (_, i) => `B-${i},Building ${i},${added + i},${1950 + (i % 70)}`,
  )
  const form = new FormData()
  form.set('adapter', atomic ? ADAPTER.replace('full_snapshot', 'upsert') : ADAPTER)
  if (atomic) form.set('options', '{"atomic":true}')
  form.set('file', new Blob([`Code,Name,Area,Built\n${rows.join('\n')}\n`]), 'buildings.csv')
  return String((await must('POST', '/sdis/jobs', form))['id'])
}

const OPEN = ['queued', 'validating', 'running']

/** Kills the process some times while the job runs, then waits for its end. */
async function disturbed(job: string, kills: number): Promise<Record<string, unknown>> {
  for (let i = 0; i < kills; i++) {
    await pause(50 + Math.random() * 400)
    await end('SIGKILL')
    await start()
  }
  return await ended(job)
}

async function ended(job: string): Promise<Record<string, unknown>> {
  while (true) {
    const report = await must('GET', `/sdis/jobs/${job}`)
    if (!OPEN.includes(String(report['state']))) return report
    await pause(100)
  }
}

/** Sum of the areas of all buildings, looked up behind the API. */
async function areas(owner: Client): Promise<number> {
  const { rows } = await owner.query<{ sum: string }>('select sum(rentable_area) from building')
  return Number(rows[0]?.sum)
}

async function withOwner<T>(read: (owner: Client) => Promise<T>): Promise<T> {
  const owner = await connected()
  try {
    return await read(owner)
  } finally {
    await owner.end()
  }
}

async function connected(): Promise<Client> {
  const owner = new Client({ host: join(data_dir, 'run'), user: 'postgres', database: 'postgres' })
  await owner.connect()
  return owner
}

interface Acknowledged {
  id: string
  version: number
  name: string
}

/** Creates parties and changes them, one request after the other, until told to stop. */
async function writer(
  n: number,
  acknowledged: Map<string, Acknowledged>,
  going: () => boolean,
): Promise<void> {
  for (let i = 0; going(); i++) {
    const name = `Party ${n}-${i}`
    const made = await call('POST', '/parties', { kind: 'company', legal_name: name })
    if (made?.status !== 201) {
      await pause(20)
      continue
    }
    const id = String(made.body['id'])
    acknowledged.set(id, { id, version: 1, name })
    const changed = await call('PATCH', `/parties/${id}`, { legal_name: `${name} Ltd` })
    if (changed?.status === 200) acknowledged.set(id, { id, version: 2, name: `${name} Ltd` })
  }
}

test(
  'nothing acknowledged is lost and the import ends as if undisturbed',
  { timeout: 240_000 },
  async () => {
    await start()
    const job = await sendImport(ROWS, 1_000, false)
    const acknowledged = new Map<string, Acknowledged>()
    let going = true
    const writers = Array.from(
      { length: WRITERS },
      async (_, n) => await writer(n, acknowledged, () => going),
    )
    let killedWhileRunning = 0
    for (let i = 0; i < KILLS; i++) {
      await pause(100 + Math.random() * 700)
      const now = await call('GET', `/sdis/jobs/${job}`)
      if (now && ['validating', 'running'].includes(String(now.body['state']))) killedWhileRunning++
      await end('SIGKILL')
      await start()
    }
    going = false
    await Promise.all(writers)
    const report = await ended(job)
    expect(killedWhileRunning).toBeGreaterThan(0)
    expect(report).toMatchObject({
      state: 'completed',
      counts: {
        rows_read: ROWS,
        created: ROWS,
        changed: 0,
        unchanged: 0,
        ended: 0,
        quarantined: 0,
      },
    })
    expect(acknowledged.size).toBeGreaterThan(KILLS)
    for (const { id, version, name } of acknowledged.values()) {
      const party = await must('GET', `/parties/${id}`)
      // A change that was not acknowledged may still have been written; one that was may not be missing.
      expect(party['version']).toBeGreaterThanOrEqual(version)
      if (party['version'] === version) expect(party['legal_name']).toBe(name)
    }
    const organization = await must('GET', '/organizations')
    const [own] = organization['data'] as { id: string }[]
    const owner = await connected()
    expect(await checkOrganization(Number(own?.id.slice(4)), owner)).toEqual([])
    await owner.end()
  },
)

test(
  'an import of one transaction, and its undo, end as if undisturbed',
  { timeout: 300_000 },
  async () => {
    if (child?.exitCode !== null) await start()
    if ((await withOwner(areas)) === 0) await ended(await sendImport(CHANGED, 1_000, false))
    const before = await withOwner(areas)
    const whole = await sendImport(CHANGED, 2_000, true)
    expect(await disturbed(whole, 2)).toMatchObject({
      state: 'completed',
      counts: { changed: CHANGED },
    })
    expect(await withOwner(areas)).toBe(before + 1_000 * CHANGED)
    const undo = await must('POST', `/sdis/jobs/${whole}/undo`)
    expect(await disturbed(String(undo['id']), 2)).toMatchObject({
      state: 'completed',
      counts: { changed: CHANGED },
    })
    expect(await withOwner(areas)).toBe(before)
  },
)
