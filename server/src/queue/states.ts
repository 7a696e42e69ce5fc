/** What background work looks like from outside. */
import type { Db } from '../db/db.ts'

/** Jobs of all organizations by state. */
export async function jobStates(db: Db): Promise<[state: string, jobs: number][]> {
  const rows = await db.flyControl('select state, jobs from app.job_states()', [])
  return rows.map(([state, jobs]) => [String(state), Number(String(jobs))])
}
