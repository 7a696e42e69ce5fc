import { expect, test } from 'vitest'
import { retryAfter } from './attempt.ts'
import { outcomeOf } from './outcome.ts'

const DELAYS = [30, 300, 3_000, 30_000]

const failed = { status: 500, error: 'http', retry_after_s: null } as const

test.each([
  [200, null, { outcome: 'succeeded', reason: null }],
  [204, null, { outcome: 'succeeded' }],
  [301, 'http', { outcome: 'retry' }],
  [400, 'http', { outcome: 'retry' }],
  [404, 'http', { outcome: 'retry' }],
  [408, 'http', { outcome: 'retry' }],
  [410, 'http', { outcome: 'cancelled', reason: 'gone' }],
  [425, 'http', { outcome: 'retry' }],
  [429, 'http', { outcome: 'retry' }],
  [500, 'http', { outcome: 'retry' }],
  [null, 'dns', { outcome: 'retry' }],
  [null, 'connect', { outcome: 'retry' }],
  [null, 'tls', { outcome: 'retry' }],
  [null, 'timeout', { outcome: 'retry' }],
  [null, 'reset', { outcome: 'retry' }],
  [null, 'too_large', { outcome: 'retry' }],
] as const)('the status %s (%s) means %o', (status, error, expected) => {
  expect(outcomeOf({ status, error, retry_after_s: null }, 0, DELAYS)).toMatchObject(expected)
})

test.each([
  [0, 24, 36],
  [1, 240, 360],
  [2, 2_400, 3_600],
  [3, 24_000, 36_000],
])('after %i attempts, the next waits %i to %i seconds', (made, least, most) => {
  expect(outcomeOf(failed, made, DELAYS, 0).wait_s).toBeCloseTo(least)
  expect(outcomeOf(failed, made, DELAYS, 1).wait_s).toBeCloseTo(most)
})

test('the fifth attempt is the last, and the last delay allowed', () => {
  const given_up = { outcome: 'failed', reason: 'exhausted' }
  expect(outcomeOf(failed, 4, DELAYS)).toMatchObject(given_up)
  expect(outcomeOf(failed, 4, [...DELAYS, 1, 1])).toMatchObject(given_up)
  expect(outcomeOf(failed, 1, [1])).toMatchObject(given_up)
})

test.each([
  [429, 60, 60, true],
  [503, 10, 30, true],
  [429, 500, 120, true],
  [500, 60, 30, false],
  [429, null, 30, false],
])('%s with Retry-After %s waits %s seconds', (status, retry_after_s, wait_s, slow) => {
  const attempt = { status, error: 'http', retry_after_s } as const
  expect(outcomeOf(attempt, 0, DELAYS, 0.5)).toMatchObject({ wait_s, slow })
})

test.each([
  [undefined, null],
  ['120', 120],
  ['Wed, 21 Oct 2026 07:28:10 GMT', 10],
  ['Wed, 21 Oct 2026 07:27:00 GMT', 0],
  ['soon', null],
])('Retry-After %s is %s seconds', (value, seconds) => {
  expect(retryAfter(value, Date.parse('2026-10-21T07:28:00Z'))).toBe(seconds)
})
