/**
 * The worker's side of exports: take one, write its file, tell how it ended.
 *
 * The file is written to the spool, put at its place, and only then named by the row, in the transaction that ends the
 * export: a worker that is lost before leaves an export that another begins anew under a lease of its own, and a file that
 * no row names, which the sweep removes.
 */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'
import type { FileKey, SpooledFile } from '../documents/index.ts'
import type { Spool } from '../documents/spool.ts'
import type { Storage } from '../documents/storage.ts'
import { written } from '../events/wake.ts'
import { ownStore } from '../kit/extended.ts'
import { record } from '../kit/record.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { listItem } from '../kit/tables/list-item.ts'
import { listPages } from '../kit/tables/pages.ts'
import { tableStream } from '../kit/tables/render.ts'
import { countUpTo } from '../kit/store.ts'
import { bareStore } from '../organizations/service.ts'
import { actorOf, takeWork } from '../queue/held.ts'
import type { Held, Work } from '../queue/held.ts'
import { ended } from './events.ts'
import { listQueryOf } from './list-query.ts'
import { fileKey } from './model.ts'
import type { Export } from './model.ts'
import { parquet } from './parquet.ts'
import {
  claimExport,
  endExport,
  exportsPast,
  findExport,
  keepExport,
  markExpired,
  releaseExport,
  renewExport,
} from './queries.ts'
import type { Ending } from './queries.ts'
import { exportAsked, exportSpool } from './service.ts'

const IDLE_MS = 1_000

/** Rows read at once: shaping them must not hold up requests of the same process. */
const PAGE_ROWS = 250

/** How often progress is noted, in milliseconds. */
const KEEP_MS = 1_000

/** No export takes a day from its last byte to its row. */
const UNFINISHED_MS = 24 * 60 * 60 * 1_000

const PAST_BATCH = 100

const MEGABYTE = 1024 * 1024

/** What exports are written with. */
export interface ExportWork {
  config: Pick<Config, 'GRID_DATA_DIR' | 'GRID_EXPORT_MAX_MB' | 'GRID_RETENTION_EXPORTS_HOURS'>
  db: Db
  storage: Storage
  log: (message: string) => void
  stopping: AbortSignal
}

/** Thrown where a file is not to be finished. */
class Stop extends Error {
  readonly reason: 'cancelled' | 'lost' | 'stopping'

  constructor(reason: Stop['reason']) {
    super(reason)
    this.reason = reason
  }
}

/** Takes the oldest waiting export, if any, and writes it. @returns how long to wait before looking again. */
export async function takeExport(work: ExportWork): Promise<number> {
  const seen = exportAsked.count
  if (await takeWork(work, exportsOf(work))) return 0
  await exportAsked.asleep(IDLE_MS, work.stopping, seen)
  return 0
}

function exportsOf(work: ExportWork): Work<Export> {
  const { db } = work
  return {
    noun: 'export',
    prefix: 'xpt',
    claim: async (lease_id, pid) => await claimExport(db, lease_id, pid),
    find: async ({ org_id, id }) => await findExport(db, org_id, id),
    renew: async (held) => await renewExport(db, held),
    release: async (held, how) => await releaseExport(db, held, how),
    run: async (held, one) => await writeExport(work, held, one),
    fail: async (held, error) => void (await finish(work, held, { ...UNDONE, error })),
  }
}

/** How an export ends that has no file; the rows are those that were noted. */
const UNDONE = { state: 'failed', error: null, file: null, rows_written: null } as const

