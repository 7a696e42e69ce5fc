/** What a plan makes of the fields there are: each operation checked and carried out on a copy. Pure. */
import type { Issue } from '../kit/errors.ts'
import { deployed, extensionNamed } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import { LIMITS } from '../kit/extension-limits.ts'
import { NOT_EXTENSIBLE } from '../kit/extended.ts'
import { boundFormula } from '../kit/formula.ts'
import { idDigits } from '../kit/ids.ts'
import type { Registry } from '../kit/query.ts'
import { closest } from '../kit/validate.ts'
import {
  addDefault,
  checkBounds,
  expressionIssues,
  nameOf,
  settingsOf,
  unfilterable,
  withOptions,
} from './field-settings.ts'
import { formIssues } from './operations.ts'
import type { Operation, Planned, Risk } from './operations.ts'

export interface Context {
  registry: Registry
  extensions: readonly Extension[]
  /** Fresh ids, one for each operation. */
  ids: readonly number[]
  now: Date
}

/** A field before and after a plan; null before it was added. */
export interface FieldChange {
  before: Extension | null
  after: Extension
}

export interface Resolved {
  planned: Planned[]
  changes: FieldChange[]
  issues: Issue[]
}

const DAY_MS = 86_400_000

/** One plan on its way over the fields. */
interface Work extends Context {
  fields: Map<number, Extension>
  issues: Issue[]
  at: string
  id: number
}

type Assessed = [risk: Risk, reason: string]

/** Carries out the operations, in order, on a copy of the fields. */
export function resolve(
  operations: readonly (Operation & Partial<Pick<Planned, 'source'>>)[],
  context: Context,
): Resolved {
  const issues: Issue[] = []
  const fields = new Map(context.extensions.map((extension) => [extension.id, extension]))
  const planned = operations.map((given, i): Planned => {
    const { source, risk: _, reason: __, ...operation } = { source: [], ...given } as Planned
    const at = `operations[${i}]`
    const form = formIssues(operation, at)
    issues.push(...form)
    const work: Work = { ...context, fields, issues, at, id: context.ids[i] as number }
    const [risk, reason]: Assessed =
      form.length > 0 || !typeIsKnown(work, operation) ? ['review', ''] : carryOut(work, operation)
    return { ...operation, risk, reason, source: [...source] }
  })
  const before = new Map(context.extensions.map((extension) => [extension.id, extension]))
  const changes = [...fields.values()].flatMap((after) => {
    const old = before.get(after.id) ?? null
    return old === after ? [] : [{ before: old, after }]
  })
  issues.push(...limitIssues([...fields.values()], changes))
  return { planned, changes, issues }
}

function typeIsKnown({ registry, issues, at }: Work, { object_type }: Operation): boolean {
  if (registry.has(object_type) && !NOT_EXTENSIBLE.has(object_type)) return true
  const allowed = [...registry.keys()].filter((name) => !NOT_EXTENSIBLE.has(name))
  const suggestion = closest(object_type, allowed)
  const message = `no type '${object_type}' can have fields`
  issues.push({
    field: `${at}.object_type`,
    code: 'unknown_value',
    message,
    allowed,
    ...(suggestion ? { suggestion } : {}),
  })
  return false
}

function carryOut(work: Work, operation: Operation): Assessed {
  if (operation.op === 'add_attribute') return add(work, operation)
  const extension = found(work, operation)
  if (!extension) return ['review', '']
  switch (operation.op) {
    case 'add_option':
      return addOption(work, operation, extension)
    case 'rename_label':
      return rename(work, operation, extension)
    case 'set_validation':
      return setValidation(work, operation, extension)
    case 'set_filterable':
      return setFilterable(work, operation, extension)
    case 'deprecate_attribute':
      put(work, { ...extension, state: 'deprecated' })
      return ['destructive', 'The field and its values are shown no more; facts are kept.']
    case 'restore_attribute':
      return restore(work, extension)
    case 'convert_type':
      return convert(work, operation, extension)
  }
}

function put({ fields }: Work, extension: Extension): void {
  fields.set(extension.id, extension)
}

