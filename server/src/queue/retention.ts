/** How long logs are kept: each is dropped by the partition, once all of it is older than its setting says. */
import type { Config } from '../config.ts'
import type { Db } from '../db/db.ts'

/** Sealed entries are compared with the rows they were made from, so those stay for a partition more. */
const ENTRIES_LONGER_DAYS = 31

/** Log tables with their age in days; 0 keeps a log for ever. A table that does not exist has nothing to drop. */
const LOGS: readonly { log: string; days: (config: Config) => number }[] = [
  { log: 'request_log', days: (config) => config.GRID_RETENTION_REQUEST_LOG_DAYS },
  { log: 'event', days: (config) => config.GRID_RETENTION_EVENTS_DAYS },
  { log: 'delivery_log', days: (config) => config.GRID_RETENTION_DELIVERIES_DAYS },
  { log: 'delivery_body', days: (config) => config.GRID_RETENTION_ATTEMPT_BODIES_DAYS },
  { log: 'audit_seal', days: (config) => config.GRID_RETENTION_AUDIT_DAYS },
  {
    log: 'audit_entry',
    days: ({ GRID_RETENTION_AUDIT_DAYS: days }) => days && days + ENTRIES_LONGER_DAYS,
  },
]

const DAY_MS = 24 * 60 * 60 * 1_000

/** Drops what is older than the settings say. @returns the partitions dropped. */
export async function dropOldLogs(db: Db, config: Config, now = Date.now()): Promise<string[]> {
  const dropped: string[] = []
  for (const { log, days } of LOGS) {
    const kept = days(config)
    if (kept === 0) continue
    const before = new Date(now - kept * DAY_MS).toISOString()
    const rows = await db.flyControl('select app.drop_partitions($1, $2::timestamptz)', [
      log,
      before,
    ])
    dropped.push(...rows.map(([name]) => String(name)))
  }
  return dropped
}

/** Creates the partitions that will be written to. */
export async function ensurePartitions(db: Db): Promise<void> {
  await db.flyControl('select app.ensure_partitions(current_date)', [])
}

/** Forgets the stored answers of idempotent requests. */
export async function forgetAnswers(db: Db, config: Config): Promise<void> {
  const hours = config.GRID_RETENTION_IDEMPOTENCY_HOURS
  if (hours > 0) await db.flyControl('select app.forget_answers($1::integer)', [hours])
}
