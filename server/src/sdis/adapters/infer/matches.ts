/** Which column fills which field: by its name, and by whether its values fit. */
import { validate } from '../../../kit/validate.ts'
import type { JsonSchema } from '../../../kit/field.ts'
import { choiceOf } from './choices.ts'
import { numberOf } from './shapes.ts'
import type { Shape, Signs } from './shapes.ts'
import type { Target } from './targets.ts'
import { similarity } from './words.ts'

export interface Match {
  target: Target
  shape: Shape
  /** 0 to 1. */
  confidence: number
  /** What a person can check the proposal by. */
  reason: string
  /** What the words of the column mean, for choices. */
  options?: Record<string, string>
  /** Percentages given as parts of one. */
  fraction?: true
}

/** From here on a column is mapped; below, down to the second, it is only named as a possibility. */
export const MAPPED = 0.6
export const POSSIBLE = 0.35

/** Values of a column that are looked at. */
const LOOKED_AT = 300

/** Different words that a column of choices may have. */
const CHOICES_MAX = 100

/** How well values fit; the same column may fit one field and not another. */
type Fit = { share: number; says: string; options?: Record<string, string>; fraction?: true }

const NONE: Fit = { share: 0, says: '' }

/** Every pair that is at least possible, the likeliest first. */
export function matchesOf(
  type: string,
  targets: readonly Target[],
  shapes: readonly Shape[],
  signs: Signs,
): Match[] {
  const found = shapes.flatMap((shape) =>
    shape.type === 'empty'
      ? []
      : targets.flatMap((target) => matchOf(type, target, shape, signs) ?? []),
  )
  return found.toSorted((a, b) => b.confidence - a.confidence || a.shape.index - b.shape.index)
}

/** Each column for one field and each field from one column, the likeliest pairs first. */
export function assigned(matches: readonly Match[]): Match[] {
  const columns = new Set<Shape>()
  const paths = new Set<string>()
  return matches.filter(({ confidence, shape, target }) => {
    if (confidence < MAPPED || columns.has(shape) || paths.has(target.path)) return false
    columns.add(shape)
    paths.add(target.path)
    return true
  })
}

function matchOf(type: string, target: Target, shape: Shape, signs: Signs): Match | null {
  const [named, name] = bestName(target, shape)
  if (named < POSSIBLE) return null
  const fit = fitOf(type, target, shape, signs)
  if (fit.share < 0.5) return null
  const filled = 0.9 + 0.1 * (shape.filled / Math.max(1, shape.rows))
  const confidence = named * (0.6 + 0.4 * fit.share) * filled * unitFactor(target, shape)
  if (confidence < POSSIBLE) return null
  const { share: _, says, ...more } = fit
  return {
    target,
    shape,
    confidence: Math.min(0.99, Math.round(confidence * 100) / 100),
    reason: `its name is like '${name}' (${percent(named)}); ${says}`,
    ...more,
  }
}

function bestName({ names }: Target, { words }: Shape): [number, string] {
  let best: [number, string] = [0, '']
  for (const name of names) {
    const alike = similarity(words, name)
    if (alike > best[0]) best = [alike, name.join(' ')]
  }
  return best
}

/** A column in kWh does not fill a field in kBtu. */
function unitFactor({ units }: Target, shape: Shape): number {
  if (units.length === 0) return 1
  const stated = shape.units.filter((unit) => ['kbtu', 'kwh', 'therms'].includes(unit))
  if (stated.length === 0) return 1
  return stated.some((unit) => units.includes(unit)) ? 1.02 : 0.4
}

