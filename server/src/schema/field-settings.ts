/** What an operation says of a field, checked against the type of the field and brought into the form it is kept in. */
import type { Issue } from '../kit/errors.ts'
import { UNITS } from '../kit/extension.ts'
import type {
  Extension,
  ExtensionOption,
  ExtensionSettings,
  ExtensionType,
} from '../kit/extension.ts'
import { acceptValue } from '../kit/extension-input.ts'
import { LIMITS } from '../kit/extension-limits.ts'
import type { Registry } from '../kit/query.ts'
import { closest } from '../kit/validate.ts'
import { formulaIssue } from '../kit/formula.ts'
import type { Operation, OptionInput } from './operations.ts'

const NUMBERS: readonly ExtensionType[] = [
  'percent',
  'integer',
  'decimal',
  'money',
  'area',
  'length',
]
const TEXTS: readonly ExtensionType[] = ['text', 'long_text', 'url', 'email', 'phone']
const LISTS: readonly ExtensionType[] = ['select', 'multi_select']

/** Types that have a use for each setting. */
const USES: Record<string, readonly ExtensionType[]> = {
  min: NUMBERS,
  max: NUMBERS,
  scale: ['percent', 'decimal'],
  max_length: TEXTS,
  unit: ['area', 'length'],
  currency: ['money'],
  target: ['relation'],
  expression: ['formula'],
  options: LISTS,
}

/** `Recovery cap (%)` -> `recovery_cap`; empty when nothing is left of it. */
export function nameOf(label: string): string {
  const plain = label
    .normalize('NFKD')
    .replaceAll('ß', 'ss')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '_')
    .replaceAll(/^_+|_+$/g, '')
  const name = /^[0-9]/.test(plain) ? `n_${plain}` : plain
  return name.slice(0, 60).replace(/_+$/, '')
}

/** The settings of a new field. Problems go to `issues`. */
export function settingsOf(
  operation: Operation,
  type: ExtensionType,
  registry: Registry,
  at: string,
  issues: Issue[],
): ExtensionSettings {
  const settings: ExtensionSettings = {}
  for (const [name, types] of Object.entries(USES)) {
    const value = operation[name as keyof Operation]
    if (value === undefined || value === null) continue
    if (!types.includes(type)) issues.push(unused(at, name, type, types))
    else if (name !== 'options') Object.assign(settings, { [name]: value })
  }
  addTarget(settings, operation, type, registry, at, issues)
  if (type === 'area' || type === 'length') settings.unit = unitOf(operation, type, at, issues)
  if (LISTS.includes(type) && !operation.options)
    issues.push({ field: `${at}.options`, code: 'required', message: `is required by ${type}` })
  checkBounds(settings, at, issues)
  return settings
}

function unused(at: string, name: string, type: string, types: readonly string[]): Issue {
  const message = `is not used by ${type}, only by ${types.join(', ')}`
  return { field: `${at}.${name}`, code: 'unknown_field', message }
}

function addTarget(
  settings: ExtensionSettings,
  operation: Operation,
  type: ExtensionType,
  registry: Registry,
  at: string,
  issues: Issue[],
): void {
  if (type !== 'relation' && type !== 'document') return
  const name = type === 'document' ? 'document' : operation.target
  const target = name === undefined ? undefined : registry.get(name)
  if (target && name !== 'organization') {
    settings.target = target.name
    settings.target_prefix = target.prefix
    return
  }
  const allowed = [...registry.keys()].filter((known) => known !== 'organization')
  const message = name === undefined ? 'is required by relation' : `unknown type '${name}'`
  const code = name === undefined ? 'required' : 'unknown_value'
  issues.push({ field: `${at}.target`, code, message, allowed })
}

function unitOf({ unit }: Operation, type: 'area' | 'length', at: string, issues: Issue[]): string {
  const allowed = Object.keys(UNITS[type])
  if (unit !== undefined && allowed.includes(unit)) return unit
  const message = unit === undefined ? `is required by ${type}` : `unknown unit '${unit}'`
  issues.push({ field: `${at}.unit`, code: 'invalid_enum', message, allowed })
  return allowed[0] as string
}

export function checkBounds({ min, max }: ExtensionSettings, at: string, issues: Issue[]): void {
  if (min === undefined || max === undefined || min <= max) return
  issues.push({
    field: `${at}.max`,
    code: 'out_of_range',
    message: `must be >= ${min}, got ${max}`,
  })
}

/** Options with what there are already: ids go on, names are made of labels. */
export function withOptions(
  known: readonly ExtensionOption[],
  given: readonly OptionInput[],
  at: string,
  issues: Issue[],
): ExtensionOption[] {
  const options = [...known]
  given.forEach(({ label, api_name }, i) => {
    const name = api_name ?? nameOf(label)
    const field = `${at}.options[${i}]`
    if (name === '') {
      issues.push({
        field: `${field}.api_name`,
        code: 'required',
        message: 'cannot be made of the label',
      })
      return
    }
    const twin = options.find((option) => option.name === name)
    if (twin?.state === 'deprecated') {
      options[options.indexOf(twin)] = { ...twin, label, state: 'active' }
      return
    }
    if (twin) {
      issues.push({ field, code: 'duplicate', message: `there is an option '${name}' already` })
      return
    }
    const id = Math.max(0, ...options.map((option) => option.id)) + 1
    options.push({ id, name, label, state: 'active' })
  })
  const most = LIMITS.options_per_field
  if (options.length > most)
    issues.push({ field: `${at}.options`, code: 'max_items', message: `at most ${most} options` })
  return options
}

/** Puts the default, as a client writes it, into the settings in stored form. */
export function addDefault(
  extension: Extension,
  value: unknown,
  at: string,
  issues: Issue[],
): ExtensionSettings {
  const { default: _, ...settings } = extension.settings
  if (value === undefined) return extension.settings
  if (value === null) return settings
  const accepted = acceptValue(extension, value)
  if ('issue' in accepted) {
    issues.push({ field: `${at}.default`, ...accepted.issue })
    return settings
  }
  return { ...settings, default: accepted.value }
}

/** Why a field cannot be made filterable; null when it can. */
export function unfilterable({ type, settings }: Extension): string | null {
  if (type === 'money' && !settings.currency) return 'money without one currency has no order'
  const comparable = !['long_text', 'multi_select', 'address', 'formula'].includes(type)
  if (!comparable) return `${type} fields are not indexed`
  const length = settings.max_length ?? (type === 'url' ? 2_000 : 0)
  if (length <= LIMITS.indexed_text) return null
  return `texts of more than ${LIMITS.indexed_text} characters are not indexed; set max_length`
}

/** What is wrong with a formula over the fields of its record. */
export function expressionIssues(
  extension: Extension,
  names: readonly string[],
  at: string,
): Issue[] {
  const { expression } = extension.settings
  if (extension.type !== 'formula') return []
  const field = `${at}.expression`
  if (expression === undefined)
    return [{ field, code: 'required', message: 'is required by formula' }]
  const issue = formulaIssue(expression, names)
  if (!issue) return []
  const suggestion = issue.name === undefined ? undefined : closest(issue.name, names)
  return [
    {
      field,
      code: 'invalid_expression',
      message: issue.message,
      ...(suggestion ? { suggestion } : {}),
    },
  ]
}