/** Writes one file and ends its export. */
async function writeExport(work: ExportWork, held: Held, one: Export): Promise<void> {
  const { config, storage } = work
  const key = fileKey(held.org_id, held.id, held.lease_id)
  const spool = exportSpool(config.GRID_DATA_DIR)
  const progress = { rows_total: 0, rows_written: 0 }
  try {
    if (one.state === 'cancelling') throw new Stop('cancelled')
    const bytes = bytesOf(work, held, one, progress)
    const file = await spool.take(key, bytes, config.GRID_EXPORT_MAX_MB * MEGABYTE)
    await placeFile(storage, spool, key, file)
    const { rows_written } = progress
    const ending = { state: 'completed', error: null, file, rows_written } as const
    if (!(await finish(work, held, ending))) await storage.remove(key)
    await spool.drop(key)
  } catch (error) {
    if (!(error instanceof Stop) || error.reason === 'stopping') throw error
    if (error.reason === 'cancelled') await finish(work, held, { ...UNDONE, state: 'cancelled' })
  }
}

/** Where the storage fails, only the name stays in the spool: by it the sweep finds what may have arrived all the same. */
async function placeFile(
  storage: Storage,
  spool: Spool,
  key: FileKey,
  file: SpooledFile,
): Promise<void> {
  try {
    await storage.put(key, file)
  } catch (error) {
    await spool.empty(key)
    throw error
  }
}

/** The bytes of the file, made as they are written; between pages it is looked whether to go on. */
async function* bytesOf(
  { db, stopping }: ExportWork,
  held: Held,
  one: Export,
  progress: { rows_total: number; rows_written: number },
): AsyncGenerator<Buffer> {
  const { org_id } = held
  const store = await ownStore(bareStore(db), org_id)
  const resource = store.registry.get(one.type) as Resource
  const query = listQueryOf(store, resource, one.query, one)
  const timed = query.as_of !== null || query.known_at !== null
  progress.rows_total = await countUpTo(store, org_id, resource, timed ? null : query, 2 ** 31 - 1)
  const item = listItem(resource, store.registry, query, 'v1')
  let kept_at = 0
  const keep = async (): Promise<void> => {
    if (stopping.aborted) throw new Stop('stopping')
    if (Date.now() - kept_at < KEEP_MS) return
    kept_at = Date.now()
    const state = await keepExport(db, held, progress)
    if (state !== 'running') throw new Stop(state ? 'cancelled' : 'lost')
  }
  async function* pages(): AsyncGenerator<Row[]> {
    for await (const rows of listPages(store, org_id, resource, query, PAGE_ROWS)) {
      await keep()
      yield rows
      progress.rows_written += rows.length
    }
  }
  yield* one.format === 'parquet' ? parquet(item, pages()) : tableStream(one.format, item, pages())
}

/** @returns whether it was still this worker's to end. */
async function finish(
  { config, db }: ExportWork,
  held: Held,
  ending: Omit<Ending, 'kept_hours'>,
): Promise<boolean> {
  const kept_hours = config.GRID_RETENTION_EXPORTS_HOURS
  const done = await db.transaction(held.org_id, async (tx) => {
    const one = await endExport(tx, held, { ...ending, kept_hours })
    if (one) await record(tx, held.org_id, actorOf(one), [ended(one)])
    return one !== undefined
  })
  written.wake()
  return done
}

/**
 * Removes the files of exports that are past their time, and what lost workers left in the spool of this host. Safe to run
 * in several processes and at any time. @returns how many files were removed.
 */
export async function sweepExports(
  { config, db, storage }: Pick<ExportWork, 'config' | 'db' | 'storage'>,
  now = Date.now(),
): Promise<number> {
  let removed = 0
  for (const { org_id, id } of await exportsPast(db, PAST_BATCH)) {
    const one = await findExport(db, org_id, id)
    if (one?.file_version) await storage.remove(fileKey(org_id, id, one.file_version))
    await markExpired(db, org_id, id)
    removed++
  }
  const spool = exportSpool(config.GRID_DATA_DIR)
  for (const key of await spool.leftovers(now - UNFINISHED_MS)) {
    const one = await findExport(db, key.org_id, key.document_id)
    if (one?.file_version !== key.version_id) {
      await storage.remove(key)
      removed++
    }
    await spool.drop(key)
  }
  return removed
}
