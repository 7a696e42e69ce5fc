/** What a clause says of a field beside its name: bounds, length, decimals, required, default, options, units. */
import type { ExtensionType } from '../../kit/extension.ts'
import type { OptionInput } from '../operations.ts'
import { word } from './clause.ts'
import type { Clause } from './clause.ts'
import {
  ANY_OBJECT,
  CURRENCIES,
  NUMBER,
  numberOf,
  objectTypeOf,
  SMALL,
  UNIT_WORDS,
} from './words.ts'

export interface Traits {
  min?: number
  max?: number
  max_length?: number
  scale?: number
  required?: boolean
  filterable?: boolean
  default?: string
  currency?: string
  unit?: string
  /** Kind of the unit. */
  measure?: 'area' | 'length'
  target?: string
}

const N = `(${NUMBER}) ?%?`

/** Takes every trait out of the clause. What stands behind a colon is left for options. */
export function takeTraits(clause: Clause): Traits {
  const traits: Traits = {}
  takeLength(clause, traits)
  takeDecimals(clause, traits)
  takeTarget(clause, traits)
  takeRange(clause, traits)
  takeBounds(clause, traits)
  takeDefault(clause, traits)
  takeRequired(clause, traits)
  takeUnit(clause, traits)
  return traits
}

function takeLength(clause: Clause, traits: Traits): void {
  const chars = '(?:characters?|chars?|letters|zeichen)'
  const match =
    clause.take(
      word(
        `(?:with )?(?:a )?(?:max(?:imum)?\\.?(?: length)?(?: of)?|at most|up to|no more than|limited to|höchstens) (${NUMBER}) ${chars}`,
      ),
    ) ??
    clause.take(word(`(${NUMBER}) ${chars}(?: max(?:imum)?| at most| or (?:less|fewer))?`)) ??
    clause.take(word(`max(?:imum)? length(?: of| is)? (${NUMBER})`))
  if (match) traits.max_length = numberOf(match[1] as string)
}

function takeDecimals(clause: Clause, traits: Traits): void {
  const match = clause.take(
    word(
      `(?:with |to |having )?(${SMALL}) (?:decimal places?|decimals?|digits after the (?:decimal )?point|nachkommastellen?)`,
    ),
  )
  if (match) traits.scale = numberOf(match[1] as string)
}

function takeTarget(clause: Clause, traits: Traits): void {
  const match = clause.take(
    word(
      `(?:a |an )?(?:link|links|reference|references|relation|relations|pointer|linking|pointing) to (?:a |an |the |another )?(${ANY_OBJECT})`,
    ),
  )
  const target = match ? objectTypeOf(match[1] as string) : null
  if (target !== null) traits.target = target
}

function takeRange(clause: Clause, traits: Traits): void {
  const match =
    clause.take(word(`(?:between|zwischen) ${N} (?:and|und) ${N}`)) ??
    clause.take(word(`(?:(?:ranging |range )?from|von) ${N} (?:to|bis|up to|through) ${N}`)) ??
    clause.take(
      new RegExp(
        `(?:(?<![\\p{L}\\p{N}_])range (?:of )?)?(?<![\\p{L}\\p{N}_.])([0-9]+(?:[.,][0-9]+)*) ?%? ?(?:to|bis|-|–|—|\\.\\.\\.?) ?(-?[0-9]+(?:[.,][0-9]+)*) ?%?(?![\\p{L}\\p{N}_])`,
        'iu',
      ),
    )
  if (!match) return
  traits.min = numberOf(match[1] as string)
  traits.max = numberOf(match[2] as string)
}

function takeBounds(clause: Clause, traits: Traits): void {
  const most = clause.take(
    new RegExp(
      `(?:(?<![\\p{L}])(?:max(?:imum)?\\.?(?: value)?(?: of| is)?|at most|up to|no more than|not above|capped at|höchstens)|<=|≤) ?${N}(?![\\p{L}\\p{N}_])`,
      'iu',
    ),
  )
  if (most) traits.max = numberOf(most[1] as string)
  const least = clause.take(
    new RegExp(
      `(?:(?<![\\p{L}])(?:min(?:imum)?\\.?(?: value)?(?: of| is)?|at least|no less than|not below|mindestens)|>=|≥) ?${N}(?![\\p{L}\\p{N}_])`,
      'iu',
    ),
  )
  if (least) traits.min = numberOf(least[1] as string)
  if (
    clause.take(word('(?:must be |is )?(?:non-negative|not negative|never negative|nicht negativ)'))
  )
    traits.min = 0
}

function takeDefault(clause: Clause, traits: Traits): void {
  const match = clause.take(
    /(?<![\p{L}])(?:with (?:a )?)?(?:defaults? (?:value )?(?:to|is|of|=|:)?|defaulting to|by default|standardmäßig|vorbelegt mit) ?["“'‘]?(-?[0-9]+(?:[.,][0-9]+)?|[^,;()"”'’]{1,60}?)["”'’]? ?%?(?=\s*(?:[,;)]|$|(?<![\p{L}])(?:on|for|to|and|required|mandatory|filterable)(?![\p{L}])))/iu,
  )
  if (match?.[1]) traits.default = match[1].trim()
}

