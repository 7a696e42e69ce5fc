/**
 * What the planner knows of tables that a load fills. PostgreSQL gathers statistics a minute late: until then it takes an
 * organization that has just been filled for one of a few rows, and any index that begins with it for as good as its key.
 */
import type { Session } from '../db/db.ts'

/** Objects written before statistics are gathered first, and how many times as many until the next time. */
const FIRST = 1_000
const GROWTH = 4

export class Statistics {
  private readonly org_id: number
  private readonly tables: string
  private next = FIRST
  private gathered = 0

  /** @param type of the objects that are loaded. */
  constructor(org_id: number, type: string) {
    this.org_id = org_id
    this.tables = `${type}, source_record, external_key`
  }

  /** Gathers statistics when much has been written since the last time. @param written objects so far. */
  async keepUp(session: Session, written: number): Promise<void> {
    if (written < this.next) return
    while (this.next <= written) this.next *= GROWTH
    await this.gather(session, written)
  }

  /** Gathers them for what reads the load. */
  async end(session: Session, written: number): Promise<void> {
    if (written >= FIRST && written > this.gathered) await this.gather(session, written)
  }

  private async gather(session: Session, written: number): Promise<void> {
    this.gathered = written
    await session.transaction(this.org_id, async (tx) => {
      await tx.query(`analyze (skip_locked) ${this.tables}`)
    })
  }
}
