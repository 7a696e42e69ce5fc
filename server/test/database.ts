/** One real PostgreSQL for the whole test run, migrated once. Every test makes organizations of its own in it. */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { startEmbedded } from '../src/db/embedded.ts'
import { migrate } from '../src/db/migrate.ts'

declare module 'vitest' {
  interface ProvidedContext {
    database: { host: string; port: number; owner: string; app: string }
    /** Data directory of the apps of all workers: any of them may run any job. */
    files: string
  }
}

export async function setup(project: TestProject): Promise<() => Promise<void>> {
  const dataDir = await mkdtemp(join(tmpdir(), 'grid-test-'))
  const server = await startEmbedded({ dataDir, settings: { fsync: 'off' } })
  await migrate(server.ownerConfig, { name: 'grid', password: null })
  const { host, port } = server.ownerConfig
  project.provide('files', join(dataDir, 'files'))
  project.provide('database', { host, port, owner: 'postgres', app: 'grid' })
  return async () => {
    await server.stop()
    await rm(dataDir, { recursive: true, force: true })
  }
}
