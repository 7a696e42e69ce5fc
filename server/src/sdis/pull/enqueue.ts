/** Queues jobs that ask a source: their file comes when a worker has it. */
import { join } from 'node:path'
import { keySegments } from '../../documents/files.ts'
import { rowsIn } from '../../kit/once.ts'
import type { Store } from '../../kit/store.ts'
import type { Caller, Tx } from '../../kit/types.ts'
import type { Outcome, WriteRequest } from '../../kit/write.ts'
import type { Adapter } from '../adapter.ts'
import type { JobLimits } from '../limits.ts'
import { enqueue, jobFileKey } from '../service.ts'
import type { JobRequest } from '../service.ts'

/** The store as seen from within the transaction: a job is queued with what else happens in it. */
export function storeIn(store: Store, tx: Tx): Store {
  return { ...store, db: Object.assign(Object.create(store.db) as Store['db'], rowsIn(tx)) }
}

/** The file of a job that is going to pull: it is not there yet. */
export function fileToCome(org_id: number, id: number, adapter: Adapter): JobRequest['file'] {
  const path = join('imports', keySegments(jobFileKey(org_id, id)).join('.'))
  return { name: `${adapter.adapter}.ndjson`, path, byte_size: 0, sha256: '' }
}

/** @returns the job as it was queued. */
export async function enqueuePull(
  store: Store,
  request: Omit<WriteRequest, 'defaults'>,
  caller: Pick<Caller, 'time_zone'>,
  wanted: Omit<JobRequest, 'file'>,
  limits: JobLimits,
): Promise<Outcome> {
  const file = fileToCome(request.org_id, wanted.id, wanted.adapter)
  return await enqueue(store, request, caller, { ...wanted, file }, limits)
}
