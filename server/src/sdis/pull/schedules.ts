/** Schedules: when an adapter that pulls is run by itself. */
import { Cron } from 'croner'
import { ApiError, invalid, notFound } from '../../kit/errors.ts'
import { publicId } from '../../kit/ids.ts'
import { record } from '../../kit/record.ts'
import type { Row } from '../../kit/resource.ts'
import type { Store } from '../../kit/store.ts'
import type { Actor, Tx } from '../../kit/types.ts'
import { versionConflict } from '../../kit/write.ts'
import { adapterFor } from '../adapters/service.ts'
import { requireConnection } from './connections.ts'
import { storeIn } from './enqueue.ts'
import { pullSource } from './fetch.ts'
import { countSchedules, lockSchedule, saveSchedule } from './schedule-queries.ts'

/** Schedules an organization may have. */
const SCHEDULES_MAX = 100

/** Runs of one schedule are at least so far apart, in milliseconds. */
const APART_MS = 60_000

export interface Schedule {
  org_id: number
  id: number
  /** Name or id of a kept adapter, or a document. */
  adapter: string | Record<string, unknown>
  cron: string
  time_zone: string
  state: 'active' | 'paused'
  next_run_at: Date | null
  last_run_at: Date | null
  last_job_id: number | null
  last_error: string | null
  actor_name: string
  version: number
  created_at: Date
  updated_at: Date
}

export interface ScheduleBody {
  adapter?: string | Record<string, unknown>
  cron?: string
  time_zone?: string
  state?: 'active' | 'paused'
}

export function scheduleView(schedule: Schedule): Row {
  const { adapter } = schedule
  return {
    id: publicId('sch', schedule.id),
    object: 'schedule',
    organization_id: publicId('org', schedule.org_id),
    adapter: typeof adapter === 'string' ? adapter : String(adapter['adapter']),
    cron: schedule.cron,
    time_zone: schedule.time_zone,
    state: schedule.state,
    next_run_at: schedule.next_run_at?.toISOString() ?? null,
    last_run_at: schedule.last_run_at?.toISOString() ?? null,
    last_job_id: schedule.last_job_id === null ? null : publicId('job', schedule.last_job_id),
    last_error: schedule.last_error,
    version: schedule.version,
    created_at: schedule.created_at.toISOString(),
    updated_at: schedule.updated_at.toISOString(),
  }
}

/** The next time after `from` at which the expression holds. @throws 422 when it is none or holds too often or never. */
export function nextRun(cron: string, time_zone: string, from: Date): Date {
  const refuse = (field: string, message: string): ApiError =>
    invalid([{ field, code: 'invalid_format', message }])
  if (!Intl.supportedValuesOf('timeZone').includes(time_zone) && time_zone !== 'UTC')
    throw refuse('time_zone', `knows no time zone ${time_zone}; write it like Europe/Berlin`)
  if (cron.trim().split(/\s+/).length !== 5)
    throw refuse('cron', 'must have five parts: minute, hour, day of month, month, day of week')
  let runs: Date[]
  try {
    runs = new Cron(cron, { timezone: time_zone, paused: true, mode: '5-part' }).nextRuns(2, from)
  } catch (error) {
    throw refuse('cron', `cannot be read: ${(error as Error).message}`)
  }
  const [first, second] = runs
  if (!first) throw refuse('cron', 'never comes')
  if (second && second.getTime() - first.getTime() < APART_MS)
    throw refuse('cron', 'comes more often than once a minute')
  return first
}

/** Who asks, and for which schedule. */
export interface Asked {
  org_id: number
  actor: Actor
  id: number
}

export async function createSchedule(
  tx: Tx,
  store: Store,
  { org_id, actor, id }: Asked,
  body: Required<Pick<ScheduleBody, 'adapter' | 'cron'>> & ScheduleBody,
  zone: string,
): Promise<Schedule> {
  if ((await countSchedules(tx, org_id)) >= SCHEDULES_MAX)
    throw new ApiError('conflict', `An organization may have ${SCHEDULES_MAX} schedules.`)
  await requirePull(tx, store, org_id, body.adapter)
  const at = new Date()
  const { adapter, cron, time_zone = zone, state = 'active' } = body
  const next = nextRun(cron, time_zone, at)
  const schedule: Schedule = {
    org_id,
    id,
    adapter,
    cron,
    time_zone,
    state,
    next_run_at: state === 'active' ? next : null,
    last_run_at: null,
    last_job_id: null,
    last_error: null,
    actor_name: actor.name,
    version: 1,
    created_at: at,
    updated_at: at,
  }
  await saveSchedule(tx, schedule)
  await tellOf(tx, actor, 'schedule.created', schedule)
  return schedule
}

/** What runs missed while it was paused is not made up for. */
export async function changeSchedule(
  tx: Tx,
  store: Store,
  { org_id, actor, id }: Asked,
  body: ScheduleBody,
  if_match: number | null,
): Promise<Schedule> {
  const before = await lockSchedule(tx, org_id, id)
  if (!before) throw notFound(`Schedule ${publicId('sch', id)}`)
  if (if_match !== null && if_match !== before.version) throw versionConflict(before.version)
  if (body.adapter !== undefined) await requirePull(tx, store, org_id, body.adapter)
  const after = { ...before, ...body, version: before.version + 1, updated_at: new Date() }
  const next = nextRun(after.cron, after.time_zone, after.updated_at)
  after.next_run_at = after.state === 'active' ? next : null
  await saveSchedule(tx, after)
  await tellOf(tx, actor, 'schedule.updated', after)
  return after
}

/** The audit entry of what was done with a schedule. */
export async function tellOf(
  tx: Tx,
  actor: Actor,
  type: string,
  schedule: Schedule,
): Promise<void> {
  await record(tx, schedule.org_id, actor, [
    {
      type,
      object_type: 'schedule',
      object_id: schedule.id,
      object: null,
      version: schedule.version,
      details: { cron: schedule.cron, state: schedule.state },
    },
  ])
}

/** @throws 422 unless the adapter asks a source by itself, through a connection that is there. */
async function requirePull(
  tx: Tx,
  store: Store,
  org_id: number,
  given: string | Record<string, unknown>,
): Promise<void> {
  // Through the transaction: one more connection for each request under way is more than there are.
  const adapter = await adapterFor(storeIn(store, tx), org_id, given)
  const source = pullSource(adapter.source)
  if (!source) {
    const message = `reads ${adapter.source.kind} files; a schedule runs adapters whose source is rest or postgres`
    throw invalid([{ field: 'adapter', code: 'invalid', message }])
  }
  await requireConnection(tx, org_id, source.connection, source.kind)
}
