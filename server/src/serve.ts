/** The running service: database, API, background work, and an orderly end. */
import type { FastifyInstance } from 'fastify'
import { buildApp } from './app.ts'
import { boot } from './boot.ts'
import type { Booted } from './boot.ts'
import type { Config } from './config.ts'
import { firstStart, keysPath } from './first-start.ts'
import { startWork } from './queue/work.ts'

/** How long running requests may take to finish once the service is told to stop. */
const DRAIN_MS = 20_000

/** Runs until a signal or until the database is lost. @returns the exit code. */
export async function serve(
  config: Config,
  roles: { api: boolean; work: boolean },
): Promise<number> {
  const booted = await boot(config, print)
  let app: FastifyInstance | null = null
  let stopWork: (() => Promise<void>) | null = null
  try {
    const base_url = config.GRID_BASE_URL ?? `http://${config.GRID_HOST}:${config.GRID_PORT}/api/v1`
    const keys = await firstStart(config, booted.db, booted.data_dir, base_url)
    if (keys) print(`first start: wrote ${keysPath(booted.data_dir)}`)
    if (roles.work)
      stopWork = startWork(config, booted.db, booted.data_dir, (message) => print(message))
    if (roles.api) {
      app = await buildApp(config, booted.db)
      await listen(app, config)
      print(
        `API      ${base_url}\nDocs     ${new URL('/docs', base_url).href}\nKeys     ${keysPath(booted.data_dir)}`,
      )
    }
    const reason = await stopReason(booted)
    print(reason)
    return reason.startsWith('stopping') ? 0 : 1
  } finally {
    await drain(app)
    await stopWork?.()
    await booted.stop()
  }
}

async function listen(app: FastifyInstance, config: Config): Promise<void> {
  try {
    await app.listen({ port: config.GRID_PORT, host: config.GRID_HOST })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EADDRINUSE') throw error
    throw new Error(
      `port ${config.GRID_PORT} is in use on ${config.GRID_HOST}; stop what uses it or set GRID_PORT to another port`,
      { cause: error },
    )
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
  await app.close()
  clearTimeout(hurry)
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
