/**
 * How likely two records are one, by the model of Fellegi and Sunter (A Theory for Record Linkage, 1969): each comparison
 * adds the logarithm of how much more often its outcome is seen between records of one thing (m) than between records of
 * two (u); their sum, with the odds before anything is compared, is a probability.
 */
import type { Row } from '../kit/resource.ts'

export interface Comparison {
  comparison: string
  level: string
  left: unknown
  right: unknown
  /** log2(m/u) */
  weight: number
}

export interface Likeness {
  /** Probability from 0 to 1 that both are one. */
  score: number
  comparisons: Comparison[]
}

/** Outcomes of a comparison by how often they occur between one (m) and two (u) things. */
type Levels = Readonly<Record<string, readonly [m: number, u: number]>>

interface Rule {
  comparison: string
  levels: Levels
  /** Outcome with the two values; null where one of them is not known, which says nothing. */
  of: (a: Row, b: Row) => { level: string; left: unknown; right: unknown } | null
}

/** Two that are called differently are never one beyond doubt, whatever else they share. */
const UNNAMED_MAX = 0.97

/** Odds, as their log2, that two records that share a block are one: about one in twenty-three. */
const PRIOR = -4.5

const NAME: Levels = {
  exact: [0.6, 0.002],
  close: [0.3, 0.004],
  similar: [0.08, 0.02],
  different: [0.02, 0.974],
}

const MONTH_MS = 31 * 86_400_000

const EXACT_OR_NOT = (m: number, u: number): Levels => ({
  exact: [m, u],
  different: [1 - m, 1 - u],
})

/** Words that say what kind of company it is, not which one, each in its shortest spelling. */
const LEGAL_FORMS: Readonly<Record<string, string>> = {
  ...Object.fromEntries(
    'inc llc pllc llp lllp lp ltd co corp plc pc gmbh ag kg kgaa ohg se sa sarl bv nv spa srl oy ab aps'
      .split(' ')
      .map((form) => [form, form]),
  ),
  incorporated: 'inc',
  limited: 'ltd',
  company: 'co',
  corporation: 'corp',
}

/** Words that are written or left out. */
const FILLERS = new Set(['the', 'and', 'und', 'of', 'et', 'de'])

/** Words by which sister companies and buildings are told apart: Fund II, Tower A. */
const MARK = /^([0-9]+|[ivx]+|[a-z])$/

const STREET_WORDS: Readonly<Record<string, string>> = {
  st: 'street',
  str: 'street',
  ave: 'avenue',
  av: 'avenue',
  blvd: 'boulevard',
  rd: 'road',
  dr: 'drive',
  ln: 'lane',
  pl: 'place',
  sq: 'square',
  pkwy: 'parkway',
  hwy: 'highway',
  n: 'north',
  s: 'south',
  e: 'east',
  w: 'west',
}

/** Words in their plainest form: no accents, no punctuation, abbreviations of one letter joined. */
export function wordsOf(text: string): string[] {
  return text
    .normalize('NFKD')
    .replaceAll(/\p{M}/gu, '')
    .toLowerCase()
    .replaceAll(/(?<=\b\p{L})\.(?=\p{L}\b)/gu, '')
    .replaceAll('&', ' and ')
    .split(/[^\p{L}\p{N}]+/u)
    .filter((word) => word !== '')
}

/** What names a company apart from its legal form; all its words when there is nothing else. */
export function nameWords(name: string): string[] {
  const words = wordsOf(name)
  const telling = words.filter((word) => !(word in LEGAL_FORMS) && !FILLERS.has(word))
  return telling.length > 0 ? telling : words
}

function streetWords(line: string): string[] {
  return wordsOf(line).map((word) => STREET_WORDS[word] ?? word)
}

/** Share of trigrams that two texts have in common, from 0 to 1, as pg_trgm counts them: words padded, in any order. */
export function trigramSimilarity(a: readonly string[], b: readonly string[]): number {
  const [left, right] = [trigrams(a), trigrams(b)]
  let common = 0
  for (const gram of left) if (right.has(gram)) common++
  const all = left.size + right.size - common
  return all === 0 ? 0 : common / all
}

function trigrams(words: readonly string[]): Set<string> {
  const grams = new Set<string>()
  for (const word of words) {
    const padded = `  ${word} `
    for (let i = 0; i + 3 <= padded.length; i++) grams.add(padded.slice(i, i + 3))
  }
  return grams
}

