/** Clauses that ask for a new field. */
import { EXTENSION_TYPES } from '../../kit/extension.ts'
import type { ExtensionType } from '../../kit/extension.ts'
import { nameOf } from '../field-settings.ts'
import type { Operation, OptionInput, Span } from '../operations.ts'
import { word } from './clause.ts'
import type { Clause } from './clause.ts'
import { answered, ask, OBJECT_CHOICES, takeObjects } from './reading.ts'
import type { Known, Objects, Reading } from './reading.ts'
import { defaultOf, takeOptions, takeTraits } from './traits.ts'
import type { Traits } from './traits.ts'
import { FIELD_WORD, NAMING, UNIT_WORDS, VALUE_TYPES } from './words.ts'

const ARTICLES =
  '(?:an? |the |another |new |custom |extra |additional |ein(?:e|en)? |neue[ns]? |das |die |den )*'

const LEAD = new RegExp(
  `^[\\s\\uE000]*(?:(?:please|also|now|then|and|so|bitte) |(?:can|could|would) you (?:please )?|(?:we|i)(?: also)? (?:need|want|would like|have)(?: to)? |let'?s |let us )*(?:(?:add|create|introduce|include|insert|give|track|record|store|capture|define|set up|need|want|füge|ergänze|erstelle|hinzufügen) )?(?:us |me )?`,
  'iu',
)

/** Words around a name that are no part of it. */
const FILLER = new RegExp(
  `^(?:(?:an?|the|new|custom|extra|additional|${FIELD_WORD}|for|that|which|is|are|it|its|be|as|of type|type|with|and|und|in|to|on|please|hinzu|holding|containing|storing|saying|whether|ein|eine|einen|neues?|das|die|den)(?![\\p{L}\\p{N}_])|[\\s,;:.!?()–—-])+|(?:(?<![\\p{L}\\p{N}_])(?:an?|the|as|with|and|und|in|on|to|for|of|is|are|it|be|that|which|which is|hinzu|please|${FIELD_WORD})|[\\s,;:.!?()–—-])+$`,
  'giu',
)

/** Does the clause speak of adding something at all? */
export function asksForField(clause: Clause): boolean {
  const verb =
    /(?<![\p{L}])(?:add|create|introduce|include|track|record|store|capture|define|new|need|needs|want|give|füge|ergänze|erstelle|neues?|should have|must have|gets?)(?![\p{L}])/iu
  return verb.test(clause.whole) || takesType(clause)
}

function takesType(clause: Clause): boolean {
  return VALUE_TYPES.some(([, words]) => clause.find(valueWord(words)) !== null)
}

function valueWord(words: string): RegExp {
  return new RegExp(`(?<![\\p{L}\\p{N}_])(?:${words})(?![\\p{L}\\p{N}_])`, 'iu')
}

/** Reads a clause as a new field, one operation for each type of objects. @returns those types. */
export function readField(
  clause: Clause,
  known: Known,
  reading: Reading,
  inherited: Objects | null,
): Objects | null {
  const quoted = takeQuoted(clause)
  const traits = takeTraits(clause)
  const own = takeObjects(clause)
  clause.take(LEAD)
  const stated = takeType(clause)
  const isList = stated === null || stated.type === 'select' || stated.type === 'multi_select'
  const options = isList ? takeOptions(clause) : null
  const label = nameLeft(clause, quoted, stated, reading)
  const objects = own ?? inherited ?? answeredObjects(clause, known)
  const questions = reading.questions.length
  if (label === '' || label.split(/\s+/).length > 8)
    reading.questions.push(ask(clause, 'name', 'What is the field to be called?', null))
  if (!objects)
    reading.questions.push(
      ask(clause, 'object_type', 'Which objects are to have the field?', OBJECT_CHOICES),
    )
  const type = typeOf(clause, known, reading, stated?.type ?? null, traits, options)
  if (!type || !objects || reading.questions.length > questions) return own ?? inherited
  const operation = operationOf(clause, known, reading, { label, type, traits, options })
  if (reading.questions.length > questions) return own ?? inherited
  const source = [...clause.source(), ...(own ? [] : (inherited?.source ?? []))]
  for (const object_type of objects.types)
    reading.operations.push({ op: 'add_attribute', object_type, ...operation, source })
  return objects
}

function answeredObjects(clause: Clause, known: Known): Objects | null {
  const type = answered(known, clause, 'object_type', OBJECT_CHOICES)
  return type === null ? null : { types: [type], source: [] }
}

