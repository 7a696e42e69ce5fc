import { array, assert, constantFrom, integer, nat, option, property, record } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { extended, planLoad, stateAt } from '../sdis/plan.ts'
import type { History } from '../sdis/plan.ts'
import type { Row } from './resource.ts'
import { fold } from './timeline.ts'
import type { Assertion, SourceRank } from './timeline.ts'

const day = (text: string): number => Date.parse(`${text}T00:00:00Z`)

const ranks = new Map<number, SourceRank>([
  [1, { rank: 10, min_confidence: 0 }],
  [2, { rank: 20, min_confidence: 0 }],
  [3, { rank: 20, min_confidence: 0 }],
  [4, { rank: 5, min_confidence: 800 }],
])

/** A claim that is written as it is read: source, transaction, valid from, what it says. */
function claim(
  source_id: number,
  tx_id: number,
  from: string,
  attrs: Row,
  more: Partial<Assertion> = {},
): Assertion {
  const plain = { valid_to: null, retracts: null, confidence: 1_000 }
  return { source_id, tx_id, valid_from: day(from), attrs, ...plain, ...more }
}

/** The table of events that the model was designed for, each row added to those before it. */
const EVENTS = {
  'rent 100 from 1 January, 110 from 1 April': [
    claim(1, 1001, '2026-01-01', { rent: 100 }),
    claim(1, 1002, '2026-04-01', { rent: 110 }),
  ],
  'source 2 says 99 from February': [claim(2, 1003, '2026-02-01', { rent: 99 })],
  'correction: the value of April is 115': [claim(1, 1004, '2026-04-01', { rent: 115 })],
  'the change of April is withdrawn': [claim(1, 1005, '2026-04-01', {}, { retracts: ['rent'] })],
  'it really began on 1 March: 111': [claim(1, 1006, '2026-03-01', { rent: 111 })],
  'a rent holiday in May': [
    claim(1, 1007, '2026-05-01', { rent: 0 }, { valid_to: day('2026-06-01') }),
  ],
  'the source empties the cell from 1 August': [claim(1, 1008, '2026-08-01', { rent: null })],
}

/** What holds at a day after so many of these events were recorded. */
function rentAt(events: number, date: string, all = Object.values(EVENTS)): unknown {
  return fold(all.slice(0, events).flat(), day(date), ranks).values['rent']
}

describe('the table of events', () => {
  it.each([
    [1, '2026-04-15', 110],
    [1, '2026-03-31', 100],
    [1, '2026-01-01', 100],
    [1, '2025-12-31', undefined],
    [2, '2026-04-15', 110],
    [3, '2026-04-15', 115],
    [3, '2026-03-31', 100],
    [4, '2026-04-15', 100],
    [5, '2026-04-15', 111],
    [5, '2026-02-28', 100],
    [6, '2026-04-30', 111],
    [6, '2026-05-15', 0],
    [6, '2026-05-31', 0],
    [6, '2026-06-01', 111],
    [6, '2026-06-15', 111],
    [7, '2026-07-31', 111],
    [7, '2026-09-01', null],
  ])('after %i events the rent of %s is %s', (events, date, expected) => {
    expect(rentAt(events, date)).toBe(expected)
  })

  it('reads the same in whatever order its rows come', () => {
    const shuffled = Object.values(EVENTS)
      .map((list) => list.toReversed())
      .toReversed()
    expect(rentAt(7, '2026-05-15', shuffled)).toBe(0)
    expect(rentAt(7, '2026-06-15', shuffled)).toBe(111)
  })
})

