/** The running service: database, API, background work, and an orderly end. */
import { flushCompileCache } from 'node:module'
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import { boot } from './boot.ts'
import type { Booted } from './boot.ts'
import { baseUrl } from './config.ts'
import type { Config } from './config.ts'
import { firstStart, keysPath } from './first-start.ts'
import { giveBackMemory } from './memory.ts'
import { startOps } from './ops.ts'
import { startWork } from './queue/work.ts'
import { requireConnectionKeys } from './sdis/pull/connections.ts'
import { secretsOf } from './secrets.ts'
import { requireMasterKeys } from './webhooks/service.ts'

/** How long running requests may take to finish once the service is told to stop. */
const DRAIN_MS = 20_000

/** Connections that turn idle while draining are looked for this often. */
const IDLE_MS = 50

/** Runs until a signal or until the database is lost. @returns the exit code. */
export async function serve(
  config: Config,
  roles: { api: boolean; work: boolean },
): Promise<number> {
  const booted = await boot(config, print)
  let app: FastifyInstance | null = null
  let stopWork: (() => Promise<void>) | null = null
  let ops: { close: () => Promise<void> } | null = null
  try {
    const base_url = baseUrl(config)
    await requireMasterKeys(booted.db, secretsOf(config))
    await requireConnectionKeys(booted.db, secretsOf(config))
    const keys = await firstStart(config, booted.db, booted.data_dir, base_url, print)
    if (keys) print(`first start: wrote ${keysPath(booted.data_dir)}`)
    if (roles.work)
      stopWork = startWork(config, booted.db, booted.data_dir, (message) => print(message))
    if (roles.api) {
      app = await buildApp(config, booted.db)
      await listening(app.listen({ port: config.GRID_PORT, host: config.GRID_HOST }), 'GRID_PORT')
      print(
        `API      ${base_url}\nDocs     ${new URL('/docs', base_url).href}\nKeys     ${keysPath(booted.data_dir)}`,
      )
    }
    if (config.GRID_OPS_PORT > 0) ops = await operate(config, booted.db, app)
    giveBackMemory()
    flushCompileCache()
    const reason = await stopReason(booted)
    print(reason)
    return reason.startsWith('stopping') ? 0 : 1
  } finally {
    await drain(app)
    await ops?.close()
    await stopWork?.()
    await booted.stop()
  }
}

/** Metrics and health of this process on the operator's port. */
async function operate(
  config: Config,
  db: Booted['db'],
  app: FastifyInstance | null,
): Promise<{ close: () => Promise<void> }> {
  const requests = app?.requestCounts ?? null
  const requestLog = app?.requestLog ?? null
  const ops = await listening(startOps(config, { db, requests, requestLog }), 'GRID_OPS_PORT')
  print(`Metrics  http://${config.GRID_HOST}:${ops.port}/health/metrics`)
  return ops
}

/** Waits for a server to listen. @throws a sentence on what to do when another program has its port. */
async function listening<T>(start: Promise<T>, setting: 'GRID_PORT' | 'GRID_OPS_PORT'): Promise<T> {
  try {
    return await start
  } catch (error) {
    const { code, port } = error as NodeJS.ErrnoException & { port?: number }
    if (code !== 'EADDRINUSE') throw error
    throw new Error(`port ${port} is in use; stop what uses it or set ${setting} to another port`, {
      cause: error,
    })
  }
}

async function stopReason(booted: Booted): Promise<string> {
  const signal = new Promise<string>((resolve) => {
    for (const name of ['SIGINT', 'SIGTERM'] as const) {
      process.once(name, () => resolve(`stopping on ${name}`))
    }
  })
  const lost = booted.ended.then((error) => error?.message ?? 'the database stopped')
  return await Promise.race([signal, lost])
}

/** No new connections; requests under way finish, but not for ever. */
async function drain(app: FastifyInstance | null): Promise<void> {
  if (!app) return
  const hurry = setTimeout(() => app.server.closeAllConnections(), DRAIN_MS)
  const idle = setInterval(() => app.server.closeIdleConnections(), IDLE_MS)
  await app.close()
  clearInterval(idle)
  clearTimeout(hurry)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
