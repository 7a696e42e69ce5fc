/** The fields of an organization as what adds them to another one. */
import { shownValue } from '../kit/extension.ts'
import { shownFormula } from '../kit/formula.ts'
import type { OrgRows } from '../kit/types.ts'
import type { Operation } from './operations.ts'
import { listFields } from './queries.ts'
import type { Field } from './queries.ts'

/** More than an organization can have. */
const FIELDS_MOST = 10_000

/** A field, and what keeps it from being added elsewhere. */
export interface Addition {
  operation: Operation
  reason: string | null
}

/** The deployed fields of an organization, formulas last: they read the others. */
export async function additionsOf(db: Pick<OrgRows, 'query'>, org_id: number): Promise<Addition[]> {
  const filter = { object_type: null, state: 'deployed', after: 0, limit: FIELDS_MOST }
  const fields = await listFields(db, org_id, filter)
  return fields
    .toSorted((a, b) => Number(a.type === 'formula') - Number(b.type === 'formula'))
    .map((field) => ({ operation: operationOf(field, fields), reason: reasonOf(field) }))
}

function operationOf(field: Field, fields: readonly Field[]): Operation {
  const { settings, options, object_type, name, label, description, type } = field
  const { target, expression, default: given, converts: _, target_prefix: __, ...rest } = settings
  const own = fields.filter((other) => other.object_type === object_type)
  const active = options.filter(({ state }) => state === 'active')
  const { required, filterable } = field
  return {
    op: 'add_attribute',
    object_type,
    api_name: name,
    label,
    ...(description === null ? {} : { description }),
    type,
    required,
    filterable,
    ...rest,
    ...(type === 'relation' && target ? { target } : {}),
    ...(expression === undefined ? {} : { expression: shownFormula(expression, own) }),
    ...(type === 'select' || type === 'multi_select'
      ? { options: active.map((option) => ({ label: option.label, api_name: option.name })) }
      : {}),
    ...(given === undefined ? {} : { default: shownValue(field, given) }),
  }
}

function reasonOf({ settings, type }: Field): string | null {
  if (settings.converts !== undefined) return 'its values are still being converted'
  const names = type === 'relation' || type === 'document'
  return names && settings.default !== undefined ? 'its default is an object of the sandbox' : null
}
