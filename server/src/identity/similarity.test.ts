/** Likeness of records: a set of known doubles and of near misses, with how often each is judged right. */
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Row } from '../kit/resource.ts'
import { inOneBlock, likeness, nameWords, trigramSimilarity } from './similarity.ts'

const CERTAIN = 0.98
const DOUBTFUL = 0.8

function party(legal_name: string, line1?: string, postal_code?: string, city = 'Chicago'): Row {
  const address = { type: 'notice', line1, city, postal_code, country: 'US' }
  return { kind: 'company', legal_name, addresses: line1 ? [address] : [] }
}

/** One company, as two systems spell it. */
const DOUBLES: [Row, Row][] = [
  [
    party('Harrow & Pine Legal LLP', '200 W Madison St', '60606'),
    party('HARROW AND PINE LEGAL L.L.P.', '200 West Madison Street', '60606'),
  ],
  [
    party('Northwind Logistics, Inc.', '1 Harbor Street', '02110', 'Boston'),
    party('Northwind Logistic Inc', '1 Harbor St.', '02110', 'Boston'),
  ],
  [
    party('Café Nordström GmbH', 'Hauptstr. 5', '10115', 'Berlin'),
    party('Cafe Nordstrom GmbH', 'Hauptstr. 5', '10115', 'Berlin'),
  ],
  [
    party('Blue Ridge Dental Associates LLC', '48 Oak Ave', '28801', 'Asheville'),
    party('Blue Ridge Dental Assoc. LLC', '48 Oak Avenue', '28801', 'Asheville'),
  ],
  [
    party('Meridian Capital Partners LP', '350 Park Avenue', '10022', 'New York'),
    party('Meridian Capitol Partners L.P.', '350 Park Ave', '10022', 'New York'),
  ],
  [
    party('Whole Grain Bakery Co', '77 Elm Rd', '97201', 'Portland'),
    party('The Whole Grain Bakery Company', '77 Elm Road', '97201', 'Portland'),
  ],
  [
    party('U.S. Freight Forwarders Corp.', '9 Dock Blvd', '77001', 'Houston'),
    party('US Freight Forwarders Corporation', '9 Dock Boulevard', '77001', 'Houston'),
  ],
  [
    party('Sterling Optical Group Ltd', '12 High Street', '19103', 'Philadelphia'),
    party('Sterling Optical Grp Limited', '12 High St', '19103', 'Philadelphia'),
  ],
  [
    party('Quantum Robotics Inc', '500 Tech Dr', '94025', 'Menlo Park'),
    party('Quantum Robotcs Inc', '500 Tech Drive', '94025', 'Menlo Park'),
  ],
  [
    party('Evergreen Family Medicine', '3 Main St', '98101', 'Seattle'),
    party('Evergreen Family Medicine PLLC', '3 Main Street', '98101', 'Seattle'),
  ],
  [party('Lakeshore Fitness LLC'), party('Lake Shore Fitness LLC')],
  [party('Atlas Insurance Brokers Inc'), party('Atlas Insurance Brokers, Incorporated')],
]

/** Two companies that look alike. */
const NEAR_MISSES: [Row, Row][] = [
  [
    party('Main Street Owner I LLC', '100 Main St', '60606'),
    party('Main Street Owner II LLC', '100 Main St', '60606'),
  ],
  [
    party('Harbor Fund 3 LP', '1 Harbor Street', '02110', 'Boston'),
    party('Harbor Fund 4 LP', '1 Harbor Street', '02110', 'Boston'),
  ],
  [
    party('Smith Dental LLC', '5 Oak Ave', '28801', 'Asheville'),
    party('Smith Plumbing LLC', '9 Elm Rd', '28801', 'Asheville'),
  ],
  [
    party('First National Bank', '1 Bank Plaza', '10022', 'New York'),
    party('First National Realty', '88 Wall St', '10005', 'New York'),
  ],
  [
    party('Pacific Coffee Inc', '500 Tech Dr', '94025', 'Menlo Park'),
    party('Pacific Copy Inc', '500 Tech Dr', '94025', 'Menlo Park'),
  ],
  [
    party('Acme Holdings LLC', '20 State St', '02109', 'Boston'),
    party('Acme Holdings Inc', '714 Lake Rd', '33101', 'Miami'),
  ],
  [
    party('Green Valley Market', '4 Green St', '97201', 'Portland'),
    party('Green Valley Motors', '90 Auto Row', '97201', 'Portland'),
  ],
  [
    party('Johnson & Johnson Law', '2 Court Sq', '19103', 'Philadelphia'),
    party('Johnson Controls', '81 Mill Rd', '53201', 'Milwaukee'),
  ],
  [
    party('Tower A Tenant LLC', '1 Tower Pl', '60601'),
    party('Tower B Tenant LLC', '1 Tower Pl', '60601'),
  ],
  [
    party('Metro Storage Chicago LLC', '12 River Rd', '60606'),
    party('Metro Storage Denver LLC', '77 Peak Ave', '80202', 'Denver'),
  ],
]

