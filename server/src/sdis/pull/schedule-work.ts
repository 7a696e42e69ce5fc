/** Runs schedules that are due: each once, however many workers look. */
import type { Db } from '../../db/db.ts'
import { publicId } from '../../kit/ids.ts'
import type { Store } from '../../kit/store.ts'
import type { Actor, Tx } from '../../kit/types.ts'
import { bareStore } from '../../organizations/service.ts'
import type { JobLimits } from '../limits.ts'
import { adapterFor, requireLive } from '../adapters/service.ts'
import { requireReferences } from '../service.ts'
import { enqueuePull, storeIn } from './enqueue.ts'
import { settingOf } from './pull-queries.ts'
import { lockDue, runsStill, saveSchedule, schedulesDue } from './schedule-queries.ts'
import { nextRun } from './schedules.ts'
import type { Schedule } from './schedules.ts'

/** Looked for this often, in milliseconds. */
const LOOK_MS = 5_000

/** Taken in one round. */
const DUE_MAX = 100

/** @returns how long to wait before looking again. */
export async function runSchedules(
  db: Db,
  limits: JobLimits,
  log: (message: string) => void,
): Promise<number> {
  const store = bareStore(db)
  const due = await schedulesDue(db, DUE_MAX)
  let failed = 0
  for (const { org_id, id } of due) {
    try {
      const error = await runSchedule(store, limits, org_id, id)
      if (error) log(`sch_${id} started no job: ${error}`)
    } catch (error) {
      // It stays due; those of others do not wait for it.
      failed++
      log(`sch_${id} could not be run: ${(error as Error).message}`)
    }
  }
  return due.length === DUE_MAX && failed === 0 ? 0 : LOOK_MS
}

/**
 * Starts the job of a schedule and sets when it runs next, in one transaction. What was missed while no worker ran is
 * made up for by one run; while the last job is under way none is started.
 * @returns why no job was started, or null.
 */
export async function runSchedule(
  store: Store,
  limits: JobLimits,
  org_id: number,
  id: number,
): Promise<string | null> {
  const [job_id] = (await store.db.ids(1)) as [number]
  return await store.db.transaction(org_id, async (tx) => {
    const schedule = await lockDue(tx, org_id, id)
    if (!schedule) return null
    const now = new Date()
    schedule.next_run_at = nextRun(schedule.cron, schedule.time_zone, now)
    schedule.last_run_at = now
    schedule.last_error = await start(store, limits, tx, schedule, job_id)
    if (schedule.last_error === null) schedule.last_job_id = job_id
    await saveSchedule(tx, schedule)
    return schedule.last_error
  })
}

async function start(
  store: Store,
  limits: JobLimits,
  tx: Tx,
  schedule: Schedule,
  job_id: number,
): Promise<string | null> {
  if (await runsStill(tx, schedule.org_id, schedule.last_job_id))
    return 'the last job is still under way'
  // A savepoint: a job that is refused must not undo when the schedule runs next.
  await tx.query('savepoint start')
  try {
    await queuePull(storeIn(store, tx), limits, schedule, job_id)
    return null
  } catch (error) {
    await tx.query('rollback to savepoint start')
    return (error as Error).message
  }
}

/** @throws 422 when the adapter is no more, may not be run here, or names an object that is not there. */
async function queuePull(
  store: Store,
  limits: JobLimits,
  schedule: Schedule,
  id: number,
): Promise<void> {
  const { org_id, time_zone, actor_name: name } = schedule
  const adapter = await adapterFor(store, org_id, schedule.adapter)
  const setting = await settingOf(store.db, org_id)
  requireLive(adapter, setting?.environment ?? 'production')
  await requireReferences(store, org_id, adapter)
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: time_zone }).format(new Date())
  const as_of = adapter.effective.date ?? today
  const actor: Actor = { type: 'system', id: publicId('sch', schedule.id), name, request_id: null }
  await enqueuePull(
    store,
    { org_id, actor, idempotency: undefined },
    { time_zone },
    { id, adapter, as_of, dry_run: false, options: {} },
    limits,
  )
}
