import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { Row } from '../kit/resource.ts'
import { extended, planLoad, stateAt } from './plan.ts'
import type { History } from './plan.ts'

/** What a release says of one record: null when it lacks it; blank cells are left out. */
type Release = Row | null

/** Loads the releases of the given dates in the given order, as a full snapshot each. */
function load(releases: readonly Release[], order: readonly number[]): History {
  let history: History = { claims: [], blanks: [] }
  const loaded: number[] = []
  for (const date of order) {
    const later = loaded.filter((other) => other > date).sort((a, b) => a - b)[0]
    const next = later === undefined ? null : { at: later, complete: true }
    history = extended(history, planLoad(history, date, releases[date] ?? null, next))
    loaded.push(date)
  }
  return history
}

const byName = ([a]: [string, unknown], [b]: [string, unknown]): number => (a < b ? -1 : 1)

/** What the timeline says at every release and between them. */
function reading(history: History, dates: number): unknown[] {
  return Array.from({ length: dates * 2 }, (_, i) => {
    const { present, values } = stateAt(history, i / 2)
    return { present, values: Object.fromEntries([...values].sort(byName)) }
  })
}

/** The timeline by its definition: each release in turn, blank cells keep the value while the record is listed. */
function expected(releases: readonly Release[]): unknown[] {
  let values: Row = {}
  return releases.flatMap((release) => {
    values = release ? { ...values, ...release } : {}
    const sorted = Object.fromEntries(Object.entries(values).sort(byName))
    const state = { present: release !== null && Object.keys(values).length > 0, values: sorted }
    return [state, state]
  })
}

const cell = fc.option(fc.constantFrom(100, 105, 110), { nil: undefined })
const release: fc.Arbitrary<Release> = fc.option(
  // The key column is always stated.
  fc
    .record({ rent: cell, area: cell })
    .map((r) => JSON.parse(JSON.stringify({ key: 'A', ...r })) as Row),
  { nil: null, freq: 4 },
)

describe('loading releases', () => {
  test('in any order gives the timeline that the releases define', () => {
    const cases = fc.array(release, { minLength: 2, maxLength: 6 }).chain((releases) =>
      fc.record({
        releases: fc.constant(releases),
        order: fc.shuffledSubarray(
          releases.map((_, i) => i),
          { minLength: releases.length },
        ),
      }),
    )
    fc.assert(
      fc.property(cases, ({ releases, order }) => {
        expect(reading(load(releases, order), releases.length)).toEqual(expected(releases))
      }),
      { numRuns: 20_000 },
    )
  })

  test('twice writes nothing the second time', () => {
    fc.assert(
      fc.property(
        fc.array(release, { minLength: 1, maxLength: 5 }),
        fc.nat(4),
        (releases, pick) => {
          const history = load(
            releases,
            releases.map((_, i) => i),
          )
          const date = pick % releases.length
          const next = date + 1 < releases.length ? { at: date + 1, complete: true } : null
          expect(planLoad(history, date, releases[date] ?? null, next)).toEqual({
            claims: [],
            blanks: [],
          })
        },
      ),
      { numRuns: 1_000 },
    )
  })

  test('the trap: 100 in January, 100 again in March, then a February file says 105', () => {
    const history = load([{ rent: 100 }, { rent: 105 }, { rent: 100 }], [0, 2, 1])
    expect(stateAt(history, 1).values.get('rent')).toBe(105)
    expect(stateAt(history, 2).values.get('rent')).toBe(100)
  })

  test('a blank cell changes nothing and writes no claim', () => {
    const history = load([{ key: 'A', rent: 100 }], [0])
    const plan = planLoad(history, 1, { key: 'A' }, null)
    expect(plan.claims).toEqual([])
    expect(plan.blanks).toEqual([{ valid_from: 1, fields: ['rent'] }])
  })
})
