/** Clauses that change a field which is there already. */
import { deployed } from '../../kit/extension.ts'
import type { Extension } from '../../kit/extension.ts'
import { nameOf } from '../field-settings.ts'
import type { Operation } from '../operations.ts'
import { word } from './clause.ts'
import type { Clause } from './clause.ts'
import { answered, ask, takeObjects } from './reading.ts'
import type { Known, Reading } from './reading.ts'
import { optionsIn, takeOptions, takeTraits } from './traits.ts'
import { FIELD_WORD, VALUE_TYPES } from './words.ts'

const PLEASE = '^\\s*(?:(?:please|also|now|then|and|can you|could you|bitte) )*'
const THE_FIELD = `(?:the |our )?(?:custom )?(?:(?:${FIELD_WORD}|label of|name of) )?(?:the )?(?:${FIELD_WORD} )?`
const NAME = `["“'‘]?(.+?)["”'’]?(?: (?:${FIELD_WORD}))?`

interface Command {
  pattern: RegExp
  /** @returns false when the clause is something else after all. */
  read: (clause: Clause, match: RegExpExecArray, known: Known, reading: Reading) => boolean
}

function command(pattern: string, read: Command['read']): Command {
  return { pattern: new RegExp(`${PLEASE}${pattern}[\\s.!]*$`, 'iu'), read }
}

type Change = Omit<Operation, 'object_type' | 'field'>

/** Adds the operation on the field that is meant; asks when none or several are. */
function change(
  clause: Clause,
  known: Known,
  reading: Reading,
  phrase: string,
  operation: Change,
  state: Extension['state'] = 'deployed',
): boolean {
  const scope = new Phrase(clause, phrase)
  const candidates = known.extensions.filter(
    (e) => e.state === state && (!scope.types || scope.types.includes(e.object_type)),
  )
  const wanted = nameOf(scope.name)
  const found = candidates.filter(
    (e) =>
      e.name === wanted || nameOf(e.label) === wanted || e.aliases.some((a) => a.name === wanted),
  )
  const field = chosen(clause, known, reading, scope.name, found, candidates)
  if (!field) return true
  clause.cut(0, clause.rest.length)
  const { op, ...rest } = operation
  const source = clause.source()
  reading.operations.push({
    op,
    object_type: field.object_type,
    field: field.name,
    ...rest,
    source,
  })
  return true
}

function chosen(
  clause: Clause,
  known: Known,
  reading: Reading,
  name: string,
  found: readonly Extension[],
  candidates: readonly Extension[],
): Extension | null {
  const [only] = found
  if (only && found.length === 1) return only
  const pool = found.length > 1 ? found : candidates
  const choices = pool.map((e) => `${e.object_type}.${e.name}`)
  const answer = answered(known, clause, 'field', choices)
  if (answer !== null) return pool.find((e) => `${e.object_type}.${e.name}` === answer) ?? null
  const question =
    found.length > 1
      ? `Several types have a field '${name}'; which is meant?`
      : `No field is called '${name}'; which is meant?`
  reading.questions.push(ask(clause, 'field', question, choices))
  return null
}

/** A name and the objects it is said to be on. */
class Phrase {
  readonly name: string
  readonly types: string[] | null

  constructor(clause: Clause, phrase: string) {
    const part = clause.part(phrase.replace(/ from (?=\S+(?: \S+)?$)/i, ' on '))
    const objects = takeObjects(part)
    this.types = objects?.types ?? null
    this.name = part
      .pieces()
      .map(({ text }) => text)
      .join(' ')
      .replaceAll(new RegExp(`^["“'‘\\s]+|(?: (?:${FIELD_WORD}))?["”'’\\s,.]*$`, 'giu'), '')
  }
}

