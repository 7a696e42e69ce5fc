/** The adapter that a job names, as it is run. */
import { invalid } from '../../kit/errors.ts'
import type { ApiError } from '../../kit/errors.ts'
import { idDigits } from '../../kit/ids.ts'
import type { Adapter } from '../adapter.ts'
import { findAdapter, findVersion } from './queries.ts'
import { readFor } from './read.ts'
import type { Store } from '../../kit/store.ts'
import type { Sent, VersionState } from './types.ts'

/** An adapter as a job runs it; `adapter_id` and `state` are null for a document that is not kept. */
export type AdapterToRun = Adapter & { adapter_id: number | null; state: VersionState | null }

/** The adapter as a job keeps it. */
export function kept(found: AdapterToRun): Adapter {
  const { state: _, ...adapter } = found
  return adapter
}

const ID = /^adp_[0-9]+$/
const NAME = /^[a-z0-9][a-z0-9-]{0,79}$/

/**
 * The adapter that a job names: `adp_1042`, the name of a kept one, or a whole document as JSON or YAML. Of a kept one
 * the version asked for, else the live one.
 * @throws 422 for a document that fails, 422 `not_found` or `not_live` naming the field.
 */
export async function adapterFor(
  store: Pick<Store, 'db' | 'registry'>,
  org_id: number,
  given: Sent,
  version?: number,
): Promise<AdapterToRun> {
  const text = typeof given === 'string' ? given.trim() : null
  const named = text !== null && (ID.test(text) || NAME.test(text))
  if (!named) {
    if (version !== undefined)
      throw refused('version', 'conflicting', 'is for adapters that are kept, not for documents')
    return { ...(await readFor(store, org_id, given)), adapter_id: null, state: null }
  }
  const digits = ID.test(text) ? idDigits('adp', text) : null
  const by = digits === null ? { name: text } : { id: digits }
  const adapter = await findAdapter(store.db, org_id, by)
  if (!adapter) throw refused('adapter', 'not_found', `no adapter is called ${text}`)
  const number = version ?? adapter.live_version
  if (number === null) {
    const message = `${adapter.name} has no live version; name one in version, or promote one`
    throw refused('adapter', 'not_live', message)
  }
  const found = await findVersion(store.db, org_id, adapter.id, number)
  if (!found) throw refused('version', 'not_found', `${adapter.name} has no version ${number}`)
  const document = await readFor(store, org_id, found.document)
  return { ...document, version: number, adapter_id: adapter.id, state: found.state }
}

/**
 * Only versions that are live, or were, write into a live organization; a dry run and a sandbox take any.
 * @throws 422 `not_live`
 */
export function requireLive(
  { adapter_id, state, version }: AdapterToRun,
  environment: 'production' | 'sandbox',
  mode: 'apply' | 'dry_run' = 'apply',
): void {
  if (adapter_id === null || environment === 'sandbox' || mode === 'dry_run') return
  if (state === 'live' || state === 'superseded') return
  const message = `version ${version} is ${state}; promote it, or run it in a sandbox or as a dry run`
  throw refused('version', 'not_live', message)
}

function refused(field: string, code: string, message: string): ApiError {
  return invalid([{ field, code, message }])
}