/** A name in quotes, or behind `called`. */
function takeQuoted(clause: Clause): string | null {
  const named = clause.take(
    /(?<![\p{L}])(?:called|named|labell?ed|titled|namens|mit dem namen|with the name) ["“'‘]?([^"”'’,;:()]{1,100}?)["”'’]?(?=\s*(?:[,;:()]|$)|\s+(?:on|to|for|with|from|between|of type|as an?|in|auf|für|zu|which|that|required|mandatory|default)(?![\p{L}]))/iu,
  )
  if (named?.[1]) return named[1].trim()
  const quoted = clause.take(
    /(?<![\p{L}\p{N}])(?:"([^"]{1,100})"|“([^”]{1,100})”|„([^“”]{1,100})[“”]|'([^']{1,100})'(?![\p{L}])|‘([^’]{1,100})’)/u,
  )
  return (
    quoted
      ?.slice(1)
      .find((part) => part !== undefined)
      ?.trim() ?? null
  )
}

interface Stated {
  type: ExtensionType
  /** The word is a part of the name too. */
  naming: string | null
}

/** Takes the word that says what the values are. */
function takeType(clause: Clause): Stated | null {
  if (clause.find(/^[\s\uE000]*(?:the )?(?:number of|anzahl(?: der)?) /iu))
    return { type: 'integer', naming: null }
  return explicitType(clause) ?? headType(clause) ?? fieldType(clause) ?? tailType(clause)
}

function firstOf(clause: Clause, pattern: (words: string) => string, part = 1): Stated | null {
  for (const [type, words] of VALUE_TYPES) {
    const match = clause.find(new RegExp(pattern(`(?:${words})`), 'iu'))
    if (!match) continue
    const at = match.index + match[0].indexOf(match[part] as string)
    clause.cut(at, at + (match[part] as string).length)
    return { type, naming: match[2] ?? null }
  }
  return null
}

const EDGE = '(?![\\p{L}\\p{N}_])'

/** `of type percent`, `as a percent field`, `(percent)`. */
function explicitType(clause: Clause): Stated | null {
  return (
    firstOf(clause, (w) => `(?<![\\p{L}])((?:of|with)? ?(?:the )?type:? ${w})${EDGE}`) ??
    firstOf(clause, (w) => `(?<![\\p{L}])(as ${ARTICLES}${w}(?: (?:${FIELD_WORD}))?)${EDGE}`) ??
    firstOf(clause, (w) => `(\\( ?${w}(?: (?:${FIELD_WORD}))? ?\\))`) ??
    firstOf(clause, (w) => `(, ${ARTICLES}${w}(?: (?:${FIELD_WORD}))?)(?=[\\s\\uE000]*(?:,|$))`)
  )
}

/** `a percent field recovery cap`: the word stands first. */
function headType(clause: Clause): Stated | null {
  const joined = `(?: (?:${FIELD_WORD}))?(?: (?:for|that says|saying|holding|with|of))?`
  return firstOf(
    clause,
    (w) =>
      `^[\\s\\uE000]*${ARTICLES}(${w}${joined}:?)(?=[\\s\\uE000]+[^\\s\\uE000,;(]|[\\s\\uE000]*$)`,
  )
}

/** `a recovery cap percent field`. */
function fieldType(clause: Clause): Stated | null {
  return firstOf(clause, (w) => `(?<![\\p{L}\\p{N}_])(${w} (?:${FIELD_WORD}))${EDGE}`)
}

/** `pet friendly flag`, `handover date`: the word stands last; some words are a part of the name as well. */
function tailType(clause: Clause): Stated | null {
  for (const [type, words] of VALUE_TYPES) {
    if (type === 'decimal' || type === 'integer' || type === 'area' || type === 'length') continue
    const match = clause.find(
      new RegExp(`(?<![\\p{L}\\p{N}_])(${words})(?=[\\s\\uE000]*(?:[:,;(.!?\\uE000]|$))`, 'iu'),
    )
    if (!match) continue
    if (NAMING.includes(type)) {
      const start = clause.start + match.index
      clause.spans.push({ text: match[0], start, end: start + match[0].length })
      return { type, naming: null }
    }
    clause.cut(match.index, match.index + match[0].length)
    return { type, naming: null }
  }
  return null
}

/** What is left is the name; what is left elsewhere was not understood. */
function nameLeft(
  clause: Clause,
  quoted: string | null,
  stated: Stated | null,
  reading: Reading,
): string {
  const pieces = clause
    .pieces()
    .map((piece) => trimmed(piece))
    .filter(({ text }) => text !== '')
  const name = quoted === null ? pieces[0] : undefined
  const others = quoted === null ? pieces.slice(1) : pieces
  for (const piece of others) reading.unread.push(piece)
  if (name) {
    clause.cut(name.start - clause.start, name.end - clause.start)
    return name.text
  }
  if (quoted !== null) return quoted
  // `a date on leases`: the type is all that is known of it.
  const only = stated && NAMING.includes(stated.type) ? stated.type : ''
  return only.replaceAll('_', ' ')
}

