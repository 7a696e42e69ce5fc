/** The background work of webhooks: deliveries are made, sent, taken back from the dead, replayed, and given up. */
import { baseUrl } from '../config.ts'
import type { Config } from '../config.ts'
import { Db } from '../db/db.ts'
import { Egress } from '../egress.ts'
import { sequence } from '../events/sequencer.ts'
import { placing } from '../events/wake.ts'
import { secretsOf } from '../secrets.ts'
import { count } from '../usage/service.ts'
import { fanOut, failingWebhooks, recover } from './delivery-queries.ts'
import { Dispatcher } from './dispatcher.ts'
import { redrive, replayAsked, stepReplays } from './replays.ts'
import { suspendWebhook, warnOfFailing } from './service.ts'

/** Deliveries that are made at once. */
const FAN_OUT = 5_000

/** So many leave more behind, perhaps. */
const FAN_OUT_MANY = 20

const FAN_OUT_IDLE_MS = 250
const RECOVER_MS = 5_000
const REPLAY_BUSY_MS = 50
const REPLAY_IDLE_MS = 1_000
const HEALTH_MS = 60_000

/** What is asked of one connection is done in the order of asking. */
const CONNECTIONS = { pipelined: 1, pooled: 1 }

/** How long deliveries are held. */
const HELD_DAYS = 30

/** Without success for so long, a webhook is suspended. */
const SUSPEND_HOURS = 120

type Step = (stopping: AbortSignal) => Promise<number>

export interface WebhookWork {
  dispatcher: Dispatcher
  /** Loops by name; each step tells how long to wait before the next, in milliseconds. */
  steps: readonly [name: string, step: Step][]
  /** Waits for what is on its way; call it when the loops have stopped. */
  end: () => Promise<void>
}

/** @param egress sends; made from the settings unless given. */
export function webhookWork(
  config: Config,
  db: Db,
  log: (message: string) => void,
  egress = new Egress({ allow_networks: config.GRID_WEBHOOK_ALLOW_CIDRS }),
): WebhookWork {
  const feed = quick(db)
  const results = quick(db)
  const dispatcher = new Dispatcher({
    config,
    db: feed,
    results,
    egress,
    secrets: secretsOf(config),
    base_url: baseUrl(config),
    log,
    told: async (gone, moved) => {
      for (const { org_id, webhook_id } of gone)
        await suspendWebhook(db, org_id, webhook_id, 'gone')
      for (const one of moved) if (one.move === 'closes') await redrive(db, one)
    },
    counted: (org_id, attempts) => count(db, 'deliveries', org_id, attempts),
  })
  const steps: WebhookWork['steps'] = [
    ['sequencer', async (stopping) => await sequence(feed, stopping)],
    ['fan-out', async (stopping) => await makeDeliveries(feed, dispatcher, stopping)],
    ['deliveries', async (stopping) => await dispatcher.step(stopping)],
    ['lost deliveries', async () => (await recover(db, HELD_DAYS), RECOVER_MS)],
    ['replays', async (stopping) => await replay(db, dispatcher, stopping)],
    ['failing webhooks', async () => (await judgeFailing(db), HEALTH_MS)],
  ]
  const end = async (): Promise<void> => {
    await dispatcher.drain()
    await egress.close()
    await feed.close()
    await results.close()
  }
  return { dispatcher, steps, end }
}

/**
 * A connection whose commits do not wait for the disk. What a crash of the database takes back is done again: deliveries
 * are made anew, and what was sent is sent once more.
 */
function quick(db: Db): Db {
  const options = `${db.config.options ?? ''} -c synchronous_commit=off`
  return new Db({ ...db.config, options }, CONNECTIONS)
}

/** Makes deliveries of what has been placed; of what another process placed, when it is looked for. */
async function makeDeliveries(
  db: Db,
  dispatcher: Dispatcher,
  stopping: AbortSignal,
): Promise<number> {
  const seen = placing.count
  const making = fanOut(db, FAN_OUT)
  // The claim that this brings travels behind it on the same connection, and finds them made.
  dispatcher.ready.wake()
  if ((await making) >= FAN_OUT_MANY) return 0
  await placing.asleep(FAN_OUT_IDLE_MS, stopping, seen)
  return 0
}

/** Goes on with replays; a new one of this process begins at once. */
async function replay(db: Db, dispatcher: Dispatcher, stopping: AbortSignal): Promise<number> {
  const seen = replayAsked.count
  if ((await stepReplays(db)) > 0) {
    dispatcher.ready.wake()
    return REPLAY_BUSY_MS
  }
  await replayAsked.asleep(REPLAY_IDLE_MS, stopping, seen)
  return 0
}

/** Tells owners of webhooks that have failed for a day or three, and suspends those that have for five. */
export async function judgeFailing(db: Db): Promise<void> {
  for (const { org_id, webhook_id, hours } of await failingWebhooks(db)) {
    if (hours >= SUSPEND_HOURS) await suspendWebhook(db, org_id, webhook_id, 'failing')
    else await warnOfFailing(db, org_id, webhook_id, hours)
  }
}
