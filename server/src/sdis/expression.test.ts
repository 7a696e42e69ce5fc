/** Expressions of adapters: what they give, and what they refuse. */
import * as fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { celOf } from './adapter-cel.ts'
import { Budget } from './cel-budget.ts'
import { ExpressionFault } from './cel-functions.ts'
import { compileExpression, joinOf } from './expression.ts'
import type { Surroundings } from './expression.ts'
import type { Cell } from './readers/types.ts'
import { numberReader } from './values.ts'

const US = {
  decimal: '.',
  thousands: ',',
  date: ['yyyy-MM-dd', 'M/d/yyyy'],
  timezone: null,
  nulls: ['', 'n/a'],
}
const GERMAN = { ...US, decimal: ',', thousands: '.', date: ['dd.MM.yyyy'] }
const LOOKUPS = { uses: { Hotel: 'hospitality', Office: 'office' } }

const CELLS: Record<string, Cell> = {
  State: 'CA',
  'Lease Number': 'L-1',
  "It's": 'odd',
  n: 5,
  rent: '1,200.50',
  blank: null,
  void: 'n/a',
  uses: 'Hotel, Parking ,Restaurant',
  from: '1/31/2026',
  sqft: 1_000,
  title: 'Rent Roll as of 05/31/2025',
  list: ['a', 'b'],
  'address.city': 'Berlin',
  units: [{ no: 1 }, { no: 2 }],
}

function surroundings(locale = US, budget = new Budget()): Surroundings {
  const columns = Object.keys(CELLS)
  return {
    cel: celOf({ locale, lookups: LOOKUPS }, budget),
    position: (column) => {
      const at = columns.indexOf(column)
      return at < 0 ? undefined : at
    },
    nulls: new Set(locale.nulls),
    meta: { as_of: '2025-05-31' },
    number: numberReader(locale),
  }
}

const value = (source: string, given = surroundings()): Cell =>
  compileExpression(source, given).evaluate(Object.values(CELLS))

function fault(source: string, given = surroundings()): string {
  try {
    value(source, given)
    return 'none'
  } catch (error) {
    if (error instanceof ExpressionFault) return error.code
    throw error
  }
}

describe('a join of columns and texts', () => {
  test.each<[string, Cell]>([
    ['row.State', 'CA'],
    ['row["Lease Number"]', 'L-1'],
    [`row['It\\'s']`, 'odd'],
    ['row.n', 5],
    ['row.address.city', 'Berlin'],
    [`'US-' + row.State`, 'US-CA'],
    [`  row.State+"-"+row.n `, 'CA-5'],
    [`'fixed'`, 'fixed'],
    [`"a \\"b\\""`, 'a "b"'],
    ['row.Missing', null],
    [`'x' + row.Missing`, null],
    [`row.State + row.Missing`, 'CA'],
  ])('%s', (source, expected) => {
    expect(joinOf(source)).not.toBeNull()
    expect(value(source)).toBe(expected)
  })

  test('says which columns it reads', () => {
    const { columns } = compileExpression(`'a' + row.X + row["Y Z"]`, surroundings())
    expect(columns).toEqual(['X', 'Y Z'])
  })

  test('gives what the whole language gives', () => {
    const text = fc.stringMatching(/^[a-zA-Z 0-9-]{1,8}$/)
    const part = fc.oneof(
      fc.constantFrom('row.State', 'row["Lease Number"]', 'row.n'),
      text.map((word) => `'${word}'`),
    )
    const parts = fc.array(part, { minLength: 2, maxLength: 6 })
    fc.assert(
      fc.property(parts, (joined) => {
        const source = `'' + ${joined.join(' + ')}`
        expect(value(`(${source})`)).toBe(value(source))
      }),
    )
  })
})

describe('an expression', () => {
  test.each<[string, Cell]>([
    ['money(row.rent) * 12', 14_406],
    ['number(row.rent) / 2', 600.25],
    ['money(row.blank) * 12', null],
    ['money(row.void) * 12', null],
    [`row.void == null ? 'none' : 'some'`, 'none'],
    [`row.State == 'CA' ? row.n : 0`, 5],
    [`row.n > 4 && row.State.startsWith('C')`, true],
    [`row.blank.startsWith('Total')`, false],
    [`upper(trim(' a '))`, 'A'],
    [`' a '.trim() + row.blank`, 'a'],
    [`split(row.uses, ',')`, ['Hotel', 'Parking', 'Restaurant']],
    [`split(row.uses, ',', 1)`, 'Parking'],
    [`split(row.uses, ',', 9)`, null],
    [`split(row.uses, ',').map(u, lookup('uses', u, 'other'))`, ['hospitality', 'other', 'other']],
    [`split(row.uses, ',').filter(u, u != 'Parking').join('|')`, 'Hotel|Restaurant'],
    [`row.units.exists(u, u.no == 2)`, true],
    [`row.units[0].no`, 1],
    [`size(row.list)`, 2],
    [`row.address.city.upperAscii()`, 'BERLIN'],
    [`extract(row.title, '[0-9/]+$')`, '05/31/2025'],
    [`extract(row.title, '(\\\\d+)/(\\\\d+)', 2)`, '31'],
    [`extract(row.title, 'x')`, null],
    [`row.title.matches('^Rent')`, true],
    [`replace(row.title, '\\\\s+', '_')`, 'Rent_Roll_as_of_05/31/2025'],
    [`date(row.from)`, '2026-01-31'],
    [`date('31.12.2026', 'dd.MM.yyyy')`, '2026-12-31'],
    [`excel_date(45000)`, '2023-03-15'],
    [`add_months(row.from, 1)`, '2026-02-28'],
    [`add_days(add_months(row.from, 12), -1)`, '2027-01-30'],
    [`year(row.from)`, 2026],
    [`sqft_to_m2(row.sqft)`, 92.90304],
    [`round(m2_to_sqft(92.90304), 2)`, 1_000],
    [`round(2.345, 2)`, 2.35],
    [`round(-2.5)`, -3],
    [`abs(-3)`, 3],
    [`coalesce(row.blank, row.void, row.State)`, 'CA'],
    [`map_option(row.State, {'CA': 'California'})`, 'California'],
    [`map_option('TX', {'CA': 'California'}, 'other')`, 'other'],
    [`lookup('uses', row.blank)`, null],
    [`meta.as_of`, '2025-05-31'],
    [`0.1 + 0.2`, 0.3],
  ])('%s', (source, expected) => {
    expect(value(source)).toEqual(expected)
  })

  test('reads numbers and dates as the file writes them', () => {
    expect(value(`number('1.234,5') + 1`, surroundings(GERMAN))).toBe(1235.5)
    expect(value(`date('31.12.2026')`, surroundings(GERMAN))).toBe('2026-12-31')
  })

  test.each<[string, string]>([
    [`number('abc')`, 'not_a_number'],
    [`date('soon')`, 'not_a_date'],
    [`lookup('uses', 'Barn')`, 'unknown_option'],
    [`map_option('TX', {'CA': 'California'})`, 'unknown_option'],
    [`row.State * 2`, 'expression_failed'],
    [`row.n / 0`, 'not_a_number'],
    [`1 / 0`, 'expression_failed'],
    [`row.State.substring(5)`, 'expression_failed'],
    [`{'a': 1}`, 'not_a_single_value'],
    [`add_days('2026-01-01', 1.5)`, 'out_of_range'],
    [`extract('a', 'a', 3)`, 'out_of_range'],
    [`extract('a', '(' + row.State)`, 'invalid_pattern'],
  ])('%s has no value: %s', (source, code) => {
    expect(fault(source)).toBe(code)
  })
})

