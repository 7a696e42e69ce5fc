import {
  array,
  assert,
  constantFrom,
  integer,
  property,
  record,
  shuffledSubarray,
} from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Row } from './resource.ts'
import { choose, decisionOf, RuleBook, STRATEGIES } from './survivorship.ts'
import type { Ranks, Rule } from './survivorship.ts'
import type { Assertion, SourceRank } from './timeline.ts'

const sources: [number, SourceRank][] = [
  [1, { rank: 50, min_confidence: 0, manual: true }],
  [2, { rank: 0, min_confidence: 0, manual: true }],
  [10, { rank: 10, min_confidence: 0, stale: true }],
  [11, { rank: 20, min_confidence: 0, trust: 500 }],
  [12, { rank: 30, min_confidence: 800 }],
  [13, { rank: 90, min_confidence: 0, system_of_record: ['lease'] }],
  [14, { rank: 40, min_confidence: 0 }],
]

function ranksWith(rules: Partial<Rule>[]): Ranks {
  const book = new RuleBook(
    rules.map((rule, id) => ({
      id,
      type: null,
      attribute: null,
      strategy: 'source_priority',
      sources: [],
      min_confidence: null,
      ...rule,
    })),
  )
  return Object.assign(new Map(sources), { rules: book })
}

function claim(source_id: number, value: unknown, more: Partial<Assertion> = {}): Assertion {
  const plain = { valid_from: 0, valid_to: null, tx_id: source_id, retracts: null }
  return { source_id, confidence: 1_000, ...plain, attrs: { a: value }, ...more }
}

const pinned = (value: unknown, pin: string, tx_id = 2): Assertion => ({
  ...claim(2, value, { tx_id }),
  attrs: { a: value, _pin: pin },
})

/** Strategy and claims; the source that wins, and what decided. */
const CASES: [string, Partial<Rule>, Assertion[], number | null, string][] = [
  ['rank', {}, [claim(14, 1), claim(1, 2)], 14, 'source_rank'],
  ['a stale source comes last, whatever its rank', {}, [claim(10, 1), claim(1, 2)], 1, 'freshness'],
  [
    'the system of record goes before ranks',
    {},
    [claim(13, 1), claim(14, 2)],
    13,
    'system_of_record',
  ],
  [
    'the list goes before the system of record',
    { sources: [14, 13] },
    [claim(13, 1), claim(14, 2)],
    14,
    'source_list',
  ],
  [
    'who is not listed comes behind',
    { sources: [1] },
    [claim(14, 1), claim(1, 2)],
    1,
    'source_list',
  ],
  [
    'a claim below the confidence of its source does not win',
    {},
    [claim(12, 1, { confidence: 790 }), claim(1, 2)],
    1,
    'confidence',
  ],
  [
    'nor one below that of the rule; trust counts',
    { min_confidence: 600 },
    [claim(11, 1), claim(1, 2)],
    1,
    'confidence',
  ],
  ['alone it does not win either', {}, [claim(12, 1, { confidence: 100 })], null, ''],
  [
    'the latest',
    { strategy: 'most_recent' },
    [claim(14, 1), claim(1, 2, { valid_from: 5 })],
    1,
    'most_recent',
  ],
  [
    'equally late ones by rank',
    { strategy: 'most_recent' },
    [claim(14, 1), claim(1, 2)],
    14,
    'source_rank',
  ],
  [
    'the surest, as far as its source is trusted',
    { strategy: 'highest_confidence' },
    [claim(11, 1), claim(1, 2, { confidence: 510 })],
    1,
    'highest_confidence',
  ],
  [
    'the fullest',
    { strategy: 'most_complete' },
    [claim(14, { line1: 'x', city: null }), claim(1, { line1: 'x', city: 'y' })],
    1,
    'most_complete',
  ],
  [
    'something before nothing',
    { strategy: 'most_complete' },
    [claim(14, null), claim(1, 0)],
    1,
    'most_complete',
  ],
  [
    'the least number, as text too',
    { strategy: 'min' },
    [claim(14, '10.00'), claim(1, 9)],
    1,
    'min',
  ],
  [
    'the largest date',
    { strategy: 'max' },
    [claim(14, '2026-01-01'), claim(1, '2026-02-01')],
    1,
    'max',
  ],
  ['of min and max nothing is last', { strategy: 'min' }, [claim(14, null), claim(1, 9)], 1, 'min'],
  [
    'what most say',
    { strategy: 'majority' },
    [claim(14, 1), claim(1, 2), claim(13, 2)],
    13,
    'majority',
  ],
  [
    'what people say alone',
    { strategy: 'manual_only' },
    [claim(14, 1), claim(1, 2)],
    1,
    'manual_only',
  ],
  ['a pin before every rule', { strategy: 'max' }, [claim(14, 9), pinned(1, 'kept')], 2, 'pinned'],
  [
    'a pin until the source changes, before it does',
    {},
    [claim(14, 9, { tx_id: 1 }), pinned(1, 'until_source_changes')],
    2,
    'pinned',
  ],
  [
    'of several records of one source that of the object itself',
    { strategy: 'max' },
    [claim(14, 1), claim(14, 2, { member: 9 })],
    14,
    'merged',
  ],
  [
    'and not once it has',
    {},
    [claim(14, 9, { tx_id: 3 }), pinned(1, 'until_source_changes')],
    14,
    'pinned',
  ],
]

