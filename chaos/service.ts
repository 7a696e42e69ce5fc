/** The product in processes of its own that can be killed, with the database it keeps. */
import { execFileSync, spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Client } from 'pg'

type Role = 'serve' | 'work' | 'serve --work'

export interface Answer {
  status: number
  headers: Headers
  // Scenarios look into answers of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
}

const SETTINGS = { GRID_DEMO: 'none', GRID_LOG: 'error', GRID_LIMIT_ENTERPRISE: '10000000' }

/** One data directory, the process that owns its database, and others that share it. */
export class Service {
  readonly data_dir: string
  readonly port: number
  key = ''
  sandboxKey = ''
  org_id = 0
  private readonly env: Record<string, string>
  private main: ChildProcess | null = null
  private readonly others: ChildProcess[] = []
  private ending = false

  private constructor(data_dir: string, port: number, env: Record<string, string>) {
    this.data_dir = data_dir
    this.port = port
    this.env = env
  }

  /** A new installation, started. @param env settings beside those of every scenario. */
  static async start(env: Record<string, string> = {}, data_dir?: string): Promise<Service> {
    const folder = data_dir ?? (await mkdtemp(join(tmpdir(), 'grid-chaos-')))
    const service = new Service(folder, await freePort(), env)
    await service.launch()
    const text = await readFile(join(folder, 'keys.json'), 'utf8')
    const keys = JSON.parse(text) as { live: string; sandbox: string; organization_id: string }
    service.key = keys.live
    service.sandboxKey = keys.sandbox
    service.org_id = Number(keys.organization_id.slice(4))
    return service
  }

  get base(): string {
    return `http://127.0.0.1:${this.port}/api/v1`
  }

  get socket_dir(): string {
    return join(this.data_dir, 'run')
  }

  /** The database for other processes, as the app's role. */
  get database_url(): string {
    return `postgresql://grid@localhost/postgres?host=${encodeURIComponent(this.socket_dir)}`
  }

  /** Process id of the one that owns the database. */
  get pid(): number {
    return this.main?.pid as number
  }

  /** Starts the process again after a kill, and waits until it answers. */
  async launch(): Promise<void> {
    this.main = this.spawn('serve --work', this.port, {})
    await answers(this.main, this.port)
  }

  /** Kills the process as the system would when it is out of memory; the database goes on or dies with it. */
  async kill(signal: 'SIGKILL' | 'SIGTERM' = 'SIGKILL'): Promise<void> {
    const child = this.main
    if (!child || child.exitCode !== null || child.signalCode !== null) return
    const gone = new Promise((resolve) => child.once('exit', resolve))
    child.kill(signal)
    await gone
  }

  /** Another process on the same database. @returns its port and a way to kill it. */
  async join(role: Role): Promise<{ base: string; kill: () => Promise<void> }> {
    const port = await freePort()
    const child = this.spawn(role, port, { DATABASE_URL: this.database_url })
    this.others.push(child)
    if (role !== 'work') await answers(child, port)
    const kill = async (): Promise<void> => {
      const gone = new Promise((resolve) => child.once('exit', resolve))
      child.kill('SIGKILL')
      await gone
    }
    return { base: `http://127.0.0.1:${port}/api/v1`, kill }
  }

  /** A new child organization. @returns a key of it. */
  async organization(name: string): Promise<string> {
    const { id } = await this.must('POST', '/organizations', {
      name,
      slug: name.toLowerCase().replaceAll(' ', '-'),
      default_currency: 'USD',
      default_area_unit: 'sqft',
      time_zone: 'America/New_York',
      locale: 'en-US',
    })
    const env = { GRID_DATA_DIR: this.data_dir, DATABASE_URL: this.database_url, ...this.env }
    const out = execFileSync(
      'bin/grid',
      ['keys', 'create', '--name', 'Chaos', '--org', String(id)],
      { env: { PATH: process.env['PATH'], ...env }, encoding: 'utf8' },
    )
    return /grid_live_\S+/.exec(out)?.[0] as string
  }

  /** A request with the live key; null when no answer came. */
  async call(
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Answer | null> {
    try {
      return await send(this.base, this.key, method, path, body, headers)
    } catch {
      return null
    }
  }

  /** A request that has to succeed. */
  async must(method: string, path: string, body?: unknown): Promise<Answer['body']> {
    const answer = await this.call(method, path, body)
    if (!answer || answer.status >= 300)
      throw new Error(`${method} ${path}: ${JSON.stringify(answer)}`)
    return answer.body
  }

  /** A connection that sees everything. Close it after use. */
  async owner(): Promise<Client> {
    const client = new Client({ host: this.socket_dir, user: 'postgres', database: 'postgres' })
    client.on('error', () => {})
    await client.connect()
    return client
  }

  /** Resident memory of the main process, in MB. */
  async memory(): Promise<number> {
    const status = await readFile(`/proc/${this.pid}/status`, 'utf8')
    return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024)
  }

  async end(): Promise<void> {
    if (this.ending) return
    this.ending = true
    for (const child of this.others) child.kill('SIGKILL')
    await this.kill('SIGTERM')
    await rm(this.data_dir, { recursive: true, force: true })
  }

  private spawn(role: Role, port: number, env: Record<string, string>): ChildProcess {
    return spawn('bin/grid', role.split(' '), {
      env: {
        PATH: process.env['PATH'],
        ...SETTINGS,
        GRID_DATA_DIR: this.data_dir,
        GRID_PORT: String(port),
        ...this.env,
        ...env,
      },
      stdio: ['ignore', 'ignore', 'pipe'],
    })
  }
}

/** @throws when no answer came. */
export async function send(
  base: string,
  key: string,
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const answer = await fetch(base + path, {
    method,
    headers: {
      'x-api-key': key,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  })
  const text = await answer.text()
  return { status: answer.status, headers: answer.headers, body: text ? JSON.parse(text) : null }
}

export async function pause(ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms))
}

/** Waits until a condition holds. @throws when it does not within the time. */
export async function until(
  what: string,
  holds: () => Promise<boolean>,
  within_ms = 30_000,
): Promise<void> {
  const end = performance.now() + within_ms
  while (performance.now() < end) {
    if (await holds()) return
    await pause(50)
  }
  throw new Error(`not within ${within_ms / 1_000} s: ${what}`)
}

async function answers(child: ChildProcess, port: number): Promise<void> {
  let said = ''
  child.stderr?.on('data', (chunk: Buffer) => (said = (said + chunk.toString()).slice(-2_000)))
  await until(`the service answers; it said ${said}`, async () => {
    if (child.exitCode !== null) throw new Error(`the service ended: ${said}`)
    const answer = await fetch(`http://127.0.0.1:${port}/openapi.json`).catch(() => null)
    await answer?.body?.cancel()
    return answer?.ok ?? false
  })
}

async function freePort(): Promise<number> {
  const probe = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => probe.once('listening', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}