function trimmed(piece: Span): Span {
  let { text, start } = piece
  for (let before = ''; before !== text;) {
    before = text
    const shorter = text.replaceAll(FILLER, (match, offset: number) => (offset === 0 ? '' : match))
    start += text.length - shorter.length
    text = shorter.replaceAll(FILLER, '')
  }
  return { text, start, end: start + text.length }
}

const TYPE_CHOICES = EXTENSION_TYPES.filter((type) => type !== 'formula')

/** What the values are: as stated, or as bounds, units and options leave no other choice; else a question. */
function typeOf(
  clause: Clause,
  known: Known,
  reading: Reading,
  stated: ExtensionType | null,
  traits: Traits,
  options: OptionInput[] | null,
): ExtensionType | null {
  if (traits.target !== undefined) return traits.target === 'document' ? 'document' : 'relation'
  const type = stated ?? implied(clause, traits, options)
  if (type !== null) return type
  const numbers = traits.min !== undefined || traits.max !== undefined || traits.scale !== undefined
  const choices = numbers ? (['integer', 'decimal', 'percent', 'money'] as const) : TYPE_CHOICES
  const answer = answered(known, clause, 'type', choices)
  if (answer !== null) return answer as ExtensionType
  reading.questions.push(ask(clause, 'type', 'What are the values of the field?', choices))
  return null
}

function implied(
  clause: Clause,
  traits: Traits,
  options: OptionInput[] | null,
): ExtensionType | null {
  if (options) {
    const several = word('any of|some of|several|multiple|one or more').test(clause.whole)
    return several ? 'multi_select' : 'select'
  }
  if (traits.measure) return traits.measure
  if (traits.currency) return 'money'
  if (traits.max_length !== undefined) return traits.max_length > 1_000 ? 'long_text' : 'text'
  return /[0-9] ?%/.test(clause.whole) ? 'percent' : null
}

/** Puts the operation together; what does not fit its type becomes a question. */
function operationOf(
  clause: Clause,
  known: Known,
  reading: Reading,
  {
    label,
    type,
    traits,
    options,
  }: { label: string; type: ExtensionType; traits: Traits; options: OptionInput[] | null },
): Omit<Operation, 'op' | 'object_type'> {
  const name = label.charAt(0).toUpperCase() + label.slice(1)
  const operation: Omit<Operation, 'op' | 'object_type'> = {
    label: name,
    api_name: nameOf(label),
    type,
  }
  if (traits.required !== undefined) operation.required = traits.required
  if (traits.filterable) operation.filterable = true
  if (type === 'select' || type === 'multi_select') {
    if (options) operation.options = options
    else reading.questions.push(ask(clause, 'options', 'Which options does the field have?', null))
  }
  addNumbers(clause, known, reading, operation, traits)
  if (traits.max_length !== undefined) operation.max_length = traits.max_length
  if (traits.currency && type === 'money') operation.currency = traits.currency
  if (traits.target && type === 'relation') operation.target = traits.target
  if (type === 'area' || type === 'length') addUnit(clause, known, reading, operation, traits, type)
  if (traits.default !== undefined) {
    const value = defaultOf(traits.default, type, options ?? [], nameOf)
    if (value !== undefined) operation.default = value
    else
      reading.questions.push(
        ask(
          clause,
          'default',
          `'${traits.default}' is no value of a ${type} field; which is the default?`,
          null,
        ),
      )
  }
  return operation
}

const SCALES = ['0-100', '0-1']

function addNumbers(
  clause: Clause,
  known: Known,
  reading: Reading,
  operation: Omit<Operation, 'op' | 'object_type'>,
  { min, max, scale }: Traits,
): void {
  if (scale !== undefined) operation.scale = scale
  if (min !== undefined) operation.min = min
  if (max !== undefined) operation.max = max
  if (operation.type !== 'percent' || max === undefined || max > 1) return
  const answer = answered(known, clause, 'scale', SCALES)
  if (answer === '0-1') {
    operation.min = (min ?? 0) * 100
    operation.max = max * 100
  } else if (answer === null) {
    const question =
      'Percent fields hold 12.5 for 12.5 %. Is 1 the whole (0-1), or one percent (0-100)?'
    reading.questions.push(ask(clause, 'scale', question, SCALES))
  }
}

function addUnit(
  clause: Clause,
  known: Known,
  reading: Reading,
  operation: Omit<Operation, 'op' | 'object_type'>,
  { unit, measure }: Traits,
  type: 'area' | 'length',
): void {
  const choices = UNIT_WORDS.filter(([kind]) => kind === type).map(([, name]) => name)
  const given = measure === type ? unit : (answered(known, clause, 'unit', choices) ?? undefined)
  if (given !== undefined) operation.unit = given
  else reading.questions.push(ask(clause, 'unit', `In which unit is the ${type}?`, choices))
}
