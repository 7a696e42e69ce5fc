/** The worker's side of jobs: take one, run it, let go of it. */
import { join } from 'node:path'
import type { Db } from '../db/db.ts'
import { bareStore } from '../organizations/service.ts'
import { findJob } from './jobs.ts'
import { runJob } from './run.ts'

/** How long a worker rests when there is nothing to do, in milliseconds. */
const IDLE_MS = 300

/** Runs the oldest waiting job, if any. @returns how long to wait before looking again. */
export async function workOnJob(
  db: Db,
  data_dir: string,
  log: (message: string) => void,
): Promise<number> {
  const session = await db.session()
  try {
    const [lease_id] = (await db.ids(1)) as [number]
    const [row] = await db.flyControl(
      'select id, org_id from app.claim_job($1::bigint, $2::integer)',
      [lease_id, session.pid],
    )
    if (!row) return IDLE_MS
    const [id, org_id] = row.map((cell) => Number(String(cell))) as [number, number]
    const job = await findJob(db, org_id, id)
    if (!job) return 0
    try {
      await runJob(bareStore(db), session, job, lease_id, join(data_dir, 'imports', job.file_key))
    } catch (error) {
      log(`job_${id} stopped and will be taken up again: ${(error as Error).message}`)
      await letGo(db, org_id, id, lease_id)
      throw error
    }
    return 0
  } finally {
    session.release()
  }
}

async function letGo(db: Db, org_id: number, id: number, lease_id: number): Promise<void> {
  await db.query(
    org_id,
    `update job set locked_until = now(), backend_pid = null where org_id = $1 and id = $2 and lease_id = $3`,
    [org_id, id, lease_id],
  )
}
