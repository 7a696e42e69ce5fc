/**
 * Sentences into plans, by rules alone: the same words give the same plan, offline, and nothing outside of the list of
 * operations can come of any. What is unclear becomes a question.
 */
import { asksForField, readField } from './add-field.ts'
import { Clause } from './clause.ts'
import { readCommand } from './commands.ts'
import { ask, takeObjects } from './reading.ts'
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

export function readSentence(text: string, known: Known): Reading {
  const reading: Reading = { operations: [], questions: [], unread: [] }
  const clauses = clausesOf(text)
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

const INTENT = 'What is to be done? For example: add a percent field recovery cap to leases, 0 to 100.'

function readClause(
  clause: Clause,
  known: Known,
  reading: Reading,
  inherited: Objects | null,
): Objects | null {
  if (readCommand(clause, known, reading)) return null
  const speaksOfObjects = new RegExp(`(?<![\\p{L}])(?:on|to|for) (?:\\p{L}+ )?(?:${ANY_OBJECT})(?![\\p{L}])`, 'iu')
  if (asksForField(clause) || speaksOfObjects.test(clause.whole))
    return readField(clause, known, reading, inherited)
  reading.questions.push(ask(clause, 'intent', INTENT, null))
  return null
}

function objectsOf(clause: Clause): Objects | null {
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
