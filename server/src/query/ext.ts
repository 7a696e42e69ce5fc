/** Fields that an organization added, as a query reads them. */
import { freeForm } from '../kit/field.ts'
import type { EntityField } from './entity.ts'

const NAME = /^ext\.([a-z][a-z0-9_]{0,62})$/

/** The field of a path such as `ext.green_share`; null for other paths. Its values have the type they have as JSON. */
export function extField(path: string): EntityField | null {
  const name = NAME.exec(path)?.[1]
  if (name === undefined) return null
  const field = freeForm('A field of the organization.', { example: {} })
  const sql = (alias: string): string => `(${alias}.body::jsonb #> '{ext,${name}}')`
  return { name: path, type: 'json', field, prefix: '', sql }
}
