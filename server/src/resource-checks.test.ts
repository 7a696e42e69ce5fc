import { describe, expect, it } from 'vitest'
import type { Resource, Row } from './kit/resource.ts'
import { allFields } from './kit/resource.ts'
import { building } from './buildings/resource.ts'
import { document } from './documents/resource.ts'
import { floor } from './floors/resource.ts'
import { organization } from './organizations/resource.ts'
import { contact, party } from './parties/resource.ts'
import { property } from './properties/resource.ts'
import { resources } from './resources.ts'
import { space } from './spaces/resource.ts'

function rowOf(resource: Resource, values: Row): Row {
  const blank = Object.keys(allFields(resource)).map((name) => [name, null] as const)
  return { ...Object.fromEntries(blank), id: `${resource.prefix}_1`, ...values }
}

const cases: [string, Resource, Row, string[]][] = [
  [
    'a known zone, locale and currency',
    organization,
    { time_zone: 'Europe/Berlin', locale: 'de-DE', default_currency: 'EUR' },
    [],
  ],
  ['UTC as a zone', organization, { time_zone: 'UTC' }, []],
  ['an older name of a zone', organization, { time_zone: 'US/Eastern' }, []],
  ['an unknown zone', organization, { time_zone: 'Mars/Base' }, ['time_zone unknown_time_zone']],
  [
    'an offset instead of a zone',
    organization,
    { time_zone: '+02:00' },
    ['time_zone unknown_time_zone'],
  ],
  ['an unknown locale', organization, { locale: 'e' }, ['locale unknown_locale']],
  [
    'a currency that does not exist',
    organization,
    { default_currency: 'XQQ' },
    ['default_currency unknown_currency'],
  ],
  [
    'an organization below itself',
    organization,
    { parent_organization_id: 'org_1' },
    ['parent_organization_id own_parent'],
  ],
  ['a valid LEI', party, { lei: '7LTWFZYICNSX8D621K86' }, []],
  [
    'an LEI with wrong digits',
    party,
    { lei: '7LTWFZYICNSX8D621K87' },
    ['lei invalid_check_digits'],
  ],
  ['a wrong e-mail', party, { emails: ['a@b.example', 'nobody'] }, ['emails[1] invalid_email']],
  ['a party above itself', party, { parent_party_id: 'pty_1' }, ['parent_party_id own_parent']],
  ['a contact without a name', contact, { party_id: 'pty_1' }, []],
  [
    'shares of 100 in thirds',
    property,
    {
      ownership: [{ share_pct: 33.333333 }, { share_pct: 33.333333 }, { share_pct: 33.333334 }],
    },
    [],
  ],
  [
    'shares above 100',
    property,
    { ownership: [{ share_pct: 60 }, { share_pct: null }, { share_pct: 40.5 }] },
    ['ownership shares_above_100'],
  ],
  [
    'a sale before the purchase',
    property,
    { acquisition_date: '2020-01-01', disposition_date: '2019-12-31' },
    ['disposition_date before_acquisition'],
  ],
  [
    'more usable than rentable area',
    building,
    { rentable_area: 100, usable_area: 101 },
    ['usable_area exceeds_rentable'],
  ],
  ['usable area only', building, { usable_area: 101 }, []],
  [
    'a renovation before the building',
    building,
    { year_built: 1990, year_renovated: 1980 },
    ['year_built after_renovation'],
  ],
  [
    'a certificate that ends before it begins',
    building,
    { certifications: [{ awarded_date: '2024-01-01', expires_date: '2023-01-01' }] },
    ['certifications[0].expires_date before_award'],
  ],
  [
    'a floor with more usable than rentable area',
    floor,
    { rentable_area: 100, usable_area: 100.5 },
    ['usable_area exceeds_rentable'],
  ],
  [
    'a space smaller than its parts',
    space,
    { rentable_area: 100, usable_area: 120, min_divisible_area: 200 },
    ['usable_area exceeds_rentable', 'min_divisible_area exceeds_rentable'],
  ],
  [
    'a document that ends before it begins',
    document,
    { effective_date: '2024-02-01', expires_date: '2024-01-31' },
    ['expires_date before_effective'],
  ],
  [
    'a link with an id of another type',
    document,
    {
      links: [
        { object_type: 'lease', object_id: 'le_1' },
        { object_type: 'lease', object_id: 'bld_1' },
      ],
    },
    ['links[1].object_id wrong_type'],
  ],
  [
    'a deletion under legal hold',
    document,
    { legal_hold: true, status: 'deleted' },
    ['legal_hold legal_hold'],
  ],
  ['legal hold alone', document, { legal_hold: true, status: 'available' }, []],
]

describe('check', () => {
  it.each(cases)('%s (%o)', (_, resource, values, expected) => {
    const issues = resource.check(rowOf(resource, values), null)
    expect(issues.map((issue) => `${issue.field} ${issue.code}`)).toEqual(expected)
  })

  it.each(resources.filter((r) => r.name !== 'lease').map((r) => [r.name, r] as const))(
    '%s accepts a row of which nothing is known',
    (_, resource) => {
      expect(resource.check(rowOf(resource, {}), null)).toEqual([])
    },
  )
})

const derivations: [string, Resource, Row, Row][] = [
  [
    'load factor and parking ratio',
    building,
    { rentable_area: 410_000, usable_area: 356_500, parking_spaces: 380, area_unit: 'sqft' },
    { load_factor: 1.1501, parking_ratio: 0.93 },
  ],
  [
    'a parking ratio per 1,000 sqft of a building in sqm',
    building,
    { rentable_area: 9290.304, parking_spaces: 100, area_unit: 'sqm' },
    { load_factor: null, parking_ratio: 1 },
  ],
  [
    'no ratios without areas',
    building,
    { rentable_area: 0, usable_area: 0, parking_spaces: 10, area_unit: 'sqft' },
    { load_factor: null, parking_ratio: null },
  ],
  [
    'load factor of a space',
    space,
    { rentable_area: 115, usable_area: 100 },
    { load_factor: 1.15 },
  ],
  [
    'where a stored file can be read',
    document,
    { id: 'doc_7', version_number: 1 },
    { content_url: '/api/v1/documents/doc_7/content', linked_to: [] },
  ],
  ['no place before a file is stored', document, {}, { content_url: null, linked_to: [] }],
  [
    'what a document is linked to',
    document,
    { links: [{ object_type: 'lease', object_id: 'le_4' }] },
    { content_url: null, linked_to: ['le_4'] },
  ],
  ['the last four of a tax id', party, { tax_id: '36-4019274' }, { tax_id_last4: '9274' }],
  ['the last four of a short tax id', party, { tax_id: 'A-1' }, { tax_id_last4: 'A1' }],
  ['a tax id taken away', party, { tax_id_last4: '9274' }, { tax_id_last4: null }],
  ['a tax id left out', party, { tax_id: undefined, tax_id_last4: '9274' }, {}],
]

describe('derive', () => {
  it.each(derivations)('%s', (_, resource, values, expected) => {
    expect(resource.derive(rowOf(resource, values))).toEqual(expected)
  })
})
