/** Background work of a process: loops that each do one thing again and again, with back-off when it fails. */
import { auditKey } from '../audit/key.ts'
import { sealAudit, sealAudits } from '../audit/sealer.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { storageOf } from '../documents/storage.ts'
import { sweepOrphans } from '../documents/sweep.ts'
import { never, placed, written } from '../events/wake.ts'
import { tendAgendas } from '../schedule/service.ts'
import { sweepExports, takeExport } from '../exports/work.ts'
import { takeTask } from '../sandbox/work.ts'
import { sweepImports } from '../sdis/sweep.ts'
import { JobThread } from '../sdis/thread.ts'
import { takeJob } from '../sdis/work.ts'
import { flushCounts } from '../usage/service.ts'
import { dropOldLogs, ensurePartitions, forgetAnswers } from './retention.ts'
import { webhookWork } from '../webhooks/work.ts'

/**
 * One step of a loop.
 * @param stopping says that the process is about to end, for steps that take long.
 * @returns how long to wait before the next, in milliseconds.
 */
type Step = (stopping: AbortSignal) => Promise<number>

const PLACING_BUSY_MS = 10
const PLACING_IDLE_MS = 250

const FAILED_FIRST_MS = 1_000
const FAILED_MAX_MS = 60_000

/** What happens is sealed within a second; where much waits to be, at once. */
const SEALING_MS = 400
const SEALED_MANY = 300

/** Starts every loop. @returns a function that stops them and waits for the steps under way. */
export function startWork(
  config: Config,
  db: Db,
  data_dir: string,
  log: (message: string) => void,
): () => Promise<void> {
  const storage = storageOf(config)
  const own = { ...config, GRID_DATA_DIR: data_dir }
  const key = auditKey(own)
  const webhooks = webhookWork(config, db, log)
  const thread = new JobThread({ database: db.config, data_dir })
  const seal = async (org_id: number): Promise<void> => {
    await placeTransactions(db)
    while ((await sealAudit(db, await key, org_id)) > 0);
  }
  const exporting = { config: own, db, storage, log }
  const loops = [
    loop('sequencer', log, (stopping) => sequence(db, stopping)),
    ...webhooks.steps.map(([name, step]) => loop(name, log, step)),
    loop('jobs', log, (stopping) => takeJob(db, thread.run, log, stopping)),
    loop('sandboxes', log, (stopping) => takeTask({ db, storage, seal, log, stopping })),
    loop('exports', log, (stopping) => takeExport({ ...exporting, stopping })),
    loop('past exports', log, async () => (await sweepExports(exporting), 10 * 60 * 1_000)),
    loop('agenda', log, async (stopping) => {
      await tendAgendas(db, { now: new Date(), log, stopping })
      return 60 * 1_000
    }),
    loop('audit', log, async () =>
      (await sealAudits(db, await key)) >= SEALED_MANY ? 0 : SEALING_MS,
    ),
    loop('partitions', log, async () => {
      await ensurePartitions(db)
      for (const name of await dropOldLogs(db, config))
        log(`dropped ${name}, which is past its time`)
      return 6 * 60 * 60 * 1_000
    }),
    loop('idempotency', log, async () => {
      await forgetAnswers(db, config)
      await db.flyControl('select app.forget_quotas()', [])
      return 10 * 60 * 1_000
    }),
    loop('tokens', log, async () => {
      await forgetTokens(db)
      return 60 * 60 * 1_000
    }),
    loop('uploads', log, async () => {
      await sweepOrphans(storage, db)
      await sweepImports(db, data_dir)
      return 60 * 60 * 1_000
    }),
  ]
  return async () => {
    await Promise.all(loops.map(async (stop) => await stop()))
    await webhooks.end()
    await thread.end()
    await flushCounts(db)
    await storage.close()
  }
}

/** Runs a step until stopped. */
export function loop(
  name: string,
  log: (message: string) => void,
  step: Step,
): () => Promise<void> {
  const stopping = new AbortController()
  const run = async (): Promise<void> => {
    let failures = 0
    while (!stopping.signal.aborted) {
      let wait: number
      try {
        wait = await step(stopping.signal)
        failures = 0
      } catch (error) {
        wait = Math.min(FAILED_FIRST_MS * 2 ** failures++, FAILED_MAX_MS)
        log(`${name} failed, trying again in ${wait / 1_000} s: ${(error as Error).message}`)
      }
      await never.asleep(wait, stopping.signal)
    }
  }
  const done = run()
  return async () => {
    stopping.abort()
    await done
  }
}

/**
 * Places what has committed. While there is something, pauses gather more for the next statement; otherwise a request's
 * write is placed at once, and one of another process when it is looked for.
 */
export async function sequence(db: Db, stopping: AbortSignal): Promise<number> {
  const seen = written.count
  if ((await placeTransactions(db)) > 0) {
    placed.wake()
    return PLACING_BUSY_MS
  }
  await written.asleep(PLACING_IDLE_MS, stopping, seen)
  return 0
}

/** Numbers the events of transactions that have committed. @returns how many transactions were placed. */
export async function placeTransactions(db: Db): Promise<number> {
  const rows = await db.flyControl('select app.place_transactions(10000)', [])
  return Number(rows[0]?.[0]?.toString() ?? 0)
}

/** Codes and tokens of apps that ended are deleted after a while. */
async function forgetTokens(db: Db): Promise<void> {
  await db.flyControl('select app.forget_tokens()', [])
}
