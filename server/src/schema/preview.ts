/** What a plan would do, found out without doing it. */
import { isDeepStrictEqual } from 'node:util'
import { deployed, extensionKey, shownValue } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import { acceptValue } from '../kit/extension-input.ts'
import type { Accepted } from '../kit/extension-input.ts'
import { valueSchema } from '../kit/extension-schema.ts'
import { publicId } from '../kit/ids.ts'
import type { Registry } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import { componentName } from '../kit/schemas.ts'
import type { Store } from '../kit/store.ts'
import type { Tx } from '../kit/types.ts'
import { convertValue } from './convert.ts'
import { countObjects, countWebhooks, valuesAfter } from './preview-queries.ts'
import { allFields, countValues } from './queries.ts'
import type { Plan } from './queries.ts'
import { resolve } from './resolve.ts'
import type { FieldChange } from './resolve.ts'

/** Values that are looked at for a report, at most. */
const VALUES_MAX = 100_000
const BATCH = 2_000
const SAMPLES = 20

/** Reads only. A plan that was deployed is held against the schema as it is now, like any other. */
export async function preview(
  tx: Tx,
  { registry }: Pick<Store, 'registry'>,
  plan: Plan,
): Promise<Row> {
  const extensions = await allFields(tx, plan.org_id)
  const ids = plan.operations.map((_, i) => -1 - i)
  const resolved = resolve(plan.operations, { registry, extensions, ids, now: new Date() })
  const { changes, issues } = resolved
  const conversions: Row[] = []
  const checks = checksOf(changes)
  for (const [old, check] of checks)
    conversions.push(await conversion(tx, registry, plan.org_id, old, check))
  const types = [...new Set(changes.map(({ after }) => after.object_type))]
  const indexed = changes.filter(({ after }) => after.filterable && !after.indexed)
  const values = await countValues(
    tx,
    plan.org_id,
    indexed.map(({ after }) => after),
  )
  const converted = conversions.filter((_, i) => checks[i]?.[2])
  return {
    object: 'schema_preview',
    plan_id: publicId('pln', plan.id),
    openapi: interfaceChanges(changes),
    conversions,
    affected: {
      formulas: formulasOf(extensions, changes),
      webhooks: await countWebhooks(tx, plan.org_id),
    },
    cost: {
      objects: await countObjects(tx, plan.org_id, types),
      values_to_index: [...values.values()].reduce((a, b) => a + b, 0),
      values_to_convert: converted.reduce((sum, { convertible }) => sum + Number(convertible), 0),
    },
    issues: issues.map(({ field, code, message }) => ({ field, code, message })),
  }
}

type Check = (value: unknown) => Accepted

/** Fields whose values fare differently: converted, or held against new rules. */
function checksOf(changes: readonly FieldChange[]): [Extension, Check, converts: boolean][] {
  return changes.flatMap(({ before, after }): [Extension, Check, boolean][] => {
    const from = after.settings.converts
    const old = changes.find((change) => before === null && change.before?.id === from)?.before
    if (old) return [[old, (value) => convertValue(old, after, value), true]]
    if (!before || after.state !== 'deployed' || isDeepStrictEqual(before.settings, after.settings))
      return []
    return [[before, (value) => acceptValue(after, shownValue(before, value)), false]]
  })
}

async function conversion(
  tx: Tx,
  registry: Registry,
  org_id: number,
  old: Extension,
  check: Check,
): Promise<Row> {
  const { object_type } = old
  const samples: Row[] = []
  let values = 0
  let failing = 0
  let after = 0
  while (values < VALUES_MAX) {
    const rows = await valuesAfter(tx, org_id, old, after, BATCH)
    for (const { id, value } of rows) {
      values++
      const accepted = check(value)
      if (!('issue' in accepted)) continue
      failing++
      const object_id = publicId(registry.get(object_type)?.prefix ?? 'obj', id)
      const shown = shownValue(old, value)
      if (samples.length < SAMPLES)
        samples.push({ object_id, value: shown, message: accepted.issue.message })
    }
    if (rows.length < BATCH) break
    after = Number(rows.at(-1)?.id)
  }
  const field = `${object_type}.${old.name}`
  return { field, values, convertible: values - failing, failing, samples }
}

function interfaceChanges(changes: readonly FieldChange[]): Row[] {
  return changes.flatMap(({ before, after }) => {
    const was = before && deployed([before]).length > 0 ? before : null
    const is = after.state === 'deployed' ? after : null
    const place = (field: Extension): string =>
      `${componentName(field.object_type)}.ext.${field.name}`
    const old = was && valueSchema(was)
    const now = is && valueSchema(is)
    if (was && is && was.name === is.name) {
      return isDeepStrictEqual(old, now) && was.required === is.required
        ? []
        : [{ path: place(is), change: 'changed', before: old, after: now }]
    }
    return [
      ...(was ? [{ path: place(was), change: 'removed', before: old, after: null }] : []),
      ...(is ? [{ path: place(is), change: 'added', before: null, after: now }] : []),
    ]
  })
}

function formulasOf(extensions: readonly Extension[], changes: readonly FieldChange[]): string[] {
  const keys = changes.flatMap(({ before }) => (before ? [extensionKey(before.id)] : []))
  return deployed(extensions)
    .filter(({ settings: { expression = '' } }) =>
      keys.some((key) => new RegExp(`\\b${key}\\b`).test(expression)),
    )
    .map(({ object_type, name }) => `${object_type}.${name}`)
}