describe('when sources disagree', () => {
  const winner = (...claims: Assertion[]): unknown =>
    fold(claims, day('2026-12-31'), ranks).values['a']

  const cases: [string, unknown, ...Assertion[]][] = [
    [
      'the lower rank wins, though older',
      1,
      claim(1, 1, '2020-01-01', { a: 1 }),
      claim(2, 9, '2026-01-01', { a: 2 }),
    ],
    [
      'of equal ranks the later valid time',
      3,
      claim(2, 9, '2020-01-01', { a: 2 }),
      claim(3, 1, '2021-01-01', { a: 3 }),
    ],
    [
      'then the later transaction',
      2,
      claim(2, 9, '2020-01-01', { a: 2 }),
      claim(3, 8, '2020-01-01', { a: 3 }),
    ],
    [
      'then the lower source',
      2,
      claim(3, 9, '2020-01-01', { a: 3 }),
      claim(2, 9, '2020-01-01', { a: 2 }),
    ],
    [
      'a claim that is too unsure never wins',
      2,
      claim(4, 1, '2020-01-01', { a: 4 }, { confidence: 799 }),
      claim(2, 1, '2020-01-01', { a: 2 }),
    ],
    [
      'a claim that is sure enough does',
      4,
      claim(4, 1, '2020-01-01', { a: 4 }, { confidence: 800 }),
      claim(2, 1, '2020-01-01', { a: 2 }),
    ],
    [
      'of two records of one source that are one object, the one that is sure enough',
      5,
      claim(4, 1, '2020-01-01', { a: 4 }, { confidence: 799 }),
      claim(4, 1, '2020-01-01', { a: 5 }, { confidence: 800, member: 9 }),
    ],
    [
      'an empty value of the better source stays empty',
      null,
      claim(1, 1, '2020-01-01', { a: null }),
      claim(2, 1, '2020-01-01', { a: 2 }),
    ],
    [
      'a source that ended leaves the field to the other',
      2,
      claim(1, 1, '2020-01-01', { a: 1 }, { valid_to: day('2021-01-01') }),
      claim(2, 1, '2019-01-01', { a: 2 }),
    ],
    [
      'a source that withdrew does too',
      2,
      claim(1, 1, '2020-01-01', { a: 1 }),
      claim(1, 2, '2020-01-01', {}, { retracts: ['a'] }),
      claim(2, 1, '2019-01-01', { a: 2 }),
    ],
    [
      'a source that stopped listing the object does too',
      2,
      claim(1, 1, '2020-01-01', { a: 1 }),
      claim(1, 2, '2021-01-01', { _present: false }),
      claim(2, 1, '2019-01-01', { a: 2 }),
    ],
    [
      'one that lists it again speaks again',
      1,
      claim(1, 1, '2020-01-01', { a: 1 }),
      claim(1, 2, '2021-01-01', { _present: false }),
      claim(1, 3, '2021-01-01', { _present: true }),
      claim(2, 1, '2019-01-01', { a: 2 }),
    ],
  ]

  it.each(cases)('%s', (_, expected, ...claims) => {
    expect(winner(...claims)).toBe(expected)
    expect(winner(...claims.toReversed())).toBe(expected)
  })

  it('the last known values stay readable when no source lists the object any more', () => {
    const claims = [
      claim(1, 1, '2020-01-01', { a: 1, b: 2 }),
      claim(1, 2, '2021-01-01', { _present: false }),
    ]
    const { values, present, deleted } = fold(claims, day('2026-01-01'), ranks)
    expect({ values, present, deleted }).toEqual({
      values: { a: 1, b: 2 },
      present: false,
      deleted: false,
    })
    expect(fold(claims, day('2020-12-31'), ranks).present).toBe(true)
  })

  it('a deletion by a user holds until it is taken back', () => {
    const claims = [
      claim(1, 1, '2020-01-01', { a: 1 }),
      claim(1, 2, '2021-01-01', { _deleted: true }),
    ]
    expect(fold(claims, day('2021-01-01'), ranks).deleted).toBe(true)
    expect(fold(claims, day('2020-12-31'), ranks).deleted).toBe(false)
    const back = claim(1, 3, '2022-01-01', { _deleted: false })
    expect(fold([...claims, back], day('2022-01-01'), ranks).deleted).toBe(false)
  })
})

