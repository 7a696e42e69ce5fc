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
