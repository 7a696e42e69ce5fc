/** Background work of a process: loops that each do one thing again and again, with back-off when it fails. */
import { auditKey } from '../audit/key.ts'
import { sealAudit } from '../audit/sealer.ts'
import { SealingThread } from '../audit/thread.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { storageOf } from '../documents/storage.ts'
import { sweepOrphans } from '../documents/sweep.ts'
import { Egress } from '../egress.ts'
import { placed, written } from '../events/wake.ts'
import { tendIdentity } from '../identity/work.ts'
import { bareStore } from '../organizations/service.ts'
import { tendAgendas } from '../schedule/service.ts'
import { sweepExports, takeExport } from '../exports/work.ts'
import { takeTask } from '../sandbox/work.ts'
import { tendSchemas } from '../schema/index.ts'
import { limitsOf } from '../sdis/limits.ts'
import { lookForFiles, LOOK_MS } from '../sdis/pull/drop.ts'
import { runSchedules } from '../sdis/pull/schedule-work.ts'
import { sendRunEvents } from '../sdis/run-events.ts'
import { sweepImports, sweepJobs } from '../sdis/sweep.ts'
import { JobThread } from '../sdis/thread.ts'
import { takeJob } from '../sdis/work.ts'
import { tendTruth } from '../truth/work.ts'
import { flushCounts } from '../usage/service.ts'
import { dropOldLogs, ensurePartitions, forgetAnswers } from './retention.ts'
import { webhookWork } from '../webhooks/work.ts'
import { loop } from './loop.ts'

const PLACING_BUSY_MS = 10
const PLACING_IDLE_MS = 250

/** Starts every loop. @returns a function that stops them and waits for the steps under way. */
export function startWork(
  config: Config,
  db: Db,
  data_dir: string,
  log: (message: string) => void,
): () => Promise<void> {
  const storage = storageOf(config)
  const own = { ...config, GRID_DATA_DIR: data_dir }
  const webhooks = webhookWork(config, db, log)
  const { GRID_SOURCE_ALLOW_CIDRS, GRID_MASTER_KEY } = config
  const settings = { GRID_SOURCE_ALLOW_CIDRS, GRID_MASTER_KEY, GRID_DATA_DIR: data_dir }
  const limits = limitsOf(config)
  const egress = new Egress()
  const thread = new JobThread({ database: db.config, data_dir, limits, settings })
  const key = auditKey(own)
  const sealing = new SealingThread(db.config, key, log)
  const seal = async (org_id: number): Promise<void> => {
    await placeTransactions(db)
    while ((await sealAudit(db, await key, org_id)) > 0);
  }
  const exporting = { config: own, db, storage, log }
  const loops = [
    loop('sequencer', log, (stopping) => sequence(db, stopping)),
    ...webhooks.steps.map(([name, step]) => loop(name, log, step)),
    loop('run events', log, () => sendRunEvents(config, db, egress)),
    loop('jobs', log, (stopping) => takeJob(db, thread.run, log, stopping, limits)),
    loop('schedules', log, async () => await runSchedules(db, limits, log)),
    ...dropFolder(config, db, data_dir, log),
    loop('sandboxes', log, (stopping) => takeTask({ db, storage, seal, log, stopping })),
    loop('exports', log, (stopping) => takeExport({ ...exporting, stopping })),
    loop('past exports', log, async () => (await sweepExports(exporting), 10 * 60 * 1_000)),
    loop('agenda', log, async (stopping) => {
      await tendAgendas(db, { now: new Date(), log, stopping })
      return 60 * 1_000
    }),
    loop('schemas', log, (stopping) => tendSchemas(db, log, stopping)),
    loop('truth', log, (stopping) => tendTruth(db, log, new Date(), stopping)),
    loop('identity', log, (stopping) => tendIdentity(db, log, stopping)),
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
      await sweepJobs(db, limits)
      return 60 * 60 * 1_000
    }),
  ]
  return async () => {
    await Promise.all(loops.map(async (stop) => await stop()))
    await webhooks.end()
    await thread.end()
    await sealing.end()
    await egress.close()
    await flushCounts(db)
    await storage.close()
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

/** Looks for files to load, where the operator has a folder for them. */
function dropFolder(
  config: Config,
  db: Db,
  data_dir: string,
  log: (message: string) => void,
): (() => Promise<void>)[] {
  const { GRID_DROP_DIR: folder } = config
  if (folder === null) return []
  const seen = new Map<string, string>()
  const dropped = { store: bareStore(db), folder, data_dir, limits: limitsOf(config), log }
  return [
    loop('drop folder', log, async () => {
      await lookForFiles(dropped, seen)
      return LOOK_MS
    }),
  ]
}

/** Codes and tokens of apps that ended are deleted after a while. */
async function forgetTokens(db: Db): Promise<void> {
  await db.flyControl('select app.forget_tokens()', [])
}
