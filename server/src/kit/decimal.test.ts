import { array, assert, constantFrom, double, integer, property, stringMatching } from 'fast-check'
import { expect, it } from 'vitest'
import { formatDecimal, multiplyMoney, parseDecimal, sumMoney } from './decimal.ts'

it.each([
  ['12.345', 2, '12.35'],
  ['-12.345', 2, '-12.35'],
  ['12', 2, '12.00'],
  ['0.004', 2, '0.00'],
  ['-0.5', 0, '-1'],
  [1.5, 2, '1.50'],
  ['999999999999999.99', 2, '999999999999999.99'],
])('%s in %s digits is %s', (value, digits, expected) => {
  expect(formatDecimal(parseDecimal(value, digits) ?? 0n, digits)).toBe(expected)
})

it.each([null, undefined, '', 'ten', '1e3', Number.NaN])('%s is no decimal', (value) => {
  expect(parseDecimal(value, 2)).toBeNull()
})

it('sums without losing a cent', () => {
  expect(sumMoney(Array.from({ length: 10 }, () => '0.10'))).toBe('1.00')
  expect(sumMoney([null, '3.00', undefined])).toBe('3.00')
  expect(sumMoney([null])).toBeNull()
})

it('multiplies and rounds once', () => {
  expect(multiplyMoney(2.5, '95.0000')).toBe('237.50')
  expect(multiplyMoney(3, '0.0350')).toBe('0.11')
  expect(multiplyMoney(-1, '0.0050')).toBe('-0.01')
  expect(multiplyMoney(null, '1.00')).toBeNull()
})

/** Long arithmetic on digits, as on paper: rounds half away from zero. */
function onPaper(text: string, digits: number): string {
  const negative = text.startsWith('-')
  const [whole = '', fraction = ''] = text.replace('-', '').split('.')
  const kept = (whole + fraction.padEnd(digits, '0').slice(0, digits)).split('').map(Number)
  if (Number(fraction[digits] ?? 0) >= 5) {
    let at = kept.length - 1
    while (at >= 0 && kept[at] === 9) kept[at--] = 0
    if (at >= 0) (kept[at] as number)++
    else kept.unshift(1)
  }
  const all = kept.join('')
  const point = all.length - digits
  const left = all.slice(0, point).replace(/^0+(?=\d)/, '') || '0'
  const result = digits > 0 ? `${left}.${all.slice(point)}` : left
  return negative && /[1-9]/.test(result) ? `-${result}` : result
}

it('agrees with arithmetic on paper on any decimal', () => {
  const decimals = stringMatching(/^-?[0-9]{1,15}(\.[0-9]{1,8})?$/)
  assert(
    property(decimals, constantFrom(0, 2, 4), (text, digits) => {
      const once = formatDecimal(parseDecimal(text, digits) as bigint, digits)
      expect(once).toBe(onPaper(text, digits))
      expect(formatDecimal(parseDecimal(once, digits) as bigint, digits)).toBe(once)
    }),
    { numRuns: 2_000 },
  )
})

it('reads a number as the decimal it is written as', () => {
  assert(
    property(double({ noNaN: true, min: -1e15, max: 1e15 }), (value) => {
      const text = String(value).includes('e') ? value.toFixed(20) : String(value)
      expect(parseDecimal(value, 4)).toBe(parseDecimal(text, 4))
      expect(Number(formatDecimal(parseDecimal(value, 20) as bigint, 20))).toBeCloseTo(value, 10)
    }),
  )
})

it('adds and multiplies like whole numbers of cents', () => {
  const cents = integer({ min: -1_000_000_000, max: 1_000_000_000 })
  assert(
    property(array(cents, { minLength: 1 }), (list) => {
      const amounts = list.map((value) => formatDecimal(BigInt(value), 2))
      const sum = list.reduce((total, value) => total + BigInt(value), 0n)
      expect(sumMoney(amounts)).toBe(formatDecimal(sum, 2))
      expect(multiplyMoney(3, amounts[0])).toBe(formatDecimal(BigInt(list[0] as number) * 3n, 2))
    }),
  )
})