function nameLevel(a: readonly string[], b: readonly string[]): string {
  const marks = (words: readonly string[]): string =>
    words
      .filter((word) => MARK.test(word))
      .sort()
      .join(' ')
  const [left, right] = [marks(a), marks(b)]
  if (left !== right) return left && right ? 'different' : 'similar'
  const likeness = trigramSimilarity(a, b)
  // The same trigrams may still stand for other words, as in a name and its double.
  if (likeness === 1 && a.length === b.length) return 'exact'
  if (likeness >= 0.7) return 'close'
  return likeness >= 0.45 ? 'similar' : 'different'
}

function namesOf(row: Row): string[] {
  return ['legal_name', 'display_name', 'dba_name', 'name']
    .map((field) => row[field])
    .filter((name): name is string => typeof name === 'string' && name !== '')
}

const LEVELS = ['exact', 'close', 'similar', 'different']

/** The likest pair of the names of both. */
const names: Rule = {
  comparison: 'name',
  levels: NAME,
  of: (a, b) => {
    const pairs = namesOf(a).flatMap((left) =>
      namesOf(b).map((right) => {
        const level = nameLevel(nameWords(left), nameWords(right))
        return { level, left, right }
      }),
    )
    pairs.sort((x, y) => LEVELS.indexOf(x.level) - LEVELS.indexOf(y.level))
    return pairs[0] ?? null
  },
}

/** An LLC and an Inc of one name are two companies, though one of them may be a slip. */
const legalForm: Rule = {
  comparison: 'legal_form',
  levels: { exact: [0.93, 0.6], different: [0.07, 0.4] },
  of: (a, b) => {
    const form = (row: Row): string =>
      wordsOf(String(row['legal_name'] ?? ''))
        .flatMap((word) => LEGAL_FORMS[word] ?? [])
        .join(' ')
    const [left, right] = [form(a), form(b)]
    if (!left || !right) return null
    return { level: left === right ? 'exact' : 'different', left, right }
  },
}

/** One address, or the first of several. */
function addressOf(row: Row): Row {
  const list = (row['addresses'] ?? [row['address']]) as (Row | null)[]
  return list[0] ?? {}
}

/**
 * How near two addresses are: one comparison, because street, postal code and city say the same thing three times over.
 * @param shared how often two things have the same street and number: tenants share a house, properties do not.
 */
function addressRule(shared: number): Rule {
  return {
    comparison: 'address',
    levels: {
      exact: [0.7, shared],
      close: [0.1, shared],
      postal_code: [0.1, 0.05],
      city: [0.05, 0.1],
      other_street: [0.1, 0.3],
      different: [0.05, 0.7],
    },
    of: (a, b) => {
      const [left, right] = [addressOf(a), addressOf(b)]
      const level = addressLevel(left, right)
      if (level === null) return null
      return { level, left: addressText(left), right: addressText(right) }
    },
  }
}

function addressText(address: Row): string {
  return ['line1', 'city', 'postal_code'].flatMap((part) => address[part] ?? []).join(', ')
}

/** Null where nothing of both is known. */
function addressLevel(a: Row, b: Row): string | null {
  const same = (part: string): boolean | null => {
    const [left, right] = [a[part], b[part]].map((text) =>
      typeof text === 'string' ? wordsOf(text).join(' ') : '',
    )
    return left && right ? left === right : null
  }
  const [code, city] = [same('postal_code'), same('city')]
  if (code === null && city === null) return null
  if (code === false || (code === null && city === false)) return 'different'
  const street =
    typeof a['line1'] === 'string' && typeof b['line1'] === 'string'
      ? streetLevel(streetWords(a['line1']), streetWords(b['line1']))
      : null
  if (street === 'different') return 'other_street'
  return street ?? (code ? 'postal_code' : 'city')
}

/** The number of the house tells more than the street. */
function streetLevel(a: readonly string[], b: readonly string[]): string {
  const number = (words: readonly string[]): string | undefined =>
    words.find((word) => /^[0-9]/.test(word))
  const [left, right] = [number(a), number(b)]
  if (left !== undefined && right !== undefined && left !== right) return 'different'
  const likeness = trigramSimilarity(a, b)
  if (likeness === 1) return 'exact'
  return likeness >= 0.6 ? 'close' : 'different'
}

