/** Run events of jobs on their way to the collector that the operator names. */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import type { Egress } from '../egress.ts'
import { claimRunEvents, settleRunEvent } from './run-event-queries.ts'

/** Times an event is sent before it is only kept. */
const ATTEMPTS_MAX = 5

const BATCH = 50
const IDLE_MS = 5_000

/** The pause after the first failure, in seconds; each further one is four times as long. */
const RETRY_S = 10

/** A collector that is silent for longer has not answered, in milliseconds. */
const TIMEOUT_MS = 10_000

/**
 * Sends run events that are due to the operator's collector. A collector that does not answer costs the event a bounded
 * number of tries and the jobs nothing.
 * @returns how long to wait before the next step, in milliseconds.
 */
export async function sendRunEvents(
  config: Pick<Config, 'GRID_OPENLINEAGE_URL'>,
  db: Db,
  egress: Egress,
): Promise<number> {
  const url = config.GRID_OPENLINEAGE_URL
  if (url === null) return 60_000
  const due = await claimRunEvents(db, new Date(Date.now() + 60_000), BATCH)
  for (const event of due) {
    const done = (await send(egress, url, event.body)) || event.attempts >= ATTEMPTS_MAX
    const pause_ms = RETRY_S * 4 ** (event.attempts - 1) * 1_000
    await settleRunEvent(db, event, done ? null : new Date(Date.now() + pause_ms))
  }
  return due.length === BATCH ? 0 : IDLE_MS
}

async function send(egress: Egress, url: string, body: string): Promise<boolean> {
  try {
    const answer = await egress.request(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body,
      allow_private: true,
      signal: AbortSignal.timeout(TIMEOUT_MS),
    })
    await answer.body.dump()
    return answer.status < 300
  } catch {
    return false
  }
}
