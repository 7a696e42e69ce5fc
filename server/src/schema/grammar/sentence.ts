/**
 * Sentences into plans, by rules alone: the same words give the same plan, offline, and nothing outside of the list of
 * operations can come of any. What is unclear becomes a question.
 */
import { LIMITS } from '../../kit/extension-limits.ts'
import { asksForField, readField } from './add-field.ts'
import { Clause } from './clause.ts'
import { readCommand } from './commands.ts'
import { ask, takeObjects } from './reading.ts'
import type { Span } from '../operations.ts'
import type { Known, Objects, Reading } from './reading.ts'
import { ANY_OBJECT, VALUE_TYPES } from './words.ts'

/** Longest text that is read, in characters; routes refuse longer ones. */
export const SENTENCE_MAX = 2_000

const TYPE_WORDS = VALUE_TYPES.map(([, words]) => words).join('|')
const VERBS =
  'add|append|create|rename|relabel|remove|delete|drop|hide|deprecate|retire|restore|make|mark|set|convert|change|limit|restrict|index|introduce|track|record|include'

/** Where one request ends and the next begins. */
const BORDER = new RegExp(
  [
    '\\s*[;\\n]+\\s*',
    '(?<=[^.\\s])\\.\\s+(?=[\\p{L}"“])',
    `\\s*,?\\s+(?:and|und|then|and then|as well as|plus)\\s+(?=(?:also )?(?:(?:${VERBS})\\s|(?:an?|another|ein|eine|einen) (?=[^,;]*\\p{L})|(?:${TYPE_WORDS})(?: (?:field|flag))? ))`,
    `\\s*,\\s+(?=(?:an?|another) (?:[\\p{L}-]+ )?(?:${TYPE_WORDS})\\s|(?:${VERBS}) (?:an?|the) )`,
  ].join('|'),
  'giu',
)

/** Longest single request, in characters: patterns look back and forth within one. */
const CLAUSE_MAX = 400

export function readSentence(given: string, known: Known): Reading {
  const { text, places } = plainText(given)
  const { operations, questions, unread } = readText(text, known)
  const placed = <T extends Span>(span: T): T => {
    const start = places[span.start] ?? 0
    const end = (places[span.end - 1] ?? -1) + 1
    return { ...span, text: given.slice(start, end), start, end }
  }
  return {
    operations: operations.map((one) => ({ ...one, source: one.source.map(placed) })),
    questions: questions.map(placed),
    unread: unread.map(placed),
  }
}

/** The text with single spaces and without control characters, and where each character of it stood. */
function plainText(given: string): { text: string; places: number[] } {
  let text = ''
  const places: number[] = []
  for (let i = 0; i < given.length; i++) {
    const char = given[i] as string
    const blank = /[\s\p{Cc}\uE000\uE001]/u.test(char) && char !== '\n'
    if (blank && (text === '' || /\s$/.test(text))) continue
    text += blank ? ' ' : char
    places.push(i)
  }
  return { text, places }
}

function readText(text: string, known: Known): Reading {
  const reading: Reading = { operations: [], questions: [], unread: [] }
  const all = clausesOf(text)
  const clauses = all.slice(0, LIMITS.operations_per_plan)
  const more = all[clauses.length]
  if (more) reading.questions.push(ask(more, 'intent', MANY, null))
  const objects = clauses.map((clause) => objectsOf(clause))
  let before: Objects | null = null
  clauses.forEach((clause, i) => {
    const next: Objects | null = objects.slice(i + 1).find((found) => found !== null) ?? null
    before = readClause(clause, known, reading, before ?? next) ?? before
  })
  if (clauses.length === 0)
    reading.questions.push(ask(new Clause(text, 0, 1), 'intent', INTENT, null))
  return reading
}

const LONG = `A single request has at most ${CLAUSE_MAX} characters; say it in fewer words.`
const MANY = `A text may hold ${LIMITS.operations_per_plan} requests; send the rest in another.`
const INTENT =
  'What is to be done? For example: add a percent field recovery cap to leases, 0 to 100.'

function readClause(
  clause: Clause,
  known: Known,
  reading: Reading,
  inherited: Objects | null,
): Objects | null {
  if (clause.whole.length > CLAUSE_MAX) {
    reading.questions.push(ask(clause, 'intent', LONG, null))
    return null
  }
  if (readCommand(clause, known, reading)) return null
  const speaksOfObjects = new RegExp(
    `(?<![\\p{L}])(?:on|to|for) (?:\\p{L}+ )?(?:${ANY_OBJECT})(?![\\p{L}])`,
    'iu',
  )
  if (asksForField(clause) || speaksOfObjects.test(clause.whole))
    return readField(clause, known, reading, inherited)
  reading.questions.push(ask(clause, 'intent', INTENT, null))
  return null
}

function objectsOf(clause: Clause): Objects | null {
  if (clause.whole.length > CLAUSE_MAX) return null
  return takeObjects(new Clause(clause.whole, clause.start, clause.number))
}

/** The clauses of a text; what stands between quotes is not divided. */
function clausesOf(text: string): Clause[] {
  const quotes = [...text.matchAll(/"[^"]*"|“[^”]*”/g)].map((m) => [m.index, m.index + m[0].length])
  const clauses: Clause[] = []
  let from = 0
  const push = (to: number): void => {
    const part = text.slice(from, to)
    if (part.trim() !== '') clauses.push(new Clause(part, from, clauses.length + 1))
  }
  for (const match of text.matchAll(BORDER)) {
    if (quotes.some(([a = 0, b = 0]) => match.index > a && match.index < b)) continue
    push(match.index)
    from = match.index + match[0].length
  }
  push(text.length)
  return clauses
}