function takeRequired(clause: Clause, traits: Traits): void {
  if (
    clause.take(
      word('(?:is |are |must be |and |which is |that is )*(?:not required|not mandatory|optional)'),
    )
  )
    traits.required = false
  else if (
    clause.take(
      word(
        '(?:is |are |must be |and |which is |that is |it is )*(?:required|mandatory|obligatory|compulsory|pflichtfeld|verpflichtend|must be (?:filled(?: in)?|given|set|there)|cannot be empty|never empty|not null)',
      ),
    )
  )
    traits.required = true
  if (
    clause.take(
      word(
        '(?:is |are |must be |should be |and |which is |that is |make it )*(?:filterable|sortable|searchable|indexed|filterbar)(?: and (?:filterable|sortable|searchable))?',
      ),
    )
  )
    traits.filterable = true
}

function takeUnit(clause: Clause, traits: Traits): void {
  for (const [kind, unit, words] of UNIT_WORDS) {
    const match =
      clause.take(
        new RegExp(`(?<![\\p{L}])(?:measured |given )?in (?:${words})(?![\\p{L}\\p{N}])`, 'iu'),
      ) ?? clause.take(new RegExp(`\\((?:in )?(?:${words})\\)`, 'iu'))
    if (!match) continue
    traits.unit = unit
    traits.measure = kind
    break
  }
  for (const [code, words] of CURRENCIES) {
    const match =
      clause.take(
        new RegExp(`(?<![\\p{L}])(?:given |paid )?in (?:${words})(?![\\p{L}\\p{N}])`, 'iu'),
      ) ??
      clause.take(new RegExp(`\\((?:in )?(?:${words})\\)`, 'iu')) ??
      clause.take(
        new RegExp(`(?<![\\p{L}\\p{N}])(?:${words})(?= (?:amount|money|field|value|betrag))`, 'iu'),
      )
    if (!match) continue
    traits.currency = code
    break
  }
}

/** Takes a list of options: behind a colon, in brackets, or behind words that announce one. */
export function takeOptions(clause: Clause): OptionInput[] | null {
  const announced = clause.find(
    /(?<![\p{L}])(?:(?:with|having) )?(?:the )?(?:(?:possible |allowed )?(?:options|choices|values)(?: are| being)?|one of|any of|some of|either|mit den optionen|optionen) ?:? ?/iu,
  )
  const colon = clause.find(/:\s*/u)
  const bracket = clause.find(/\(([^()]*[,/|][^()]*)\)/u)
  const at = announced ?? (bracket && (!colon || bracket.index < colon.index) ? bracket : colon)
  if (!at) return null
  const from = at.index
  const inside = at === bracket
  const to = inside ? from + at[0].length : clause.rest.length
  const list = inside ? (at[1] as string) : clause.rest.slice(from + at[0].length)
  const options = optionsIn(list)
  if (options.length === 0) return null
  clause.cut(from, to)
  return options
}

/** Labels of a list: divided by commas, slashes, bars, semicolons, `and`, `or`. */
export function optionsIn(list: string): OptionInput[] {
  const quoted: string[] = []
  const labels = list
    .replaceAll(
      /["“]([^"“”]{1,100})["”]/gu,
      (_, label: string) => `\uE001${quoted.push(label) - 1}`,
    )
    .replaceAll(/\uE000+/g, ',')
    .split(/\s*[,;|/]\s*(?:(?:and|or|und|oder)\s+)?|\s+(?:and|or|und|oder)\s+/iu)
    .map((label) => label.replaceAll(/^["“”'‘’\s]+|["“”'‘’\s.!?()]+$/gu, ''))
    .map((label) => label.replace(/^\uE001([0-9]+)$/, (_, i: string) => quoted[Number(i)] ?? ''))
    .filter((label) => label !== '')
  return [...new Set(labels)].map((label) => ({ label }))
}

/** The default of a field as its type takes it. @returns undefined for a word that is no value of it. */
export function defaultOf(
  text: string,
  type: ExtensionType,
  options: readonly OptionInput[],
  nameOf: (label: string) => string,
): unknown {
  switch (type) {
    case 'boolean':
      if (/^(?:yes|true|ja|on)$/i.test(text)) return true
      return /^(?:no|false|nein|off)$/i.test(text) ? false : undefined
    case 'percent':
    case 'integer':
    case 'decimal': {
      const value = numberOf(text.replace(/ ?%$/, ''))
      return Number.isNaN(value) ? undefined : value
    }
    case 'select': {
      const option = options.find(({ label }) => nameOf(label) === nameOf(text))
      return option && nameOf(option.label)
    }
    case 'multi_select': {
      const option = options.find(({ label }) => nameOf(label) === nameOf(text))
      return option && [nameOf(option.label)]
    }
    case 'text':
    case 'long_text':
    case 'date':
    case 'datetime':
    case 'url':
    case 'email':
    case 'phone':
      return text
    case 'money':
    case 'relation':
    case 'document':
    case 'address':
    case 'area':
    case 'length':
    case 'formula':
      return undefined
  }
}