/** The field an operation speaks of: a deployed one by name or id; to restore, a deprecated one. */
function found(work: Work, { op, object_type, field = '' }: Operation): Extension | undefined {
  const own = [...work.fields.values()].filter((e) => e.object_type === object_type)
  const restored = op === 'restore_attribute'
  const digits = idDigits('fld', field)
  const candidates = restored ? own.filter((e) => e.state === 'deprecated') : deployed(own)
  const extension =
    digits !== null
      ? candidates.find((e) => e.id === digits)
      : restored
        ? candidates.findLast((e) => e.name === field)
        : extensionNamed(candidates, field, work.now.getTime())
  if (extension) return extension
  const names = candidates.map(({ name }) => name)
  const suggestion = closest(field, names)
  work.issues.push({
    field: `${work.at}.field`,
    code: 'not_found',
    message: `no ${restored ? 'deprecated ' : ''}field '${field}' on ${object_type}`,
    ...(suggestion ? { suggestion } : {}),
  })
  return undefined
}

function add(work: Work, operation: Operation): Assessed {
  const { registry, issues, at, id, fields } = work
  const { object_type, label = '', type = 'text', required = false } = operation
  const own = [...fields.values()].filter((e) => e.object_type === object_type)
  const name = operation.api_name ?? nameOf(label)
  nameIssues(work, own, name, null)
  const settings = settingsOf(operation, type, registry, at, issues)
  const draft: Extension = {
    id,
    object_type,
    name,
    label,
    description: operation.description ?? null,
    type,
    settings,
    options: withOptions([], operation.options ?? [], at, issues),
    aliases: [],
    required,
    filterable: operation.filterable ?? false,
    indexed: operation.filterable ?? false,
    state: 'deployed',
  }
  issues.push(...expressionIssues(draft, readable(work, own, object_type), at))
  const extension: Extension = {
    ...draft,
    settings: addDefault(draft, operation.default, at, issues),
  }
  if (settings.expression !== undefined && issues.length === 0)
    extension.settings = {
      ...extension.settings,
      expression: boundFormula(settings.expression, own),
    }
  refuseUnfilterable(work, extension)
  if (type === 'formula' && required)
    issues.push({
      field: `${at}.required`,
      code: 'unknown_field',
      message: 'is not used by formula',
    })
  put(work, extension)
  return required && operation.default === undefined
    ? ['review', 'New objects must have a value; those that are there stay as they are.']
    : ['safe', 'A new field; nothing that is there changes.']
}

/** Fields that a formula of the type may read. */
function readable({ registry }: Work, own: readonly Extension[], object_type: string): string[] {
  const resource = registry.get(object_type)
  const declared = Object.entries(resource?.fields ?? {}).filter(
    ([, { kind }]) => kind !== 'list' && kind !== 'object' && kind !== 'texts',
  )
  const plain = deployed(own).filter(({ type }) => type !== 'formula')
  return [...declared.map(([name]) => name), ...plain.map(({ name }) => `ext.${name}`)]
}

function nameIssues(
  { issues, at, now }: Work,
  own: readonly Extension[],
  name: string,
  id: number | null,
): void {
  const field = `${at}.api_name`
  if (!/^[a-z][a-z0-9_]{0,59}$/.test(name)) {
    const message = 'cannot be made of the label; give one of lower-case letters, digits and _'
    issues.push({ field, code: 'required', message })
    return
  }
  const taken = extensionNamed(
    own.filter((extension) => extension.id !== id),
    name,
    now.getTime(),
  )
  if (!taken) return
  const by =
    taken.name === name ? 'is there already' : `was the name of '${taken.name}' until lately`
  issues.push({
    field,
    code: 'duplicate',
    message: `a field '${name}' ${by}`,
    other_id: `fld_${taken.id}`,
  })
}

function addOption(work: Work, operation: Operation, extension: Extension): Assessed {
  const { issues, at } = work
  if (extension.type !== 'select' && extension.type !== 'multi_select') {
    const message = `is of type ${extension.type}, which has no options`
    issues.push({ field: `${at}.field`, code: 'invalid_type', message })
  }
  const options = withOptions(extension.options, operation.options ?? [], at, issues)
  put(work, { ...extension, options })
  return ['safe', 'More values may be written; those that are there stay valid.']
}

function rename(work: Work, operation: Operation, extension: Extension): Assessed {
  const { label = extension.label, api_name: name = extension.name } = operation
  const { description = extension.description } = operation
  const own = [...work.fields.values()].filter((e) => e.object_type === extension.object_type)
  if (name === extension.name) {
    put(work, { ...extension, label, description })
    return ['safe', 'Only what people read changes.']
  }
  nameIssues(work, own, name, extension.id)
  const until = new Date(work.now.getTime() + LIMITS.alias_days * DAY_MS).toISOString()
  const aliases = [
    ...extension.aliases.filter((alias) => alias.name !== name),
    { name: extension.name, until },
  ]
  put(work, { ...extension, label, description, name, aliases })
  return [
    'review',
    `Answers use the new name at once; input may use the old one for ${LIMITS.alias_days} days.`,
  ]
}

