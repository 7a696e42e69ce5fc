/** Values of the console: texts as the database sends them, made JSON without losing a digit. */

/** Types by their number in every PostgreSQL. */
const TYPES: Readonly<Record<number, string>> = {
  16: 'boolean',
  20: 'bigint',
  21: 'smallint',
  23: 'integer',
  25: 'text',
  114: 'json',
  700: 'real',
  701: 'double precision',
  1000: 'boolean[]',
  1005: 'smallint[]',
  1007: 'integer[]',
  1009: 'text[]',
  1016: 'bigint[]',
  1042: 'character',
  1043: 'character varying',
  1082: 'date',
  1083: 'time',
  1114: 'timestamp',
  1184: 'timestamptz',
  1186: 'interval',
  1231: 'numeric[]',
  1266: 'timetz',
  1700: 'numeric',
  2249: 'record',
  2950: 'uuid',
  3802: 'jsonb',
}

export function typeOf(oid: number): string {
  return TYPES[oid] ?? 'other'
}

/** Whole and binary numbers are numbers where they fit, numeric is text, and JSON is itself. */
export function valueOf(oid: number, text: string | null): unknown {
  if (text === null) return null
  switch (typeOf(oid)) {
    case 'boolean':
      return text === 't'
    case 'bigint':
    case 'smallint':
    case 'integer':
      return Number.isSafeInteger(Number(text)) ? Number(text) : text
    case 'real':
    case 'double precision':
      return Number.isFinite(Number(text)) ? Number(text) : text
    case 'json':
    case 'jsonb':
      return jsonOf(text)
    case 'timestamptz':
      return text.replace(' ', 'T').replace(/\+00$/, 'Z')
    default:
      return text
  }
}

/** A part of JavaScript that has no types yet. */
interface ExactJson {
  parse: (
    text: string,
    revive: (key: string, value: unknown, at: { source: string }) => unknown,
  ) => unknown
  rawJSON: (text: string) => unknown
}
const exact = JSON as unknown as ExactJson

/** Texts with numbers in them that a double may not hold: many digits, or an exponent. */
const LONG_NUMBER = /\d[\d.]{15}|\de/i

/** Numbers that a double does not hold as they are stay the text that the database sent. */
function jsonOf(text: string): unknown {
  if (!LONG_NUMBER.test(text)) return JSON.parse(text)
  return exact.parse(text, (_, value, { source }) =>
    typeof value === 'number' && String(value) !== source ? exact.rawJSON(source) : value,
  )
}
