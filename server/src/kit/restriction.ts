/** Which properties the present request is restricted to. Everything it asks of the database is asked within them. */
import { AsyncLocalStorage } from 'node:async_hooks'
import { ApiError } from './errors.ts'
import { idDigits } from './ids.ts'

const properties = new AsyncLocalStorage<readonly number[]>()

/** Runs with access to these properties, and what belongs to them, alone; so does all that `run` starts. */
export function restrictedTo<T>(property_ids: readonly number[], run: () => T): T {
  return properties.run(property_ids, run)
}

/** The properties that may be seen and written, or undefined for all. */
export function restriction(): readonly number[] | undefined {
  return properties.getStore()
}

/** Runs without restriction, for what is asked about no object. */
export function unrestricted<T>(run: () => T): T {
  return properties.exit(run)
}

/**
 * Says why a create is refused that names a property outside of the restriction; any other write there is refused by
 * the database.
 * @throws 403 `property_restricted`
 */
export function refuseOutside({ property_id }: Readonly<Record<string, unknown>>): void {
  const allowed = restriction()
  const id = typeof property_id === 'string' ? idDigits('prop', property_id) : null
  if (!allowed || id === null || allowed.includes(id)) return
  const detail = `The key is restricted to some properties; ${String(property_id)} is none of them.`
  throw new ApiError('property_restricted', detail)
}
