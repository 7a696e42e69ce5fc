import { choice, datetime, list, longText, object, text } from './field.ts'
import type { Field, Fields } from './field.ts'

/** Words and field groups that several resources share, so that they mean the same everywhere. */

/** The typed item of a list or object field. Keys a client left out are absent. */
export type ItemOf<F extends Fields> = {
  [K in keyof F]?: (F[K] extends Field<infer T> ? T : never) | null
}

export const AREA_UNITS = ['sqft', 'sqm'] as const

export const PROPERTY_TYPES = [
  'office',
  'industrial',
  'retail',
  'multifamily',
  'mixed_use',
  'medical_office',
  'life_science',
  'hospitality',
  'self_storage',
  'data_center',
  'student_housing',
  'senior_housing',
  'land',
  'parking',
  'special_purpose',
] as const

export const MEASUREMENT_STANDARDS = [
  'boma_office_2024_a',
  'boma_office_2024_b',
  'boma_office_2017_a',
  'boma_office_2017_b',
  'boma_office_2010_a',
  'boma_office_2010_b',
  'boma_1996',
  'boma_industrial',
  'boma_retail',
  'ipms_3',
  'rics_nia',
  'rics_gia',
  'din_277',
  'as_built',
  'unknown',
] as const

/** How operating costs are shared between landlord and tenant. */
export const RECOVERY_TYPES = [
  'nnn',
  'nn',
  'n',
  'absolute_net',
  'gross',
  'modified_gross',
  'full_service',
  'base_year',
  'expense_stop',
  'percentage_only',
  'ground',
] as const

export const FREQUENCIES = ['monthly', 'quarterly', 'annual'] as const

/** ISO 4217 code of the money fields. */
export function currency(
  description: string,
  options: { required?: boolean; readOnly?: boolean } = {},
): Field<string> {
  return text(description, { example: 'USD', pattern: '^[A-Z]{3}$', max: 3, ...options })
}

/** Square metres of a square foot, exactly: the foot is 0.3048 m. */
export const SQM_PER_SQFT = 0.09290304

/** Unit of the area fields. */
export function areaUnit(
  description: string,
  options: { required?: boolean; readOnly?: boolean } = {},
): Field<(typeof AREA_UNITS)[number]> {
  return choice(AREA_UNITS, description, { example: 'sqft', ...options })
}

/** How the areas of an object were measured. */
export function measurementStandard(
  description: string,
): Field<(typeof MEASUREMENT_STANDARDS)[number]> {
  return choice(MEASUREMENT_STANDARDS, description, { example: 'boma_office_2017_b' })
}

/** Rentable over usable area, to four digits; null when either is unknown or zero. */
export function loadFactor(row: {
  rentable_area: number | null
  usable_area: number | null
}): number | null {
  if (!row.rentable_area || !row.usable_area) return null
  return Math.round((row.rentable_area / row.usable_area) * 1e4) / 1e4
}

export const EMAIL = '^[^\\s@]+@[^\\s@]+\\.[^\\s@]+$'

export const addressFields = {
  line1: text('The first address line: house number and street.', { example: '120 Harbor Street' }),
  line2: text('The second address line: suite, floor or building name.', { example: 'Suite 1400' }),
  city: text('The city or town of the address.', { example: 'Chicago', max: 100 }),
  region: text('The state or province, as an ISO 3166-2 code where it is known.', {
    example: 'US-IL',
    max: 100,
  }),
  postal_code: text('The postal or ZIP code of the address.', { example: '60601', max: 20 }),
  country: text('The country, as an ISO 3166-1 code of two capital letters.', {
    example: 'US',
    pattern: '^[A-Z]{2}$',
    max: 2,
  }),
} satisfies Fields

export const addressExample = {
  line1: '120 Harbor Street',
  line2: null,
  city: 'Chicago',
  region: 'US-IL',
  postal_code: '60601',
  country: 'US',
}

const actorFields = {
  type: text('What kind of actor it was: api_key, job, agent, user or system.', {
    example: 'api_key',
  }),
  id: text('The id of the key, job or user that acted.', { example: 'key_7' }),
} satisfies Fields

/** Who did something, in the shape of `created_by`. */
export function actor(description: string): Field<Record<string, unknown>> {
  return object(actorFields, description, { example: { type: 'api_key', id: 'key_7' } })
}

/** The moves of an object between the states of its lifecycle, oldest first; written by the platform. */
export function statusHistory(
  states: readonly [string, string, ...string[]],
): Field<Record<string, unknown>[]> {
  const items = {
    from: choice(states, 'The status before the move; null for the first entry.', {
      example: states[0],
    }),
    to: choice(states, 'The status that the move led to.', { example: states[1], required: true }),
    at: datetime('The moment of the move, in UTC.', {
      example: '2026-03-02T14:05:00.000Z',
      required: true,
    }),
    by: actor('Who or what made the move.'),
    reason: longText('The reason given for the move, if there was one.', {
      example: 'Signed copy received from the tenant.',
    }),
  }
  return list(items, 'Every change of status, oldest first, with who made it and why.', {
    example: [
      {
        from: states[0],
        to: states[1],
        at: '2026-03-02T14:05:00.000Z',
        by: { type: 'api_key', id: 'key_7' },
        reason: null,
      },
    ],
    initial: [],
    readOnly: true,
  })
}