function fitOf(type: string, { path, field }: Target, shape: Shape, signs: Signs): Fit {
  if (path.startsWith('rent.')) return numbers(shape, null, signs)
  switch (field?.kind) {
    case 'integer':
    case 'number':
    case 'money':
      return numbers(shape, field.schema, signs)
    case 'percent':
      return percents(shape, field.schema, signs)
    case 'date':
    case 'datetime':
      return shape.type === 'date' ? dates(shape) : NONE
    case 'boolean':
      return shape.type === 'boolean'
        ? { share: shape.share, says: 'its values are yes and no' }
        : NONE
    case 'choice':
      return choices(type, path, field.schema, shape)
    case 'texts': {
      const items = field.schema['items'] as JsonSchema
      return items['enum'] ? choices(type, path, items, shape) : texts(path, items, shape)
    }
    case 'text':
      return texts(path, field.schema, shape)
    case 'reference':
    case undefined:
      return ['text', 'integer'].includes(shape.type)
        ? { share: 1, says: `it has ${shape.distinct} different values` }
        : NONE
    case 'list':
    case 'object':
      return NONE
  }
}

function numbers(shape: Shape, schema: JsonSchema | null, signs: Signs): Fit {
  if (!['integer', 'number', 'percent', 'money'].includes(shape.type)) return NONE
  const values = shape.values.slice(0, LOOKED_AT).map((value) => numberOf(value, signs))
  const known = values.filter((value) => value !== null)
  const fits = schema ? known.filter((value) => validate(schema, value).length === 0) : known
  const share = fits.length / Math.max(1, values.length)
  if (share < 0.7) return NONE
  const [least, most] = [Math.min(...known), Math.max(...known)]
  return { share, says: `${percent(share)} of its values are numbers from ${least} to ${most}` }
}

function percents(shape: Shape, schema: JsonSchema, signs: Signs): Fit {
  const fit = numbers(shape, schema, signs)
  if (fit.share === 0) return fit
  const values = shape.values.slice(0, LOOKED_AT)
  const plain = values.every(
    (value) => typeof value === 'number' || !value?.toString().includes('%'),
  )
  const most = Math.max(...values.map((value) => Math.abs(numberOf(value, signs) ?? 0)))
  const fraction = plain && most > 0 && most <= 1 && shape.type === 'number'
  return fraction ? { ...fit, says: `${fit.says}, parts of one`, fraction } : fit
}

function dates({ share, dates: patterns }: Shape): Fit {
  return { share, says: `${percent(share)} of its values are dates such as ${patterns[0]}` }
}

function choices(type: string, path: string, schema: JsonSchema, shape: Shape): Fit {
  const allowed = schema['enum'] as string[]
  const counts = new Map<string, number>()
  for (const value of shape.values) {
    const word = String(value).trim()
    counts.set(word, (counts.get(word) ?? 0) + 1)
  }
  if (counts.size > CHOICES_MAX || shape.type === 'number' || shape.type === 'date') return NONE
  const options: Record<string, string> = {}
  let known = 0
  for (const [word, count] of counts) {
    const choice = choiceOf(type, path, allowed, word)
    if (choice === null) continue
    options[word] = choice
    known += count
  }
  const share = known / shape.filled
  const says = `${percent(share)} of its values, ${Object.keys(options).length} of ${counts.size} words, are choices of the field`
  return { share, says, options }
}

/** Texts that may be all digits. */
const NUMBERED = /number|code|label|suite|postal|line|tax_id|ticker|key/

function texts(path: string, schema: JsonSchema, shape: Shape): Fit {
  const { maxLength = Infinity, pattern } = schema as { maxLength?: number; pattern?: string }
  if (shape.longest > maxLength) return NONE
  const says = `its texts have up to ${shape.longest} characters`
  if (pattern) {
    const form = new RegExp(pattern)
    const fits = shape.values.filter((value) => form.test(String(value).trim())).length
    return { share: fits / Math.max(1, shape.filled), says: `${says}, in the form of the field` }
  }
  const shares = { text: 1, integer: NUMBERED.test(path) ? 0.95 : 0.5, number: 0.5 }
  return { share: shares[shape.type as 'text'] ?? 0, says }
}

export function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}
