/** Counting what is used beside requests: in memory, written in batches like the request log. */
import type { Db } from '../db/db.ts'
import { writeCounts } from './queries.ts'

/** Meters that are counted where the work is done. Requests are counted with their log, rows of jobs with their job. */
export type Meter = 'deliveries' | 'skill_runs'

/** Counts wait at most this long, so a kill -9 loses at most this much. */
const FLUSH_MS = 100

/** Counts of one database that wait to be written. */
class Waiting {
  private readonly db: Db
  private amounts = new Map<string, { org_id: number; meter: Meter; amount: number }>()
  private timer: NodeJS.Timeout | null = null
  private writing: Promise<void> = Promise.resolve()

  constructor(db: Db) {
    this.db = db
  }

  add(meter: Meter, org_id: number, n: number): void {
    const key = `${org_id} ${meter}`
    const amount = (this.amounts.get(key)?.amount ?? 0) + n
    this.amounts.set(key, { org_id, meter, amount })
    this.timer ??= setTimeout(() => this.write(), FLUSH_MS)
  }

  async flush(): Promise<void> {
    this.write()
    await this.writing
  }

  private write(): void {
    if (this.timer) clearTimeout(this.timer)
    this.timer = null
    const batch = [...this.amounts.values()]
    this.amounts = new Map()
    if (batch.length === 0) return
    const at = new Date().toISOString()
    this.writing = this.writing
      .then(async () => {
        await writeCounts(
          this.db,
          batch.map((one) => ({ ...one, at })),
        )
      })
      // What could not be written is counted with what comes next.
      .catch(() => {
        for (const { meter, org_id, amount } of batch) this.add(meter, org_id, amount)
      })
  }
}

const waiting = new WeakMap<Db, Waiting>()

/** Counts `n` of the meter for the organization, in the present hour. */
export function count(db: Db, meter: Meter, org_id: number, n: number): void {
  let counts = waiting.get(db)
  if (!counts) waiting.set(db, (counts = new Waiting(db)))
  counts.add(meter, org_id, n)
}

/** Writes what waits; for shutdown and before usage is read. */
export async function flushCounts(db: Db): Promise<void> {
  await waiting.get(db)?.flush()
}
