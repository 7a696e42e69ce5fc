import { describe, expect, test } from 'vitest'
import type { Issue } from '../kit/errors.ts'
import { registry } from '../resources.ts'
import { fixedReferences } from './adapter-checks.ts'
import { adapterHash, readAdapter } from './adapter.ts'
import type { Stream } from './adapter.ts'
import { document, issuesOf } from './document-fixture.ts'
import type { Part } from './document-fixture.ts'

describe('an adapter document', () => {
  test('is completed with what it leaves out', () => {
    const adapter = readAdapter(document(), registry)
    expect(adapter).toMatchObject({
      version: 1,
      mode: 'upsert',
      source: { rank: 50 },
      locale: { decimal: '.', thousands: ',', date: ['yyyy-MM-dd'], nulls: [''] },
      guards: { max_retract_pct: 10, max_error_pct: 2, max_errors: 500, min_rows: 1 },
      streams: [{ name: 'building', group: false, resolve: {} }],
    })
  })

  test('is the same as YAML and as JSON', () => {
    const yaml = `
adapter: test
source: { name: Test, kind: csv }
streams:
  - { type: building, key: row.Code, map: { name: row.Name } }
`
    const [a, b] = [yaml, document()].map((text) => adapterHash(readAdapter(text, registry)))
    expect(a).toBe(b)
  })

  const map = (entries: Part): string => document({ map: entries })
  const resolve = (rule: Part, path = 'property_id'): string =>
    document({
      resolve: { [path]: { type: 'property', stream: 'p', value: 'row.P', ...rule } },
    })

  test.each<[string, string, Partial<Issue>]>([
    ['neither YAML nor JSON', '{"adapter":', { field: 'adapter', code: 'malformed' }],
    ['a list', '[]', { field: 'adapter', code: 'invalid_type' }],
    ['an alias', 'a: &a 1\nb: *a', { field: 'adapter', code: 'malformed' }],
    ['nested beyond all use', '['.repeat(20_000), { field: 'adapter', code: 'malformed' }],
    [
      'without a source',
      JSON.stringify({ adapter: 'a', streams: [] }),
      { field: 'adapter.source', code: 'required' },
    ],
    [
      'with a mistyped word',
      document({}, { guard: {} }),
      { field: 'adapter.guard', code: 'unknown_field', suggestion: 'guards' },
    ],
    [
      'with a bad guard',
      document({}, { guards: { min_rows: -1 } }),
      { field: 'adapter.guards.min_rows', code: 'out_of_range' },
    ],
    [
      'of an unknown type',
      document({ type: 'bilding' }),
      { field: 'adapter.streams[0].type', code: 'unknown_value', suggestion: 'building' },
    ],
    [
      'of organizations',
      document({ type: 'organization' }),
      { field: 'adapter.streams[0].type', code: 'unknown_value' },
    ],
    [
      'of an unknown field',
      map({ rentabel_area: 'row.A' }),
      {
        field: 'adapter.streams[0].map.rentabel_area',
        code: 'unknown_field',
        suggestion: 'rentable_area',
      },
    ],
    [
      'of a field that objects inherit',
      map({ constructor: 'row.A' }),
      { field: 'adapter.streams[0].map.constructor', code: 'unknown_field' },
    ],
    [
      'of a field the platform sets',
      map({ load_factor: 'row.A' }),
      { field: 'adapter.streams[0].map.load_factor', code: 'unknown_field' },
    ],
    [
      'of an unknown part',
      map({ address: { object: { town: 'row.A' } } }),
      { field: 'adapter.streams[0].map.address.town', code: 'unknown_field' },
    ],
    [
      'with an expression that ends too soon',
      document({ key: 'row.Code +' }),
      { field: 'adapter.streams[0].key', code: 'invalid_expression' },
    ],
    [
      'with code for an expression',
      map({ name: { from: 'process.exit()' } }),
      { field: 'adapter.streams[0].map.name.from', code: 'invalid_expression' },
    ],
    [
      'that gives a value twice',
      map({ name: { from: 'row.A', value: 'B' } }),
      { field: 'adapter.streams[0].map.name', code: 'ambiguous' },
    ],
    [
      'that gives no value',
      map({ name: { nulls: ['0'] } }),
      { field: 'adapter.streams[0].map.name', code: 'ambiguous' },
    ],
    [
      'with a fixed value that does not fit',
      map({ building_class: { value: 'z' } }),
      { field: 'adapter.streams[0].map.building_class.value', code: 'invalid_enum' },
    ],
    [
      'with an option that does not fit',
      map({ building_class: { from: 'row.A', options: { A: 'aa' } } }),
      { field: 'adapter.streams[0].map.building_class.options.A', code: 'invalid_enum' },
    ],
    [
      'that reads text as a number',
      map({ name: { from: 'row.A', type: 'number' } }),
      { field: 'adapter.streams[0].map.name.type', code: 'invalid_type' },
    ],
    [
      'that scales what is no percentage',
      map({ year_built: { from: 'row.A', scale: 'fraction' } }),
      { field: 'adapter.streams[0].map.year_built.scale', code: 'invalid_type' },
    ],
    [
      'that takes an id from a cell',
      map({ property_id: 'row.P' }),
      { field: 'adapter.streams[0].map.property_id', code: 'invalid_type' },
    ],
    [
      'that takes a list from a cell',
      map({ external_ids: 'row.P' }),
      { field: 'adapter.streams[0].map.external_ids', code: 'invalid_type' },
    ],
    [
      'that makes an object of a text',
      map({ name: { object: { line1: 'row.A' } } }),
      { field: 'adapter.streams[0].map.name', code: 'invalid_type' },
    ],
    [
      'with a pattern that is none',
      map({ remeasured_date: { from: 'row.A', date: ['(a+)+$'] } }),
      { field: 'adapter.streams[0].map.remeasured_date.date[0]', code: 'invalid_format' },
    ],
    [
      'with a pattern of two days',
      document({}, { locale: { date: ['dd.MM.yyyy', 'dd.dd.yyyy'] } }),
      { field: 'adapter.locale.date[1]', code: 'invalid_format' },
    ],
    [
      'whose decimal sign is its separator',
      document({}, { locale: { decimal: ',' } }),
      { field: 'adapter.locale.thousands', code: 'ambiguous' },
    ],
    [
      'with an unknown time zone',
      document({}, { locale: { timezone: 'Europe/Bielefeld' } }),
      { field: 'adapter.locale.timezone', code: 'unknown_value' },
    ],
    [
      'that resolves what is no reference',
      resolve({}, 'name'),
      { field: 'adapter.streams[0].resolve.name', code: 'unknown_field' },
    ],
    [
      'that resolves to another type',
      resolve({ type: 'party' }),
      { field: 'adapter.streams[0].resolve.property_id', code: 'unknown_field' },
    ],
    [
      'that resolves to an unknown type',
      resolve({ type: 'propertie' }),
      {
        field: 'adapter.streams[0].resolve.property_id.type',
        code: 'unknown_value',
        suggestion: 'property',
      },
    ],
    [
      'that resolves with a bad expression',
      resolve({ value: 'row.' }),
      { field: 'adapter.streams[0].resolve.property_id.value', code: 'invalid_expression' },
    ],
    [
      'with a stub of unknown fields',
      resolve({ missing: 'create_stub', stub: { nam: 'row.A' } }),
      { field: 'adapter.streams[0].resolve.property_id.stub.nam', code: 'unknown_field' },
    ],
    [
      'with a stub that has external ids',
      resolve({ missing: 'create_stub', stub: { external_ids: { list: { id: 'row.A' } } } }),
      { field: 'adapter.streams[0].resolve.property_id.stub.external_ids', code: 'unknown_field' },
    ],
    [
      'with stubs in its own stream',
      resolve({ missing: 'create_stub', stream: 'building' }),
      { field: 'adapter.streams[0].resolve.property_id', code: 'ambiguous' },
    ],
    [
      'that maps and resolves one field',
      document({
        map: { property_id: { value: 'prop_1' } },
        resolve: { property_id: { type: 'property', stream: 'p', value: 'row.P' } },
      }),
      { field: 'adapter.streams[0].resolve.property_id', code: 'ambiguous' },
    ],
    [
      'that resolves inside what it does not map',
      document({
        type: 'lease',
        resolve: { 'premises.building_id': { type: 'building', stream: 'b', value: 'row.B' } },
      }),
      { field: 'adapter.streams[0].resolve.premises.building_id', code: 'not_mapped' },
    ],
  ])('%s is refused', (_, text, expected) => {
    expect(issuesOf(text)).toContainEqual(expect.objectContaining(expected))
  })

  test('is refused with everything that is wrong with it', () => {
    const text = document({ key: 'Code', map: { nam: 'row.A', year_built: { value: 'old' } } })
    expect(issuesOf(text).map(({ field }) => field)).toEqual([
      'adapter.streams[0].key',
      'adapter.streams[0].map.nam',
      'adapter.streams[0].map.year_built.value',
    ])
  })

  test('is refused with what its form and what its meaning lacks, once each', () => {
    const map = { name: 'row.A +', nam: 'row.A', code: { form: 'row.B' }, premises: 5 }
    const resolve = {
      'premises.space_id': { type: 'space', stream: 's', value: 'row.S' },
      owner_id: { type: 'party', stream: 'p', value: 'row.P' },
    }
    const text = document(
      { key: 7, map, resolve },
      { guard: {}, locale: { decimal: ';', timezone: 'Mars' } },
    )
    const found = issuesOf(text).map(
      ({ field, code }) => `${field.replace('adapter.', '')} ${code}`,
    )
    expect(found.toSorted()).toEqual([
      'guard unknown_field',
      'locale.decimal invalid_enum',
      'locale.timezone unknown_value',
      'streams[0].key invalid_type',
      'streams[0].map.code invalid_type',
      'streams[0].map.code.form unknown_field',
      'streams[0].map.nam unknown_field',
      'streams[0].map.name invalid_expression',
      'streams[0].map.premises invalid_type',
      'streams[0].resolve.owner_id unknown_field',
    ])
  })

  test('whose streams cannot be looked into is refused for that alone', () => {
    for (const streams of [5, [5], [{ type: 'building' }]]) {
      const issues = issuesOf(document({}, { streams }))
      expect(issues.length).toBeGreaterThan(0)
    }
  })

  test('of more than 200,000 characters is too large', () => {
    expect(() => readAdapter(' '.repeat(200_001), registry)).toThrow(
      expect.objectContaining({ code: 'payload_too_large' }),
    )
  })

  test('names the objects that it refers to itself', () => {
    const [stream] = readAdapter(
      document({ map: { name: 'row.A', property_id: { value: 'prop_7' } } }),
      registry,
    ).streams as [Stream]
    expect(fixedReferences(stream, registry)).toEqual([
      { field: 'adapter.streams[0].map.property_id.value', target: 'property', id: 'prop_7' },
    ])
  })
})
