/** Fields that an organization added, as a query reads them. */
import { deployed, extensionKey, shownValue } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import { extensionField } from '../kit/extension-field.ts'
import { extensionColumn } from '../kit/extension-column.ts'
import { shownRow } from '../kit/extension-row.ts'
import { freeForm } from '../kit/field.ts'
import type { Resource, Row } from '../kit/resource.ts'
import type { EntityField } from './entity.ts'

/** The deployed fields of a type, as `ext.green_share`, and `ext` with all of them. */
export function extensionFields(resource: Resource): EntityField[] {
  const { extensions } = resource
  if (extensions.length === 0) return []
  const whole = madeOfRow('ext', (row) => shownRow(resource, row)['ext'])
  return [whole, ...deployed(extensions).map((extension) => fieldOf(extension, resource))]
}

function fieldOf(extension: Extension, resource: Resource): EntityField {
  const name = `ext.${extension.name}`
  const column = extensionColumn(extension)
  if (extension.type === 'formula')
    return madeOfRow(name, (row) => (shownRow(resource, row)['ext'] as Row)[extension.name])
  const field = extensionField(extension)
  if (!column) {
    const sql = (alias: string): string => `(${alias}.ext->'${extensionKey(extension.id)}')`
    const present = (value: unknown): unknown => shownValue(extension, value)
    return { name, type: 'json', field, prefix: '', sql, present, shownOnly: true }
  }
  // Several options stand in SQL as texts.
  const present = (value: unknown): unknown =>
    shownValue(extension, Array.isArray(value) ? value.map(Number) : value)
  return { name, type: column.type, field, prefix: '', sql: column.sql, present, own: column }
}

/** What is made of a whole row once it was read. */
function madeOfRow(name: string, of: (row: Row) => unknown): EntityField {
  const field = freeForm('Of the organization.', { example: {} })
  const sql = (alias: string): string => `${alias}.body::json`
  const present = (row: unknown): unknown => (row === null ? null : of(row as Row))
  return { name, type: 'json', field, prefix: '', sql, present, shownOnly: true }
}
