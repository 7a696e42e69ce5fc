/** From settings to a database that is up, migrated, checked and open. */
import { resolve } from 'node:path'
import type { ClientConfig } from 'pg'
import type { Config } from './config.ts'
import { Db } from './db/db.ts'
import { startEmbedded } from './db/embedded.ts'
import { checkDatabase, migrate } from './db/migrate.ts'

export interface Booted {
  db: Db
  /** Closes connections and stops the embedded server. */
  stop: () => Promise<void>
  /** Resolves with an error if the embedded server ends by itself; never for another server. */
  ended: Promise<Error | null>
  data_dir: string
}

/** Every session speaks UTC and forgets transactions that were left open. */
const SESSION = '-c TimeZone=UTC -c idle_in_transaction_session_timeout=60s'

/** Login role of the service on the embedded server; its socket lies in a folder only the owner can enter. */
const EMBEDDED_ROLE = 'grid'

interface Server {
  owner: ClientConfig | null
  app: ClientConfig
  role: { name: string; password: string | null }
  stop: () => Promise<void>
  ended: Promise<Error | null>
}

/** @param step `serve` migrates when it can, `migrate` must be able to. */
export async function boot(config: Config, log: (message: string) => void): Promise<Booted> {
  const data_dir = resolve(config.GRID_DATA_DIR)
  const server = config.DATABASE_URL ? external(config) : await embedded(data_dir, log)
  try {
    if (server.owner) {
      const applied = await migrate(server.owner, server.role)
      for (const name of applied) log(`migrated ${name}`)
    }
    await checkDatabase(server.app)
    const db = new Db(server.app, { pipelined: config.GRID_PIPELINED, pooled: config.GRID_POOLED })
    await db.open()
    const stop = async (): Promise<void> => {
      await db.close()
      await server.stop()
    }
    return { db, stop, ended: server.ended, data_dir }
  } catch (error) {
    await server.stop()
    throw error
  }
}

async function embedded(dataDir: string, log: (message: string) => void): Promise<Server> {
  const server = await startEmbedded({ dataDir, log })
  const { ownerConfig } = server
  return {
    owner: ownerConfig,
    app: { ...ownerConfig, user: EMBEDDED_ROLE, options: SESSION },
    role: { name: EMBEDDED_ROLE, password: null },
    stop: server.stop,
    ended: server.ended,
  }
}

function external(config: Config): Server {
  const url = new URL(config.DATABASE_URL as string)
  return {
    owner: config.DATABASE_OWNER_URL ? { connectionString: config.DATABASE_OWNER_URL } : null,
    app: { connectionString: url.href, options: SESSION },
    role: {
      name: decodeURIComponent(url.username),
      password: decodeURIComponent(url.password) || null,
    },
    stop: async () => {},
    ended: new Promise(() => {}),
  }
}
