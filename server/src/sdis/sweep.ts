/** Clears away the files of jobs that ended, and of uploads that never became jobs. */
import type { OrgDb } from '../kit/types.ts'
import { filesInUse } from './job-queries.ts'
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
