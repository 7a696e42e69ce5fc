/** Clears away the files of jobs that ended, and of uploads that never became jobs. */
import type { OrgDb } from '../kit/types.ts'
import type { Db } from '../db/db.ts'
import { dropResults, expireJob, filesInUse, jobsDue } from './job-queries.ts'
import { APPROVAL_DAYS } from './jobs.ts'
import type { JobLimits } from './limits.ts'
import { importSpool } from './service.ts'

/** A file is kept this long after its upload at least; a job is queued within seconds of it. */
const KEPT_MS = 24 * 60 * 60 * 1_000

/** Safe to run in several processes and at any time. @returns how many files were removed. */
export async function sweepImports(db: OrgDb, data_dir: string, now = Date.now()): Promise<number> {
  const spool = importSpool(data_dir)
  const left = await spool.leftovers(now - KEPT_MS)
  let removed = 0
  for (const [org_id, keys] of Map.groupBy(left, (key) => key.org_id)) {
    const ids = keys.map(({ document_id }) => document_id)
    const used = await filesInUse(db, org_id, ids)
    for (const key of keys) {
      if (used.has(key.document_id)) continue
      await spool.drop(key)
      removed++
    }
  }
  return removed
}

const DAY_MS = 24 * 60 * 60 * 1_000

/**
 * Ends jobs that waited too long for approval and drops the errors and dry-run rows of jobs that ended long ago.
 * @returns how many jobs were ended or cleared.
 */
export async function sweepJobs(db: Db, limits: JobLimits, now = Date.now()): Promise<number> {
  const waiting = new Date(now - APPROVAL_DAYS * DAY_MS)
  const due = await jobsDue(db, waiting, new Date(now - limits.result_days * DAY_MS))
  const message = `Nobody approved the job within ${APPROVAL_DAYS} days.`
  for (const { org_id, id, expired } of due) {
    if (expired) await expireJob(db, org_id, id, { code: 'approval_expired', message, details: {} })
    else await dropResults(db, org_id, id)
  }
  return due.length
}