describe('what an expression may not do is refused when it is read', () => {
  const deep = `${'('.repeat(25)}1${')'.repeat(25)}`
  test.each<[string, RegExp]>([
    ['', /EOF|Unexpected/],
    ['row', /row must be followed by a name/],
    ['State', /unknown name 'State'/],
    ['rwo.State', /did you mean row/],
    ['row.State +', /EOF|Unexpected/],
    ['process.exit()', /unknown (method|name)/],
    ['row.constructor.constructor("x")()', /./],
    ['trm(row.State)', /unknown function 'trm'; did you mean trim/],
    ['trim(row.State, 1, 2)', /takes 1 arguments/],
    ['trim_(row.State)', /unknown function/],
    ['items_(row.list)', /unknown function/],
    ['cel.bind(x, 1, x)', /unknown method 'bind'/],
    ['timestamp("2026-01-01T00:00:00Z")', /unknown function/],
    ['bytes("a").json()', /unknown method/],
    ['has(row.State)', /unknown function 'has'/],
    [`row.State.matches('(a')`, /is no pattern/],
    [`row.State.matches('(a)\\\\1')`, /is no pattern/],
    [`lookup('none', row.State)`, /name of one of the document's lookups/],
    ['row.list.map(a, row.list.map(b, a))', /one level is allowed/],
    ['row.list.exists(a, row.list.all(b, row.list.exists(c, c == a)))', /one level is allowed/],
    [deep, /maxDepth \(20\)/],
    [Array.from({ length: 300 }, () => '1').join('+'), /maxAstNodes \(500\)/],
    [`[${Array.from({ length: 1_001 }, () => '1').join(',')}]`, /Exceeded max/],
    ['row.?State', /./],
  ])('%s', (source, message) => {
    expect(() => compileExpression(source, surroundings())).toThrow(message)
  })
})

describe('what an expression may not take', () => {
  const long = 'a'.repeat(65_000)
  const given = (cell: Cell, budget?: Budget): Surroundings =>
    ({
      ...surroundings(US, budget),
      position: () => 0,
      cell,
    }) as Surroundings & { cell: Cell }
  const over = (source: string, cell: Cell, budget?: Budget): Cell =>
    compileExpression(source, given(cell, budget)).evaluate([cell])

  test('an evil pattern is matched in linear time', () => {
    const started = performance.now()
    expect(over(`row.x.matches('^(a+)+$')`, `${'a'.repeat(5_000)}!`)).toBe(false)
    expect(performance.now() - started).toBeLessThan(2_000)
  })

  test.each<[string, Cell]>([
    [`row.x.map(i, i)`, Array.from({ length: 1_001 }, (_, i) => i)],
    [`(row.x + row.x).map(i, i)`, Array.from({ length: 600 }, (_, i) => i)],
    [`split(row.x, ',')`, Array.from({ length: 1_001 }, () => 'a').join(',')],
  ])('%s over more than 1,000 items', (source, cell) => {
    expect(() => over(source, cell)).toThrow(/more than 1000 items/)
  })

  test.each([`row.x + row.x`, `(row.x + row.x).matches('b')`, `replace(row.x, 'a', 'bb')`])(
    '%s beyond 65,536 characters',
    (source) => {
      expect(() => over(`(${source})`, long)).toThrow(/more than 65536 characters/)
    },
  )

  test('time beyond the budget of a chunk ends the file', () => {
    const budget = new Budget(0)
    expect(() => over(`row.x.map(i, i.matches('a'))`, ['a', 'b'], budget)).toThrow(
      expect.objectContaining({ code: 'expression_timeout' }),
    )
  })

  test('names of objects are no names of columns', () => {
    expect(over(`row["__proto__"] == null`, 'x')).toBe(false)
    expect(over(`row.constructor + ''`, 'x')).toBe('x')
  })
})
