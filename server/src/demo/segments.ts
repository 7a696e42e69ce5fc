/** What is typical of each kind of property: the table of the demo portfolio, from which everything else is drawn. */
import type { Industry } from './names.ts'

export type Segment =
  | 'cbd_office'
  | 'suburban_office'
  | 'industrial'
  | 'retail'
  | 'medical'
  | 'mixed'

type Weighted<T> = readonly (readonly [value: T, weight: number])[]

export interface SegmentTable {
  /** Share of the rentable area under leases that have begun, in percent. */
  occupancy_pct: number
  /** In-place base rent per sqft and year that the whole segment should come to. */
  in_place: number
  /** Lowest and highest start rent. */
  rents: readonly [low: number, high: number]
  /** Start rents are agreed in multiples of this. */
  rent_step: number
  suite: { median: number; p90: number }
  /** Years the leases have left on average, weighted by rent. */
  walt_years: number
  /** Terms agreed at signing, in months. */
  terms: Weighted<number>
  /** Market rent against rent in place, in percent. */
  mark_to_market: readonly [low: number, high: number]
  recovery: Weighted<'full_service' | 'base_year' | 'modified_gross' | 'nnn' | 'absolute_net'>
  /** Operating costs, taxes and insurance per sqft and year; what triple-net tenants pay an estimate of. */
  costs: { cam: number; tax: number; insurance: number }
  industries: Weighted<Industry>
  /** Tenant improvement allowance per sqft for each year of the term, and months of free rent per five years. */
  ti_per_year: number
  free_months: number
  load_factor: number
  /** Work orders in relation to the area, against an office tower. */
  work: number
}

const OFFICE_TERMS = [
  [36, 20],
  [60, 30],
  [84, 20],
  [120, 25],
  [180, 5],
] as const

const OFFICE_INDUSTRIES = [
  ['legal', 12],
  ['technology', 14],
  ['finance', 9],
  ['insurance', 6],
  ['professional', 9],
  ['engineering', 4],
  ['logistics', 4],
  ['manufacturing', 3],
  ['retail', 2],
  ['government', 2],
  ['education', 2],
] as const

export const SEGMENTS: Record<Segment, SegmentTable> = {
  cbd_office: {
    occupancy_pct: 86,
    in_place: 52,
    rents: [36, 70],
    rent_step: 0.5,
    suite: { median: 6_500, p90: 32_000 },
    walt_years: 5.6,
    terms: OFFICE_TERMS,
    mark_to_market: [-12, 8],
    recovery: [
      ['base_year', 65],
      ['full_service', 35],
    ],
    costs: { cam: 9.4, tax: 6.8, insurance: 0.6 },
    industries: OFFICE_INDUSTRIES,
    ti_per_year: 8,
    free_months: 4,
    load_factor: 1.17,
    work: 1,
  },
  suburban_office: {
    occupancy_pct: 82,
    in_place: 26.5,
    rents: [20, 32],
    rent_step: 0.25,
    suite: { median: 3_800, p90: 15_000 },
    walt_years: 3.9,
    terms: OFFICE_TERMS,
    mark_to_market: [-12, 8],
    recovery: [
      ['modified_gross', 85],
      ['base_year', 15],
    ],
    costs: { cam: 6.4, tax: 3.4, insurance: 0.4 },
    industries: OFFICE_INDUSTRIES,
    ti_per_year: 5,
    free_months: 3,
    load_factor: 1.14,
    work: 1,
  },
  industrial: {
    occupancy_pct: 93,
    in_place: 10,
    rents: [5.5, 17.5],
    rent_step: 0.05,
    suite: { median: 48_000, p90: 240_000 },
    walt_years: 4.8,
    terms: [
      [36, 20],
      [60, 40],
      [84, 20],
      [120, 20],
    ],
    mark_to_market: [5, 45],
    recovery: [
      ['nnn', 88],
      ['absolute_net', 12],
    ],
    costs: { cam: 0.9, tax: 1.45, insurance: 0.3 },
    industries: [
      ['logistics', 62],
      ['manufacturing', 34],
      ['food', 4],
    ],
    ti_per_year: 0.8,
    free_months: 2,
    load_factor: 1,
    work: 0.22,
  },
  retail: {
    occupancy_pct: 95,
    in_place: 19,
    rents: [10, 36],
    rent_step: 0.25,
    suite: { median: 2_200, p90: 12_000 },
    walt_years: 5.2,
    terms: [
      [60, 70],
      [84, 10],
      [120, 20],
    ],
    mark_to_market: [-3, 15],
    recovery: [['nnn', 100]],
    costs: { cam: 3.6, tax: 4.2, insurance: 0.5 },
    industries: [
      ['retail', 52],
      ['food', 30],
      ['health', 10],
      ['finance', 8],
    ],
    ti_per_year: 4,
    free_months: 2,
    load_factor: 1,
    work: 0.9,
  },
  medical: {
    occupancy_pct: 91,
    in_place: 46,
    rents: [32, 64],
    rent_step: 0.5,
    suite: { median: 7_000, p90: 40_000 },
    walt_years: 6.4,
    terms: [
      [60, 20],
      [84, 25],
      [120, 40],
      [180, 15],
    ],
    mark_to_market: [-6, 12],
    recovery: [['nnn', 100]],
    costs: { cam: 8.2, tax: 4.6, insurance: 0.6 },
    industries: [
      ['health', 60],
      ['life_science', 40],
    ],
    ti_per_year: 9,
    free_months: 3,
    load_factor: 1.12,
    work: 1.4,
  },
  mixed: {
    occupancy_pct: 78,
    in_place: 28,
    rents: [19, 38],
    rent_step: 0.25,
    suite: { median: 2_500, p90: 9_000 },
    walt_years: 4,
    terms: [
      [36, 25],
      [60, 45],
      [84, 20],
      [120, 10],
    ],
    mark_to_market: [-8, 10],
    recovery: [
      ['modified_gross', 60],
      ['nnn', 40],
    ],
    costs: { cam: 6.1, tax: 3.8, insurance: 0.5 },
    industries: [
      ['technology', 26],
      ['professional', 24],
      ['retail', 20],
      ['food', 18],
      ['education', 12],
    ],
    ti_per_year: 5,
    free_months: 3,
    load_factor: 1.12,
    work: 1.1,
  },
}

/** Which part of the rent falls due in each year from the start day on; the last part lies in years 11 to 17. */
export const EXPIRATIONS_PCT = [6, 11, 14, 13, 12, 10, 9, 8, 6, 11] as const

/** Tenant industries by share of the rent that the portfolio aims at, in percent. */
export const INDUSTRY_SHARES: Record<Industry, number> = {
  legal: 12,
  technology: 14,
  finance: 10,
  insurance: 5,
  professional: 9,
  engineering: 4,
  logistics: 14,
  manufacturing: 8,
  grocery: 3,
  retail: 6,
  food: 4,
  health: 4.5,
  life_science: 2.5,
  government: 2,
  education: 2,
}
