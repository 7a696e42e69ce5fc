/** What identifies an object in a file: a column, or two, that no two rows share. */
import { KEYS } from './names.ts'
import type { Shape } from './shapes.ts'
import { similarity, wordsOf } from './words.ts'

export interface Key {
  shapes: Shape[]
  /** Rows with the same key are one object. */
  group: boolean
  confidence: number
  reason: string
}

/** Types of which files give several rows to one object: one per building, per unit, per rent step. */
const GROUPED = new Set(['lease'])

/** Columns that are tried in pairs. */
const PAIRED = 8

/** Above this share of different values a column still tells objects apart. */
const TELLING = 0.3

/** Where objects are told apart by what they lie in and their own name there: the unit 101 of building B1. */
const WITHIN: Readonly<Record<string, readonly (readonly string[])[]>> = {
  space: [
    ['building', 'building code', 'building number', 'property', 'property code'],
    ['unit', 'unit number', 'unit code'],
  ],
  floor: [
    ['building', 'building code', 'building number'],
    ['floor', 'floor number'],
  ],
  lease: [
    ['property', 'property code', 'property number', 'building', 'building code'],
    ['unit', 'unit number', 'unit code'],
  ],
}

/** A unit is known by its own number alone only in a file of one building; a lease has a number of its own, mostly. */
const WITHIN_CONFIDENCE: Readonly<Record<string, number>> = {
  space: 0.995,
  floor: 0.995,
  lease: 0.85,
}

const UNFIT = new Set(['date', 'boolean', 'money', 'percent'])

/** The key of a table, and other columns that would do; null when no column has a value. */
export function keyOf(type: string, shapes: readonly Shape[], rows: number): [Key, Key[]] | null {
  const ranked = shapes
    .filter((shape) => shape.filled > 0)
    .map((shape) => ({ shape, named: likeness(type, shape) }))
    .toSorted((a, b) => score(b) - score(a))
  const [first] = ranked
  if (!first) return null
  const fit = ranked.filter(({ shape }) => !UNFIT.has(shape.type))
  const unique = fit.filter(({ shape }) => shape.unique).map((one) => single(one, rows))
  const groups = GROUPED.has(type) ? fit.flatMap((one) => grouped(one)) : []
  const alone = [...within(type, fit, rows), ...unique, ...groups]
  const named = alone.some(({ confidence }) => confidence >= 0.7)
  const found = [...alone, ...(named ? [] : pairOf(fit, rows))]
  const reason = 'no column has a different value in every row'
  const last = { shapes: [(fit[0] ?? first).shape], group: false, confidence: 0.1, reason }
  const [key, ...others] = [...found.toSorted((a, b) => b.confidence - a.confidence), last]
  return [key ?? last, others.filter(({ confidence }) => confidence >= 0.3).slice(0, 3)]
}

/** What the object lies in and its name there, where both are columns of the file. */
function within(type: string, ranked: readonly Ranked[], rows: number): Key[] {
  const pair = (WITHIN[type] ?? []).flatMap((names) => {
    const alike = ({ words }: Shape): number =>
      Math.max(...names.map((name) => similarity(words, wordsOf(name))))
    const whole = ranked.map(({ shape }) => shape).filter(({ filled }) => filled === rows)
    return whole
      .filter((shape) => alike(shape) >= 0.8)
      .toSorted((a, b) => alike(b) - alike(a))
      .slice(0, 1)
  })
  const [outer, inner] = pair
  if (!outer || !inner || outer === inner || distinctPairs(outer, inner) < rows) return []
  const reason = `${inner.name} is told apart within ${outer.name}: no two of ${rows} rows have the same of both`
  return [
    { shapes: [outer, inner], group: false, confidence: WITHIN_CONFIDENCE[type] ?? 0.8, reason },
  ]
}

function distinctPairs(a: Shape, b: Shape): number {
  return new Set(a.values.map((value, row) => `${String(value)}\n${String(b.values[row])}`)).size
}

interface Ranked {
  shape: Shape
  /** How much its name is that of a key, 0 to 1. */
  named: number
}

function likeness(type: string, { words }: Shape): number {
  const names = KEYS[type] ?? ['number', 'code']
  return Math.max(...names.map((name, i) => similarity(words, wordsOf(name)) * (1 - 0.03 * i)))
}

/** Keys are short, stand to the left, and are no measures. */
function score({ shape, named: by }: Ranked): number {
  const measure = shape.type === 'number' ? 0.6 : 0
  return (
    by + (shape.unique ? 0.5 : 0) - measure - shape.index * 0.005 - (shape.longest > 40 ? 0.2 : 0)
  )
}

function single(one: Ranked, rows: number): Key {
  const { shape, named: by } = one
  const measure = shape.type === 'number' || shape.longest > 60
  const confidence =
    Math.max(0.2, Math.min(0.99, 0.4 + 0.6 * by - shape.index * 0.004)) * (measure ? 0.4 : 1)
  const reason = `every one of ${rows} rows has another value, and its name says ${shape.words.join(' ')}`
  return { shapes: [shape], group: false, confidence: round(confidence), reason }
}

function grouped({ shape, named: by }: Ranked): Key[] {
  const filled = shape.filled === shape.rows
  const share = shape.distinct / Math.max(1, shape.filled)
  if (!filled || shape.unique || by < 0.8 || share < TELLING || shape.type === 'number') return []
  const reason = `its name is that of a key; ${shape.filled - shape.distinct} rows repeat a value and are put together`
  return [{ shapes: [shape], group: true, confidence: round(0.35 + 0.6 * by), reason }]
}

/** Two columns that are told apart together only. */
function pairOf(ranked: readonly Ranked[], rows: number): Key[] {
  const whole = ranked
    .filter(({ shape }) => shape.filled === rows && !shape.unique && shape.distinct > 1)
    .slice(0, PAIRED)
  const keys: Key[] = []
  for (const [i, a] of whole.entries()) {
    for (const b of whole.slice(i + 1)) {
      const shapes = [a.shape, b.shape].toSorted((x, y) => x.distinct - y.distinct)
      const [left, right] = shapes as [Shape, Shape]
      if (distinctPairs(left, right) < rows) continue
      const by = (a.named + b.named) / 2
      const reason = `no column alone, but the two together have another value in every one of ${rows} rows`
      keys.push({ shapes, group: false, confidence: round(0.3 + 0.45 * by), reason })
    }
  }
  return keys
}

const round = (value: number): number => Math.round(value * 100) / 100
