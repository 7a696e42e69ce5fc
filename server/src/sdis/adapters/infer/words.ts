/** Names of columns as words that can be compared: split, spelled out, and put into the terms of the model. */

/** What the words of the trade stand for; each side is in lower case, the right one in the words of the model. */
const MEANINGS: Readonly<Record<string, string>> = {
  '#': 'number',
  '%': 'percent',
  no: 'number',
  nr: 'number',
  num: 'number',
  nbr: 'number',
  nummer: 'number',
  id: 'number',
  identifier: 'number',
  key: 'number',
  ref: 'number',
  reference: 'number',
  pct: 'percent',
  prozent: 'percent',
  amt: 'amount',
  addr: 'address',
  adresse: 'address',
  strasse: 'street',
  straße: 'street',
  ort: 'city',
  stadt: 'city',
  town: 'city',
  municipality: 'city',
  plz: 'postal code',
  zip: 'postal code',
  zipcode: 'postal code',
  postcode: 'postal code',
  bundesland: 'state',
  province: 'state',
  land: 'country',
  bldg: 'building',
  gebäude: 'building',
  gebaeude: 'building',
  prop: 'property',
  objekt: 'property',
  liegenschaft: 'property',
  lessee: 'tenant',
  occupant: 'tenant',
  resident: 'tenant',
  renter: 'tenant',
  mieter: 'tenant',
  lessor: 'landlord',
  vermieter: 'landlord',
  mietvertrag: 'lease',
  vertrag: 'lease',
  contract: 'lease',
  agreement: 'lease',
  commence: 'commencement',
  commenced: 'commencement',
  start: 'commencement',
  begin: 'commencement',
  beginning: 'commencement',
  beginn: 'commencement',
  mietbeginn: 'lease commencement',
  effective: 'commencement',
  end: 'expiration',
  ende: 'expiration',
  mietende: 'lease expiration',
  expire: 'expiration',
  exp: 'expiration',
  expiry: 'expiration',
  expiring: 'expiration',
  thru: 'expiration',
  suite: 'unit',
  apt: 'unit',
  apartment: 'unit',
  space: 'unit',
  einheit: 'unit',
  level: 'floor',
  story: 'floor',
  storie: 'floor',
  storey: 'floor',
  etage: 'floor',
  geschoss: 'floor',
  baujahr: 'year built',
  constructed: 'built',
  construction: 'built',
  yr: 'year',
  jahr: 'year',
  yearly: 'annual',
  annually: 'annual',
  jährlich: 'annual',
  mo: 'monthly',
  mth: 'monthly',
  mthly: 'monthly',
  month: 'monthly',
  monatlich: 'monthly',
  miete: 'rent',
  rental: 'rent',
  fläche: 'area',
  flaeche: 'area',
  mietfläche: 'rentable area',
  gfa: 'gross area',
  gba: 'gross area',
  gsf: 'gross area',
  bgf: 'gross area',
  gla: 'rentable area',
  nra: 'rentable area',
  nla: 'rentable area',
  rba: 'rentable area',
  rsf: 'rentable area',
  leasable: 'rentable',
  lettable: 'rentable',
  usf: 'usable area',
  nua: 'usable area',
  footage: 'area',
  size: 'area',
  sqft: 'area',
  sqm: 'area',
  sf: 'area',
  psf: 'rent area',
  telephone: 'phone',
  tel: 'phone',
  mobile: 'phone',
  mail: 'email',
  lat: 'latitude',
  lng: 'longitude',
  lon: 'longitude',
  long: 'longitude',
  desc: 'description',
  beschreibung: 'description',
  mtm: 'monthly to monthly',
  firma: 'company',
  firm: 'company',
  supplier: 'vendor',
  lieferant: 'vendor',
  ghge: 'ghg emission',
  greenhouse: 'ghg',
  gas: 'gas',
  co2: 'ghg',
  co2e: 'ghg',
  carbon: 'ghg',
  stat: 'status',
  numberof: 'count',
}

/** Words of a unit of measure, by what they say. */
const UNITS: readonly (readonly [RegExp, string])[] = [
  [/\bsq(?:uare)?[\s.]*f(?:ee|oo)?t\b\.?|\bsqft\b|\bft2\b|\bft²|\bsf\b/, 'sqft'],
  [/\bsq(?:uare)?[\s.]*m(?:et(?:er|re)s?)?\b\.?|\bsqm\b|\bm2\b|\bm²|\bqm\b/, 'sqm'],
  [/\bkbtu\b/, 'kbtu'],
  [/\bkwh\b/, 'kwh'],
  [/\btherms?\b/, 'therms'],
  [/\busd\b|\$/, 'USD'],
  [/\beur\b|€/, 'EUR'],
  [/\bgbp\b|£/, 'GBP'],
]

/** What a name says beside its words: `SiteEUI(kBtu/sf)` is in kbtu and sqft. */
export function unitsOf(name: string): string[] {
  const text = `${name} ${spaced(name)}`.toLowerCase()
  return UNITS.flatMap(([pattern, unit]) => (pattern.test(text) ? [unit] : []))
}