function setValidation(work: Work, operation: Operation, extension: Extension): Assessed {
  const { issues, at } = work
  const { settings: old } = extension
  const settings = { ...old }
  for (const name of ['min', 'max', 'max_length'] as const) {
    const value = operation[name]
    if (value === undefined) continue
    if (value === null) delete settings[name]
    else settings[name] = value
  }
  const given = settingsOf(
    { ...operation, unit: old.unit, target: old.target, options: [] } as Operation,
    extension.type,
    work.registry,
    at,
    [],
  )
  const misused = (['min', 'max', 'max_length'] as const).filter(
    (name) => typeof operation[name] === 'number' && given[name] === undefined,
  )
  for (const name of misused)
    issues.push({
      field: `${at}.${name}`,
      code: 'unknown_field',
      message: `is not used by ${extension.type}`,
    })
  checkBounds(settings, at, issues)
  const required = operation.required ?? extension.required
  const draft = { ...extension, settings, required }
  const after = { ...draft, settings: addDefault(draft, operation.default, at, issues) }
  refuseUnfilterable(work, after)
  put(work, after)
  const above = (a = -Infinity, b = -Infinity): boolean => a > b
  const below = (a = Infinity, b = Infinity): boolean => a < b
  const tighter =
    above(settings.min, old.min) ||
    below(settings.max, old.max) ||
    below(settings.max_length, old.max_length) ||
    (required && !extension.required)
  return tighter
    ? ['review', 'Values that are there stay, but could not be written again if they do not fit.']
    : ['safe', 'Everything that could be written can still be.']
}

function setFilterable(work: Work, operation: Operation, extension: Extension): Assessed {
  const filterable = operation.filterable ?? true
  const indexed = filterable && extension.filterable && extension.indexed
  const after = { ...extension, filterable, indexed }
  refuseUnfilterable(work, after)
  put(work, after)
  return filterable
    ? ['safe', 'Values are indexed in the background; filters work meanwhile as before.']
    : ['review', 'Organizations with many objects can no longer filter by it.']
}

function refuseUnfilterable({ issues, at }: Work, extension: Extension): void {
  const why = extension.filterable ? unfilterable(extension) : null
  if (why) issues.push({ field: `${at}.filterable`, code: 'not_filterable', message: why })
}

function restore(work: Work, extension: Extension): Assessed {
  const own = [...work.fields.values()].filter((e) => e.object_type === extension.object_type)
  nameIssues(work, own, extension.name, extension.id)
  put(work, { ...extension, state: 'deployed' })
  return ['safe', 'The field and its values are shown again.']
}

/** A new field takes over the name and the values; the old one is kept, hidden. */
function convert(work: Work, operation: Operation, extension: Extension): Assessed {
  const { issues, at, registry, id } = work
  const { type = extension.type } = operation
  if (type === extension.type || type === 'formula' || extension.type === 'formula') {
    const message = `cannot be converted from ${extension.type} to ${type}`
    issues.push({ field: `${at}.type`, code: 'invalid_value', message })
    return ['destructive', '']
  }
  const settings = settingsOf(operation, type, registry, at, issues)
  put(work, { ...extension, state: 'deprecated' })
  put(work, {
    ...extension,
    id,
    type,
    settings: { ...settings, converts: extension.id },
    options: withOptions([], operation.options ?? [], at, issues),
    filterable: false,
    indexed: false,
    required: false,
  })
  return [
    'destructive',
    'A new field takes over the name and every value that can be converted; the old one is kept, hidden.',
  ]
}

function limitIssues(fields: readonly Extension[], changes: readonly FieldChange[]): Issue[] {
  const touched = new Set(changes.map(({ after }) => after.object_type))
  const issues: Issue[] = []
  const say = (type: string, count: number, most: number, what: string): void => {
    if (count <= most) return
    const message = `${type} would have ${count} ${what}; at most ${most} are allowed`
    issues.push({ field: 'operations', code: 'limit_exceeded', message })
  }
  for (const type of touched) {
    const own = deployed(fields.filter((e) => e.object_type === type))
    say(type, own.length, LIMITS.attributes_per_type, 'fields')
    say(
      type,
      own.filter((e) => e.filterable).length,
      LIMITS.filterable_per_type,
      'filterable fields',
    )
    say(type, own.filter((e) => e.type === 'formula').length, LIMITS.formulas_per_type, 'formulas')
  }
  return issues
}
