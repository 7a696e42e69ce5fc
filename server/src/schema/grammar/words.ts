/** The words that requests for fields are made of. All patterns are linear: no nested repetition. */
import type { ExtensionType } from '../../kit/extension.ts'

/** Types of objects by what people call them; longer words first. */
export const OBJECT_TYPES: readonly (readonly [type: string, words: string])[] = [
  ['work_order', 'work[ _-]?orders?|tickets?|maintenance requests?|arbeitsaufträge|arbeitsauftrag'],
  ['lease', 'leases?|tenancies|tenancy|rental contracts?|mietverträgen?|mietvertrag'],
  ['building', 'buildings?|gebäuden?'],
  ['property', 'propert(?:y|ies)|sites?|assets?|liegenschaft(?:en)?'],
  ['floor', 'floors?|storeys?|stories|etagen?'],
  ['space', 'spaces?|suites?|units?|mietflächen?|mietfläche'],
  ['party', 'part(?:y|ies)|tenants?|vendors?|landlords?|companies|company|mietern?|mieter'],
  ['contact', 'contacts?|contact persons?|ansprechpartnern?'],
  ['document', 'documents?|files?|dokumenten?|dokumente'],
]

export const ANY_OBJECT = OBJECT_TYPES.map(([, words]) => words).join('|')

/** The type that a word stands for. */
export function objectTypeOf(word: string): string | null {
  const found = OBJECT_TYPES.find(([, words]) => new RegExp(`^(?:${words})$`, 'iu').test(word))
  return found?.[0] ?? null
}

/** Types of values by what people call them; what contains another comes before it. */
export const VALUE_TYPES: readonly (readonly [type: ExtensionType, words: string])[] = [
  [
    'document',
    '(?:document|file) (?:reference|link)|(?:reference|link) to (?:a |the )?(?:document|file)',
  ],
  ['datetime', 'date[ -]?time|date and time|timestamp|zeitpunkt'],
  [
    'multi_select',
    'multi[ -]?select|multiple[ -]select|multiple[ -]choice|multi[ -]?choice|multi[ -]?value|mehrfachauswahl',
  ],
  [
    'select',
    'single[ -]?select|select|drop[ -]?down|pick[ -]?list|single[ -]choice|choice|enum|radio|auswahlliste|auswahl',
  ],
  [
    'boolean',
    '(?:yes ?[/-] ?no|yes or no)(?: flag)?|true ?/ ?false|true or false|boolean|bool|check[ -]?box|tick[ -]?box|flag|toggle|ja ?/ ?nein',
  ],
  ['percent', 'percentages?|percent|per cent|pct|prozentwert|prozentsatz|prozent|%'],
  [
    'long_text',
    'long[ -]text|multi[ -]?line text|multi[ -]?line|text ?area|paragraph|memo|langtext',
  ],
  ['text', 'free[ -]?text|short[ -]text|text|string|freitext'],
  ['integer', 'whole[ -]numbers?|integers?|int|counter|ganzzahl'],
  ['money', 'money|monetary amount|monetary|currency amount|currency|amount|geldbetrag|betrag'],
  ['email', 'e-?mail address|e-?mail'],
  ['phone', 'phone number|telephone number|phone|telephone|telefonnummer|telefon'],
  ['decimal', 'decimal number|decimals?|numeric|numbers?|float|zahl|dezimalzahl'],
  ['date', 'dates?|datum'],
  ['url', 'urls?|web address|web link|hyperlink|weblink'],
  ['address', 'postal address|street address|address|adresse'],
  ['area', 'area'],
  ['length', 'length'],
]

/** Words that speak of a field as such. */
export const FIELD_WORD = 'fields?|columns?|attributes?|values?|feld(?:er|es)?|spalten?|attribut'

/** Types whose last word may end a name as well: `handover date`, `billing email`. */
export const NAMING: readonly ExtensionType[] = [
  'date',
  'email',
  'phone',
  'url',
  'address',
  'money',
]

export const CURRENCIES: readonly (readonly [code: string, words: string])[] = [
  ['EUR', 'eur|euros?|€'],
  ['USD', 'usd|us dollars?|dollars?|us\\$|\\$'],
  ['GBP', 'gbp|pounds?|sterling|£'],
  ['CHF', 'chf|swiss francs?|francs?|franken'],
  ['SEK', 'sek|swedish kron(?:a|or)'],
  ['PLN', 'pln|z[łl]oty'],
]

export const UNIT_WORDS: readonly (readonly [
  kind: 'area' | 'length',
  unit: string,
  words: string,
])[] = [
  ['area', 'sqm', 'sqm|m2|m²|sq\\.? ?m|square met(?:er|re)s?|quadratmetern?|qm'],
  ['area', 'sqft', 'sqft|ft2|ft²|sq\\.? ?ft|square f(?:oo|ee)t'],
  ['length', 'cm', 'cm|centimet(?:er|re)s?|zentimetern?'],
  ['length', 'km', 'km|kilomet(?:er|re)s?|kilometern?'],
  ['length', 'm', 'm|met(?:er|re)s?|metern?'],
  ['length', 'ft', 'ft|f(?:oo|ee)t'],
  ['length', 'mi', 'mi|miles?'],
]

const NUMBER_WORDS: Readonly<Record<string, number>> = {
  no: 0,
  zero: 0,
  one: 1,
  two: 2,
  three: 3,
  four: 4,
  five: 5,
  six: 6,
}

export const NUMBER = '-?[0-9]+(?:[.,][0-9]+)*'
export const SMALL = '[0-9]|no|zero|one|two|three|four|five|six'

/** `1,000` and `1.5`, and `0,5` as it is written in German; NaN for what is no number. */
export function numberOf(text: string): number {
  const word = NUMBER_WORDS[text.toLowerCase()]
  if (word !== undefined) return word
  const plain = text.replace(/[.,]+$/, '')
  if (/^-?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?$/.test(plain)) return Number(plain.replaceAll(',', ''))
  if (/^-?[0-9]{1,3}(\.[0-9]{3})+,[0-9]+$/.test(plain))
    return Number(plain.replaceAll('.', '').replace(',', '.'))
  return Number(plain.replace(',', '.'))
}
