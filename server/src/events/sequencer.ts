/** The sequencer: gives what has committed its place in the feed of its organization. */
import type { Db } from '../db/db.ts'
import { placing, written } from './wake.ts'

/** Between two placings that found something, so that each finds more. */
const BUSY_MS = 4
const IDLE_MS = 250

/** Transactions that are placed at once. */
const MOST = 10_000

/**
 * One step: a write of this process is placed at once, one of another when it is looked for.
 * @returns how long to wait before the next, in milliseconds.
 */
export async function sequence(db: Db, stopping: AbortSignal): Promise<number> {
  const seen = written.count
  const placed = placeTransactions(db)
  placing.wake()
  if ((await placed) > 0) return BUSY_MS
  await written.asleep(IDLE_MS, stopping, seen)
  return 0
}

/** Numbers the events of transactions that have committed. @returns how many transactions were placed. */
export async function placeTransactions(db: Db): Promise<number> {
  const rows = await db.flyControl('select app.place_transactions($1::integer)', [MOST])
  return Number(rows[0]?.[0]?.toString() ?? 0)
}
