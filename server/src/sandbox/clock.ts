/** The clock of a sandbox: moved in small steps, and whatever is due after each happens before the next. */
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { aheadBy, tendAgenda } from '../schedule/service.ts'
import { aheadDays, firedSince, hurryRetries, setAheadDays, timeZoneOf } from './queries.ts'
import type { Task } from './tasks.ts'

/**
 * Days per step. The agenda passes over what was due more than a week before it first sees it, and what happens in one step
 * (a lease begins) makes new things due in the next (it nears its end).
 */
const STEP_DAYS = 6

/**
 * Moves the clock to where the task says. Each step is kept before its consequences are tended, so a task that is taken up
 * again goes on from there, and nothing happens twice: what is done is marked in the agenda.
 */
export async function moveClock(
  store: Store,
  org_id: number,
  task: Task<'clock'>,
  tending: { log: (message: string) => void; stopping: AbortSignal },
): Promise<Row> {
  const { db } = store
  const { from_days, to_days } = task.args
  const organization = { org_id, time_zone: await timeZoneOf(db, org_id) }
  const tend = async (days: number): Promise<void> =>
    await tendAgenda(store, organization, { ...tending, now: aheadBy(new Date(), days) })
  let days = await aheadDays(db, org_id)
  // What is due already is not the clock's doing, but it comes first.
  await tend(days)
  while (days < to_days && !tending.stopping.aborted) {
    days = Math.min(to_days, days + STEP_DAYS)
    await db.transaction(org_id, async (tx) => await setAheadDays(tx, org_id, days))
    await tend(days)
  }
  tending.stopping.throwIfAborted()
  const retries = await db.transaction(
    org_id,
    async (tx) => await hurryRetries(tx, org_id, to_days - from_days),
  )
  return {
    ahead_days: days,
    now: aheadBy(new Date(), days).toISOString(),
    fired: await firedSince(db, org_id, task.started_at ?? task.created_at),
    retries,
  }
}
