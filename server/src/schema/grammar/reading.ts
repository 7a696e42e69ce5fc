/** What a sentence comes to, and what clauses know of each other. */
import type { Extension } from '../../kit/extension.ts'
import type { Operation, Span } from '../operations.ts'
import type { Question } from '../queries.ts'
import type { Clause } from './clause.ts'
import { word } from './clause.ts'
import { ANY_OBJECT, objectTypeOf } from './words.ts'

export type ReadOperation = Operation & { source: Span[] }

export interface Reading {
  operations: ReadOperation[]
  questions: Question[]
  unread: Span[]
}

export interface Known {
  extensions: readonly Extension[]
  /** What earlier questions were answered, by their ids. */
  answers: Readonly<Record<string, string>>
}

/** Types of objects a clause names, with the words that say so. */
export interface Objects {
  types: string[]
  source: Span[]
}

const MANY = `(?:${ANY_OBJECT})(?:(?:,| and| und| &|, and) (?:on |to |for |the |all )*(?:${ANY_OBJECT}))*`
const DETERMINERS =
  '(?:the |all the |all |every |each |our |any |a |an |den |die |das |der |dem |alle |allen |jede[mnrs]? )*'
const RECORDS = '(?: records?| objects?| table| type| entity| entities)?'

/** Takes the types of objects out of a clause: `on leases`, `every lease should have`, `leases:`. */
export function takeObjects(clause: Clause): Objects | null {
  const before = clause.spans.length
  const subject = clause.find(
    new RegExp(
      `^\\s*(?:(?:please|also|now) )?(?:(?:add|create|include) (?=on |to |for |in ))?(?:on |to |for |in )?${DETERMINERS}(${MANY})${RECORDS}(?: should have| must have| shall have| should get| needs?| gets?| have| has| also needs?|\\s*:)(?= |$)`,
      'iu',
    ),
  )
  const given = clause.find(
    new RegExp(`(?<=^\\s*(?:please )?give )${DETERMINERS}(${MANY})(?= (?:an? |another ))`, 'iu'),
  )
  const found =
    subject ??
    given ??
    last(
      clause,
      `(?:on|to|for|in|at|per|into|auf|für|zu|bei|an) ${DETERMINERS}(${MANY})${RECORDS}`,
    ) ??
    last(clause, `(?:of|von|in) ${DETERMINERS}(${MANY})${RECORDS}`)
  if (!found) return null
  clause.cut(found.index, found.index + found[0].length)
  const words = [...(found[1] as string).matchAll(word(ANY_OBJECT, 'giu'))]
  const types = words.flatMap(([name]) => objectTypeOf(name) ?? [])
  return { types: [...new Set(types)], source: clause.spans.slice(before) }
}

/** What names objects stands behind the name of the field, so the last such words count. */
function last(clause: Clause, pattern: string): RegExpExecArray | null {
  return [...clause.rest.matchAll(word(pattern, 'giu'))].at(-1) ?? null
}

/** A question about a clause. */
export function ask(
  clause: Clause,
  what: string,
  question: string,
  choices: readonly string[] | null,
): Question {
  const text = clause.whole.trim()
  const start = clause.start + clause.whole.indexOf(text)
  return {
    id: `${what}_${clause.number}`,
    question,
    choices: choices === null ? null : [...choices],
    text,
    start,
    end: start + text.length,
  }
}

/** The answer to a question about a clause, if it is one of the choices. */
export function answered(
  { answers }: Known,
  clause: Clause,
  what: string,
  choices: readonly string[] | null,
): string | null {
  const answer = answers[`${what}_${clause.number}`]
  return answer !== undefined && (choices === null || choices.includes(answer)) ? answer : null
}

export const OBJECT_CHOICES = [
  'lease',
  'building',
  'property',
  'floor',
  'space',
  'party',
  'contact',
  'document',
  'work_order',
]
