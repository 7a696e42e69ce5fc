/** The sealing thread itself: a connection of its own, one batch after the other. */
import { parentPort, workerData } from 'node:worker_threads'
import { Db } from '../db/db.ts'
import { loop } from '../queue/loop.ts'
import { keyFrom } from './key.ts'
import { sealAudits } from './sealer.ts'
import type { SealingData } from './thread.ts'

/** What happens is sealed within a second; where much waits to be, at once. */
const SEALING_MS = 400
const SEALED_MANY = 300

/** One seals, one looks for what is due. */
const CONNECTIONS = { pipelined: 1, pooled: 1 }

const given = workerData as SealingData
const db = new Db(given.database, CONNECTIONS)
const key = keyFrom(given.key, 'GRID_AUDIT_KEY')

function log(message: string): void {
  // A thread is no window: there is no other origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(message)
}

const stop = loop('audit', log, async () =>
  (await sealAudits(db, key)) >= SEALED_MANY ? 0 : SEALING_MS,
)

parentPort?.once('message', () => {
  void stop()
    .then(async () => await db.close())
    .finally(() => parentPort?.close())
})
