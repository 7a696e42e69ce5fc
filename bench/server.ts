/** The product as a user starts it, in a process and data directory of its own. */
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export interface Server {
  pid: number
  port: number
  data_dir: string
  base: string
  key: string
  /** Milliseconds from the start of the process to its first answer. */
  ready_ms: number
  /** Folder of the database's socket. */
  socket_dir: string
  /** Peak memory of the process so far, in MB. */
  peakMemory: () => Promise<number>
  stop: () => Promise<void>
}

const SETTINGS = {
  GRID_DEMO: 'none',
  GRID_LOG: 'error',
  // The limiter works as always; only its quota is out of the way.
  GRID_LIMIT_ENTERPRISE: '10000000',
}

/** Started and not ended. */
const running = new Set<ChildProcess>()

export async function newDataDir(): Promise<string> {
  return await mkdtemp(join(tmpdir(), 'grid-bench-'))
}

/** Starts the service and waits for its first answer. */
export async function startServer(
  data_dir: string,
  settings: Record<string, string> = {},
  roles = ['serve', '--work'],
): Promise<Server> {
  const port = await freePort()
  const started = performance.now()
  const child = spawn('bin/grid', roles, {
    env: {
      ...process.env,
      ...SETTINGS,
      ...settings,
      GRID_DATA_DIR: data_dir,
      GRID_PORT: String(port),
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  running.add(child)
  child.once('exit', () => running.delete(child))
  const base = `http://127.0.0.1:${port}/api/v1`
  await answers(child, `http://127.0.0.1:${port}/openapi.json`)
  const ready_ms = performance.now() - started
  const keys = JSON.parse(await readFile(join(data_dir, 'keys.json'), 'utf8')) as { live: string }
  return {
    pid: child.pid as number,
    port,
    data_dir,
    base,
    key: keys.live,
    ready_ms,
    socket_dir: join(data_dir, 'run'),
    peakMemory: async () => await peakMemory(child.pid as number),
    stop: async () => await stop(child),
  }
}

async function answers(child: ChildProcess, url: string): Promise<void> {
  for (let tries = 0; tries < 3_000; tries++) {
    if (child.exitCode !== null) throw new Error(`the server ended with ${child.exitCode}`)
    const answer = await fetch(url).catch(() => null)
    await answer?.body?.cancel()
    if (answer?.ok) return
    await new Promise((resolve) => setTimeout(resolve, 10))
  }
  throw new Error('the server did not answer within 30 s')
}

async function freePort(): Promise<number> {
  const probe = createServer()
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve))
  const { port } = probe.address() as AddressInfo
  await new Promise((resolve) => probe.close(resolve))
  return port
}

async function peakMemory(pid: number): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8')
  return Math.round(Number(/VmHWM:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1_024)
}

async function stop(child: ChildProcess): Promise<void> {
  if (!running.has(child)) return
  const ended = new Promise((resolve) => child.once('exit', resolve))
  child.kill('SIGTERM')
  await ended
}

/** Also after a part has failed: its server is stopped first. */
export async function removeDataDir(data_dir: string): Promise<void> {
  await Promise.all([...running].map(stop))
  await rm(data_dir, { recursive: true, force: true })
}
