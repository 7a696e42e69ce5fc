/** A service whose SQL console is open to all, and two organizations with an object of every type. */
import type { FastifyInstance } from 'fastify'
import { grid, newOrganization } from '../../../test/grid.ts'
import type { TestClient } from '../../../test/grid.ts'
import { portfolio } from '../../../test/samples.ts'
import type { Ids } from '../../../test/samples.ts'
import { buildApp } from '../../app.ts'
import { readConfig } from '../../config.ts'

interface Ran {
  status: number
  // Tests look into answers of every shape.
  // oxlint-disable-next-line typescript/no-explicit-any
  body: any
}

export interface OpenConsole {
  app: FastifyInstance
  run: (sql: string, limit?: number, by?: TestClient) => Promise<Ran>
  own: TestClient
  foreign: TestClient
  ids: Ids
  foreignIds: Ids
}

/** Close the app after use. */
export async function openConsole(): Promise<OpenConsole> {
  const { db } = await grid()
  const config = readConfig({
    GRID_LOG: 'error',
    GRID_SQL_CONSOLE: 'all',
    GRID_LIMIT_ENTERPRISE: '1000000',
  })
  const app = await buildApp(config, db)
  const [own, foreign] = await Promise.all([newOrganization(), newOrganization()])
  const [ids, foreignIds] = await Promise.all([portfolio(own), portfolio(foreign)])
  const run = async (sql: string, limit?: number, by = own): Promise<Ran> => {
    const headers = { 'x-api-key': by.key }
    const payload = { sql, ...(limit === undefined ? {} : { limit }) }
    const answer = await app.inject({
      method: 'POST',
      url: '/api/v1/grid/v2/sql',
      headers,
      payload,
    })
    return { status: answer.statusCode, body: answer.json() }
  }
  return { app, run, own, foreign, ids, foreignIds }
}