function judged([a, b]: [Row, Row]): 'certain' | 'doubtful' | 'no' {
  if (!inOneBlock('party', a, b)) return 'no'
  const { score } = likeness('party', a, b)
  return score >= CERTAIN ? 'certain' : score >= DOUBTFUL ? 'doubtful' : 'no'
}

describe('likeness of parties', () => {
  it('never merges two companies by itself, and puts few of them to a person', () => {
    const verdicts = NEAR_MISSES.map(judged)
    expect(verdicts.filter((verdict) => verdict === 'certain')).toEqual([])
    expect(verdicts.filter((verdict) => verdict === 'doubtful').length).toBeLessThanOrEqual(2)
  })

  it('finds nearly all doubles, most of them without a person', () => {
    const verdicts = DOUBLES.map(judged)
    const found = verdicts.filter((verdict) => verdict !== 'no').length
    const certain = verdicts.filter((verdict) => verdict === 'certain').length
    expect(found / DOUBLES.length, verdicts.join()).toBeGreaterThanOrEqual(0.9)
    expect(certain / DOUBLES.length, verdicts.join()).toBeGreaterThanOrEqual(0.7)
  })

  it('is the same whichever comes first', () => {
    for (const [a, b] of [...DOUBLES, ...NEAR_MISSES])
      expect(likeness('party', a, b).score).toBe(likeness('party', b, a).score)
  })

  it('does not merge by a name alone, be it the same', () => {
    const { score, comparisons } = likeness('party', party('Acme LLC'), party('ACME, LLC'))
    expect(score).toBeGreaterThanOrEqual(DOUBTFUL)
    expect(score).toBeLessThan(CERTAIN)
    expect(comparisons.map(({ comparison, level }) => [comparison, level])).toEqual([
      ['name', 'exact'],
      ['legal_form', 'exact'],
      ['kind', 'exact'],
    ])
  })

  it('is the probability that the weights add up to', () => {
    for (const [a, b] of DOUBLES) {
      const { score, comparisons } = likeness('party', a, b)
      if (comparisons.some(({ comparison, level }) => comparison === 'name' && level === 'similar'))
        continue
      const odds = 2 ** comparisons.reduce((sum, { weight }) => sum + weight, -4.5)
      expect(score).toBeCloseTo(odds / (1 + odds), 3)
    }
  })
})

describe('likeness of other types', () => {
  const lease = (more: object): Row => ({
    property_id: 'prop_1',
    tenant_party_id: 'pty_1',
    commencement_date: '2026-01-01',
    expiration_date: '2030-12-31',
    rentable_area: 5000,
    lease_number: null,
    ...more,
  })
  const cases: [string, Row, Row, string][] = [
    ['one lease', lease({}), lease({ rentable_area: 5010 }), 'certain'],
    [
      'a tenant on two floors',
      lease({}),
      lease({ rentable_area: 9000, expiration_date: '2033-06-30' }),
      'no',
    ],
    [
      'a neighbour of the same term',
      lease({}),
      lease({ tenant_party_id: 'pty_2', rentable_area: 2000 }),
      'no',
    ],
    ['the same in another property', lease({}), lease({ property_id: 'prop_2' }), 'no'],
  ]
  it.each(cases)('%s', (_, a, b, verdict) => {
    const { score } = likeness('lease', a, b)
    const found = !inOneBlock('lease', a, b)
      ? 'no'
      : score >= CERTAIN
        ? 'certain'
        : score >= DOUBTFUL
          ? 'doubtful'
          : 'no'
    expect([found, score]).toEqual([verdict, score])
  })
})

describe('trigrams', () => {
  it('are alike between 0 and 1, wholly so for the same words in any order', () => {
    const words = fc.array(fc.stringMatching(/^[a-z]{1,8}$/), { minLength: 1, maxLength: 4 })
    fc.assert(
      fc.property(words, words, (a, b) => {
        const value = trigramSimilarity(a, b)
        expect(value).toBeGreaterThanOrEqual(0)
        expect(value).toBeLessThanOrEqual(1)
        expect(trigramSimilarity(a, a.toReversed())).toBe(1)
      }),
    )
  })

  it('are counted without accents, punctuation and legal forms', () => {
    expect(nameWords('The Nordström & Söhne, G.m.b.H.')).toEqual(
      ['nordstrom', 'sohne', 'gmbh'].slice(0, 2),
    )
    expect(nameWords('LLC')).toEqual(['llc'])
  })
})