/** Words that are there for grammar. */
const STOP = new Set(['of', 'the', 'and', 'a', 'in', 's', 'for', 'per', 'by', 'to'])

const known = new Set<string>()

/** A unit in brackets, which `unitsOf` tells. */
const BRACKETED =
  /\((?:[^()]*\/)?\s*(?:kbtu|kwh|therms?|sf|sq\.?\s?ft\.?|sqm|m2|m²|usd|eur|\$|€)[^()]*\)/gi

/** The words of a name in the terms of the model: `BldgGFATotal` is building, gross, area, total. */
export function wordsOf(name: string): string[] {
  const text = spaced(name.replaceAll(BRACKETED, ' '))
    .toLowerCase()
    .replaceAll(/\bsq(?:uare)?[\s.]*f(?:ee|oo)?t\b\.?/g, ' sqft ')
    .replaceAll(/\bsq(?:uare)?[\s.]*m(?:et(?:er|re)s?)?\b\.?/g, ' sqm ')
    .replaceAll(/\bm(?:2|²)(?!\w)/g, ' sqm ')
    .replaceAll(/(?:\bn(?:o|um|umber)\.?|#)\s*of\b/g, ' count ')
  const parts = text.split(/[^\p{L}\p{N}#%]+/u).filter((part) => part !== '')
  const words = parts.flatMap((part) => segments(part)).flatMap((word) => meaning(word))
  return [...new Set(words)].filter((word) => !STOP.has(word))
}

/** Words that names are looked for in; what is written without blanks is cut along them. */
export function learn(names: Iterable<string>): void {
  for (const name of names)
    for (const word of spaced(name)
      .toLowerCase()
      .split(/[^\p{L}]+/u))
      if (word.length > 2) known.add(word)
}

function spaced(name: string): string {
  return name
    .replaceAll(/(\p{Ll}|\d)(\p{Lu})/gu, '$1 $2')
    .replaceAll(/(\p{Lu}+)(\p{Lu}\p{Ll})/gu, '$1 $2')
    .replaceAll(/(\p{L}{3,})(\d)/gu, '$1 $2')
}

/** `energystar` is energy and star: a part is cut when all of it is words that are known. */
function segments(part: string): string[] {
  if (part.length < 6 || known.has(part) || Object.hasOwn(MEANINGS, part)) return [part]
  for (let at = part.length - 2; at >= 3; at--) {
    const head = part.slice(0, at)
    if (!known.has(head) && !Object.hasOwn(MEANINGS, head)) continue
    const tail = segments(part.slice(at))
    if (tail.every((word) => known.has(word) || Object.hasOwn(MEANINGS, word) || STOP.has(word)))
      return [head, ...tail]
  }
  return [part]
}

function meaning(word: string): string[] {
  if (Object.hasOwn(MEANINGS, word)) return (MEANINGS[word] as string).split(' ')
  const one = singular(word)
  return Object.hasOwn(MEANINGS, one) ? (MEANINGS[one] as string).split(' ') : [one]
}

function singular(word: string): string {
  return word.length > 3 && /[^suia]s$/.test(word) ? word.slice(0, -1) : word
}

/** How much a word says: what most columns of a table have says little. */
const WEIGHTS: Readonly<Record<string, number>> = {
  total: 0.25,
  current: 0.25,
  asset: 0.7,
  property: 0.4,
  building: 0.5,
  lease: 0.4,
  date: 0.4,
  name: 0.7,
  number: 0.7,
  code: 0.7,
  type: 0.7,
}

const weight = (word: string): number => WEIGHTS[word] ?? 1

const sum = (words: Iterable<string>): number => {
  let total = 0
  for (const word of words) total += weight(word)
  return total
}

/** How alike two names are, 0 to 1: twice what they share over all that they say, in weighted words. */
export function similarity(a: readonly string[], b: readonly string[]): number {
  if (a.length === 0 || b.length === 0) return 0
  const left = new Set(b)
  let shared = 0
  for (const word of a) {
    const [same, share] = left.has(word) ? [word, 1] : nearest(word, left)
    if (same === null) continue
    left.delete(same)
    shared += (share * (weight(word) + weight(same))) / 2
  }
  return (2 * shared) / (sum(a) + sum(b))
}

/** The word that another is short for, or differs from by one letter. */
function nearest(word: string, others: Iterable<string>): [string | null, number] {
  for (const other of others) {
    const [short, long] = word.length < other.length ? [word, other] : [other, word]
    if (short.length >= 4 && long.startsWith(short)) return [other, 0.85]
    if (short.length >= 5 && oneEdit(short, long)) return [other, 0.8]
  }
  return [null, 0]
}

function oneEdit(short: string, long: string): boolean {
  if (long.length - short.length > 1) return false
  let at = 0
  while (at < short.length && short[at] === long[at]) at++
  const skip = short.length === long.length ? 1 : 0
  return short.slice(at + skip) === long.slice(at + 1)
}