/** The same by its definition: per field and source the last claim that holds, then the best of the sources. */
function slowFold(claims: readonly Assertion[], at: number): Row {
  const result: Row = {}
  for (const key of ['a', 'b']) {
    const standing = [...new Set(claims.map((c) => c.source_id))].flatMap((source_id) => {
      const own = claims
        .filter((c) => c.source_id === source_id && c.valid_from <= at)
        .toSorted((x, y) => y.valid_from - x.valid_from || y.tx_id - x.tx_id)
      for (const from of new Set(own.map((c) => c.valid_from))) {
        const last = own.find(
          (c) => c.valid_from === from && (key in c.attrs || c.retracts?.includes(key)),
        )
        if (!last || !(key in last.attrs)) continue
        if (last.valid_to === null || last.valid_to > at) return [last]
      }
      return []
    })
    const [best] = standing.toSorted(
      (x, y) =>
        (ranks.get(x.source_id)?.rank ?? 0) - (ranks.get(y.source_id)?.rank ?? 0) ||
        y.valid_from - x.valid_from ||
        y.tx_id - x.tx_id,
    )
    if (best) result[key] = best.attrs[key]
  }
  return result
}

describe('folding', () => {
  it('agrees with its definition on any claims', () => {
    const some = record({
      source_id: integer({ min: 1, max: 3 }),
      from: nat(4),
      length: option(integer({ min: 1, max: 3 }), { nil: null }),
      value: option(nat(9), { nil: null }),
      key: constantFrom('a', 'b'),
      retract: constantFrom(false, false, false, true),
    })
    const claims = array(some, { maxLength: 12 }).map((list) =>
      list.map(({ source_id, from, length, value, key, retract }, tx_id): Assertion => ({
        source_id,
        tx_id,
        valid_from: from,
        valid_to: length === null || retract ? null : from + length,
        attrs: retract ? {} : { [key]: value },
        retracts: retract ? [key] : null,
        confidence: 1_000,
      })),
    )
    assert(
      property(claims, nat(6), (list, at) => {
        expect(fold(list, at, ranks).values).toEqual(slowFold(list, at))
      }),
      { numRuns: 3_000 },
    )
  })
})

describe('releases of a source', () => {
  const cell = option(constantFrom(100, 105, 110), { nil: undefined })
  const release = option(record({ key: constantFrom('A'), rent: cell, area: cell }), {
    nil: null,
    freq: 4,
  })
  const scene = record({
    releases: array(release, { minLength: 2, maxLength: 5 }),
    order: array(nat(1_000), { minLength: 5, maxLength: 5 }),
  })

  it('planned in any order fold to one timeline, the one their source saw', () => {
    assert(
      property(scene, ({ releases, order }) => {
        const plain = releases.map((row) => row && (JSON.parse(JSON.stringify(row)) as Row))
        const dates = plain
          .map((_, i) => i)
          .toSorted((a, b) => (order[a] ?? 0) - (order[b] ?? 0) || a - b)
        const { history, claims } = loaded(plain, dates)
        let values: Row = {}
        plain.forEach((row, date) => {
          values = row ? { ...values, ...row } : {}
          for (const at of [date, date + 0.5]) {
            const folded = fold(claims, at, ranks)
            expect(folded.present).toBe(row !== null)
            if (row) expect(folded.values).toEqual(values)
            expect(Object.fromEntries(stateAt(history, at).values)).toEqual(values)
          }
        })
      }),
      { numRuns: 2_000 },
    )
  })

  /** Full snapshots loaded in the given order, with the transactions their claims were written in. */
  function loaded(
    releases: readonly (Row | null)[],
    dates: readonly number[],
  ): { history: History; claims: Assertion[] } {
    let history: History = { claims: [], blanks: [] }
    const claims: Assertion[] = []
    const done: number[] = []
    dates.forEach((date, tx_id) => {
      const next = done.filter((other) => other > date).toSorted((a, b) => a - b)[0]
      const run = next === undefined ? null : { at: next, complete: true }
      const plan = planLoad(history, date, releases[date] ?? null, run)
      history = extended(history, plan)
      claims.push(...plan.claims.map((c) => ({ ...c, source_id: 1, tx_id, confidence: 1_000 })))
      done.push(date)
    })
    return { history, claims }
  }
})