const COMMANDS: readonly Command[] = [
  command(
    `(?:rename|relabel|call|benenne) ${THE_FIELD}${NAME}(?: (?:to|into|as|in|zu)) ["“'‘]?(.+?)["”'’]?(?: um)?`,
    (clause, match, known, reading) => {
      const [, phrase = '', label = ''] = match
      const given = label.charAt(0).toUpperCase() + label.slice(1)
      return change(clause, known, reading, phrase, { op: 'rename_label', label: given })
    },
  ),
  command(
    `change the (api|technical) name of ${NAME} (?:to|into) ["“'‘]?([A-Za-z0-9_ -]+?)["”'’]?`,
    (clause, match, known, reading) =>
      change(clause, known, reading, match[2] as string, {
        op: 'rename_label',
        api_name: nameOf(match[3] as string),
      }),
  ),
  command(
    `(?:remove|delete|drop|hide|deprecate|retire|get rid of|discontinue|lösche|entferne) ${THE_FIELD}${NAME}`,
    (clause, match, known, reading) =>
      change(clause, known, reading, match[1] as string, { op: 'deprecate_attribute' }),
  ),
  command(
    `(?:restore|bring back|undelete|reinstate|un-?deprecate|stelle) ${THE_FIELD}${NAME}(?: wieder her)?`,
    (clause, match, known, reading) =>
      change(clause, known, reading, match[1] as string, { op: 'restore_attribute' }, 'deprecated'),
  ),
  command(
    `(?:add|append|include) (?:the |an? |another |new )*(?:options?|choices?|values?)[: ]+(.+?) (?:to|for|in|on) (?:the )?(.+?)`,
    readOptions,
  ),
  command(
    `(?:add|append) (?:the )?(.+?) as (?:an? |another |new )*(?:options?|choices?|values?) (?:to|of|for|in) (?:the )?(.+?)`,
    readOptions,
  ),
  command(
    `(?:make|mark|set) ${THE_FIELD}${NAME} (?:as )?(not filterable|unfilterable|filterable|searchable|sortable|indexed)`,
    (clause, match, known, reading) =>
      change(clause, known, reading, match[1] as string, {
        op: 'set_filterable',
        filterable: !/^(?:not|un)/i.test(match[2] as string),
      }),
  ),
  command(`index ${THE_FIELD}${NAME}`, (clause, match, known, reading) =>
    change(clause, known, reading, match[1] as string, { op: 'set_filterable', filterable: true }),
  ),
  command(
    `(?:make|mark|set) ${THE_FIELD}${NAME} (?:as )?(not required|not mandatory|optional|required|mandatory)`,
    (clause, match, known, reading) =>
      change(clause, known, reading, match[1] as string, {
        op: 'set_validation',
        required: !/^(?:not|optional)/i.test(match[2] as string),
      }),
  ),
  command(
    `(?:limit|restrict|constrain|cap) ${THE_FIELD}${NAME} (?:to|at) (.+?)`,
    (clause, match, known, reading) => {
      const bounds = clause.part(match[2] as string)
      const plain = /^-?[0-9][0-9.,]* ?%?$/.test(bounds.whole.trim())
      const traits = takeTraits(plain ? clause.part(match[2] as string, 'at most ') : bounds)
      return validation(clause, match[1] as string, traits, known, reading)
    },
  ),
  command(
    `set (?:the )?(max|maximum|min|minimum)(?: value)? (?:of|for) ${THE_FIELD}${NAME} to (.+?)`,
    (clause, match, known, reading) => {
      const lead = /^max/i.test(match[1] as string) ? 'at most ' : 'at least '
      const traits = takeTraits(clause.part(match[3] as string, lead))
      return validation(clause, match[2] as string, traits, known, reading)
    },
  ),
  command(
    `(?:convert|change|turn) ${THE_FIELD}${NAME} (?:in ?to|to) (?:an? )?(.+?)`,
    readConversion,
  ),
]

function validation(
  clause: Clause,
  phrase: string,
  { min, max, max_length }: ReturnType<typeof takeTraits>,
  known: Known,
  reading: Reading,
): boolean {
  const bounds = {
    ...(min === undefined ? {} : { min }),
    ...(max === undefined ? {} : { max }),
    ...(max_length === undefined ? {} : { max_length }),
  }
  if (Object.keys(bounds).length === 0) return false
  return change(clause, known, reading, phrase, { op: 'set_validation', ...bounds })
}

function readOptions(
  clause: Clause,
  match: RegExpExecArray,
  known: Known,
  reading: Reading,
): boolean {
  const [, list = '', phrase = ''] = match
  const { name, types } = new Phrase(clause, phrase)
  const lists = deployed(known.extensions).filter(({ type }) => type.endsWith('select'))
  const isField = lists.some((e) => e.name === nameOf(name) || nameOf(e.label) === nameOf(name))
  // `add options A, B to leases` speaks of no field.
  if (!isField && types && name === '') return false
  return change(clause, known, reading, phrase, { op: 'add_option', options: optionsIn(list) })
}

function readConversion(
  clause: Clause,
  match: RegExpExecArray,
  known: Known,
  reading: Reading,
): boolean {
  const [, phrase = '', target = ''] = match
  const part = clause.part(target)
  const traits = takeTraits(part)
  const found = VALUE_TYPES.find(([, words]) =>
    part.find(new RegExp(`^\\s*(?:an? )?(?:${words})(?![\\p{L}\\p{N}_])`, 'iu')),
  )
  if (!found) return false
  const [type, words] = found
  part.take(word(words))
  const options = takeOptions(part)
  const { currency, unit } = traits
  return change(clause, known, reading, phrase, {
    op: 'convert_type',
    type,
    ...(options ? { options } : {}),
    ...(currency && type === 'money' ? { currency } : {}),
    ...(unit && (type === 'area' || type === 'length') ? { unit } : {}),
  })
}

/** Reads a clause as a change of a field. @returns false when it is something else. */
export function readCommand(clause: Clause, known: Known, reading: Reading): boolean {
  return COMMANDS.some(({ pattern, read }) => {
    const match = clause.find(pattern)
    return match !== null && read(clause, match, known, reading)
  })
}