function equal(field: string, m: number, u: number): Rule {
  return {
    comparison: field,
    levels: EXACT_OR_NOT(m, u),
    of: (a, b) => {
      const [left, right] = [a[field], b[field]]
      if (left === null || right === null || left === undefined || right === undefined) return null
      const plain = (value: unknown): string => wordsOf(String(value)).join('')
      return { level: plain(left) === plain(right) ? 'exact' : 'different', left, right }
    },
  }
}

/** Numbers that are measured: the same to half a percent, or to five. */
function measured(field: string): Rule {
  return {
    comparison: field,
    levels: { exact: [0.75, 0.01], close: [0.15, 0.04], different: [0.1, 0.95] },
    of: (a, b) => {
      const [left, right] = [Number(a[field]), Number(b[field])]
      if (!(left > 0) || !(right > 0)) return null
      const apart = Math.abs(left - right) / Math.max(left, right)
      const level = apart <= 0.005 ? 'exact' : apart <= 0.05 ? 'close' : 'different'
      return { level, left: a[field], right: b[field] }
    },
  }
}

const TERM_FIELDS = ['commencement_date', 'expiration_date'] as const

/** Begin and end of a lease, compared together: terms of the same length make them alike by themselves. */
const term: Rule = {
  comparison: 'term',
  levels: {
    exact: [0.7, 0.005],
    close: [0.15, 0.02],
    similar: [0.1, 0.05],
    different: [0.05, 0.925],
  },
  of: (a, b) => {
    const apart = TERM_FIELDS.map((field) =>
      Math.abs(Date.parse(String(a[field])) - Date.parse(String(b[field]))),
    )
    if (apart.some(Number.isNaN)) return null
    const within = (ms: number): number => apart.filter((one) => one <= ms).length
    const level =
      within(0) === 2
        ? 'exact'
        : within(MONTH_MS) === 2
          ? 'close'
          : within(0) === 1
            ? 'similar'
            : 'different'
    const text = (row: Row): string => TERM_FIELDS.map((field) => row[field]).join(' to ')
    return { level, left: text(a), right: text(b) }
  },
}

/** What is compared, by type. */
const RULES: Readonly<Record<string, readonly Rule[]>> = {
  party: [
    names,
    legalForm,
    equal('tax_id_last4', 0.95, 0.0005),
    equal('lei', 0.99, 0.00001),
    equal('registration_number', 0.95, 0.00001),
    equal('kind', 0.98, 0.7),
    addressRule(0.02),
  ],
  property: [names, addressRule(0.002), measured('land_area')],
  building: [names, addressRule(0.01), measured('rentable_area'), equal('year_built', 0.9, 0.02)],
  lease: [
    equal('tenant_party_id', 0.95, 0.02),
    term,
    measured('rentable_area'),
    equal('lease_number', 0.9, 0.0001),
  ],
}

/** Types that are compared by likeness. */
export const COMPARED_TYPES: readonly string[] = Object.keys(RULES)

/**
 * Whether both are worth comparing: leases of one tenant in one property; all else in one country, and with the same postal code or first word of a name.
 */
export function inOneBlock(type: string, a: Row, b: Row): boolean {
  if (type === 'lease')
    return a['property_id'] === b['property_id'] && a['tenant_party_id'] === b['tenant_party_id']
  const [left, right] = [addressOf(a), addressOf(b)]
  const known = (part: string): boolean => Boolean(left[part] && right[part])
  if (known('country') && left['country'] !== right['country']) return false
  if (known('postal_code') && left['postal_code'] === right['postal_code']) return true
  const first = new Set(namesOf(a).map((name) => nameWords(name)[0]))
  return namesOf(b).some((name) => first.has(nameWords(name)[0]))
}

/** Compares two records of a type; both as clients see them. */
export function likeness(type: string, a: Row, b: Row): Likeness {
  const comparisons = (RULES[type] ?? []).flatMap(({ comparison, levels, of }) => {
    const outcome = of(a, b)
    if (!outcome) return []
    const [m, u] = levels[outcome.level] as readonly [number, number]
    const weight = Math.round(Math.log2(m / u) * 100) / 100
    return [{ comparison, ...outcome, weight }]
  })
  const sum = comparisons.reduce((total, { weight }) => total + weight, PRIOR)
  // Rounded down: what is shown as 0.98 is at least that.
  const score = Math.floor((10_000 * 2 ** sum) / (1 + 2 ** sum)) / 10_000
  const name = comparisons.find(({ comparison }) => comparison === 'name')
  const named = !name || name.level === 'exact' || name.level === 'close'
  return { score: named ? score : Math.min(score, UNNAMED_MAX), comparisons }
}
