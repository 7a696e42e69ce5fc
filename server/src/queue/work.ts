/** Background work of a process: loops that each do one thing again and again, with back-off when it fails. */
import { auditKey } from '../audit/key.ts'
import type { AuditKey } from '../audit/key.ts'
import { sealWhole } from '../audit/sealer.ts'
import { SealingThread } from '../audit/thread.ts'
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import { storageOf } from '../documents/storage.ts'
import { sweepOrphans } from '../documents/sweep.ts'
import { Egress } from '../egress.ts'
import { placeTransactions } from '../events/sequencer.ts'
import { tendIdentity } from '../identity/work.ts'
import { bareStore } from '../organizations/service.ts'
import { tendAgendas } from '../schedule/service.ts'
import { sweepExports, takeExport } from '../exports/work.ts'
import { takeTask } from '../sandbox/work.ts'
import type { SandboxWork } from '../sandbox/work.ts'
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
  const sealer = new SealingThread(db.config, key, log)
  const seal = sealing(db, key)
  const exporting = { config: own, db, storage, log }
  const loops = [
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
    await sealer.end()
    await egress.close()
    await flushCounts(db)
    await storage.close()
  }
}

/** Seals what an organization has done so far, where a task must not go on before that. */
export function sealing(db: Db, key: Promise<AuditKey>): SandboxWork['seal'] {
  return async (org_id, stopping) => {
    const place = async (): Promise<number> => await placeTransactions(db)
    await sealWhole(db, await key, org_id, place, stopping)
  }
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
