/** Where the data of a job comes from when it is no file in a form. */
import { Readable } from 'node:stream'
import type { Config } from '../config.ts'
import { documentFile } from '../documents/index.ts'
import type { Storage } from '../documents/index.ts'
import { ApiError, invalid } from '../kit/errors.ts'
import { pathId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Caller } from '../kit/types.ts'
import type { Adapter } from './adapter.ts'
import { asTable, tableOf } from './inline.ts'
import { limitsOf } from './limits.ts'
import { requireConnection } from './pull/connections.ts'
import { fileToCome } from './pull/enqueue.ts'
import { pullSource } from './pull/fetch.ts'
import { importSpool, jobFileKey } from './service.ts'
import type { JobRequest } from './service.ts'

export interface Input {
  inline?: string | Row[]
  document_id?: string
  connection?: string
}

/** Where data can be found, and where it goes. */
export interface Places {
  store: Store
  storage: Storage
  config: Config
}

/**
 * Puts the data where the job will find it.
 * @returns the file, and the adapter by which it is read.
 * @throws 403 without the right to read documents, 404 for a document that is not there, 413 beyond the limits.
 */
export async function takeInput(
  { store, storage, config }: Places,
  caller: Caller,
  id: number,
  adapter: Adapter,
  { inline, document_id, connection }: Input = {},
): Promise<Pick<JobRequest, 'adapter' | 'file'>> {
  const key = jobFileKey(caller.org_id, id)
  const spool = importSpool(config.GRID_DATA_DIR)
  const limits = limitsOf(config)
  if (
    connection !== undefined ||
    (pullSource(adapter.source) && inline === undefined && document_id === undefined)
  ) {
    const asking = withConnection(adapter, connection)
    const { connection: named = '', kind } = asking.source
    await store.db.transaction(caller.org_id, async (tx) => {
      await requireConnection(tx, caller.org_id, named, kind as 'rest' | 'postgres')
    })
    return { adapter: asking, file: fileToCome(caller.org_id, id, asking) }
  }
  if (document_id !== undefined) {
    requireDocuments(caller)
    const digits = pathId('doc', document_id)
    const { filename, content } = await documentFile(store, storage, caller.org_id, digits)
    const file = await spool.take(key, content, limits.file_bytes)
    return { adapter, file: { ...file, name: filename } }
  }
  if (inline === undefined)
    throw invalid([{ field: 'input', code: 'required', message: 'is required: where the data is' }])
  const rows = typeof inline === 'string' ? null : inline
  if (rows === null && adapter.source.kind === 'xlsx') {
    const message = 'a workbook cannot be sent as text: send rows, or the file in a form'
    throw invalid([{ field: 'input.inline', code: 'not_a_text', message }])
  }
  const read = rows === null ? adapter : asTable(adapter)
  const text = rows === null ? (inline as string) : tableOf(rows, read)
  const bytes = Readable.from([Buffer.from(text)])
  const file = await spool.take(key, bytes, limits.inline_bytes)
  return { adapter: read, file: { ...file, name: 'inline' } }
}

/** @throws 422 when the adapter reads files. */
function withConnection(adapter: Adapter, connection: string | undefined): Adapter {
  if (connection === undefined) return adapter
  if (pullSource(adapter.source)) return { ...adapter, source: { ...adapter.source, connection } }
  const message = `the adapter reads ${adapter.source.kind} files; its source must be rest or postgres`
  throw invalid([{ field: 'input.connection', code: 'not_allowed', message }])
}

function requireDocuments({ scopes }: Caller): void {
  if (scopes.has('read:documents')) return
  throw new ApiError('insufficient_scope', 'This needs the scope read:documents.', {
    required_scope: 'read:documents',
  })
}