describe('the winner is', () => {
  it.each(CASES)('%s', (_, rule, claims, winner, by) => {
    const ranks = ranksWith([rule])
    const chosen = choose(claims, 'a', ranks, 'lease')
    expect(chosen?.source_id ?? null).toBe(winner)
    if (chosen) expect(decisionOf(chosen, claims, 'a', ranks, 'lease').by).toBe(by)
  })

  it('by the closest rule: of the attribute, of the type, for all', () => {
    const strategies = (type: string, key: string): string | undefined =>
      new RuleBook([
        { id: 1, type: null, attribute: null, strategy: 'min', sources: [], min_confidence: null },
        {
          id: 2,
          type: 'lease',
          attribute: null,
          strategy: 'max',
          sources: [],
          min_confidence: null,
        },
        {
          id: 3,
          type: 'lease',
          attribute: 'a',
          strategy: 'majority',
          sources: [],
          min_confidence: null,
        },
      ]).of(type, key)?.strategy
    expect([strategies('lease', 'a'), strategies('lease', 'b'), strategies('space', 'a')]).toEqual([
      'majority',
      'max',
      'min',
    ])
  })

  it('the same in whatever order the claims come, and one of them', () => {
    const one = record({
      source_id: constantFrom(...sources.map(([id]) => id)),
      value: constantFrom<unknown>(1, 2, '2', null, { x: 1 }, '2026-01-01'),
      valid_from: integer({ min: 0, max: 3 }),
      tx_id: integer({ min: 1, max: 4 }),
      confidence: constantFrom(700, 900, 1_000),
    })
    const claims = array(one, { minLength: 1, maxLength: 6 }).map((list) => [
      ...new Map(
        list.map(({ value, ...rest }) => [rest.source_id, claim(rest.source_id, value, rest)]),
      ).values(),
    ])
    const both = claims.chain((list) =>
      shuffledSubarray(list, { minLength: list.length }).map((other) => [list, other] as const),
    )
    assert(
      property(both, constantFrom(...STRATEGIES), ([list, other], strategy) => {
        const ranks = ranksWith([{ strategy }])
        const winner = choose(list, 'a', ranks, 'lease')
        expect(choose(other, 'a', ranks, 'lease')).toBe(winner)
        if (winner) expect(list).toContain(winner)
      }),
    )
  })

  it('the same as by ranks alone while there is no rule', () => {
    const values: Row[] = [{ a: 1 }, { a: 2 }]
    const claims = values.map((attrs, i) => claim(i === 0 ? 14 : 1, attrs['a']))
    expect(choose(claims, 'a', new Map(sources), null)?.source_id).toBe(14)
  })
})
