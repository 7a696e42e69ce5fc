/** Parts of adapter documents: fields of the organization, what is said of the file, checks, lookups. */
import { describe, expect, test } from 'vitest'
import { choice, percent } from '../kit/field.ts'
import { registry } from '../resources.ts'
import { readAdapter } from './adapter.ts'
import type { ExtFields, Stream } from './adapter.ts'
import { document, issuesOf } from './document-fixture.ts'
import type { Part } from './document-fixture.ts'
import { compileMapping, statedNames } from './mapping.ts'

describe('fields of the organization', () => {
  const field = percent('How green it is.', { example: 12.5, min: 0, max: 100 })
  const rating = choice(['good', 'bad'], 'How good it is.', { example: 'good' })
  const ext: ExtFields = new Map([
    [
      'building',
      {
        green_share: { key: 'x12', field },
        rating: { key: 'x13', field: rating, stored: { good: 1 } },
      },
    ],
  ])
  const map = {
    name: 'row.Name',
    'ext.green_share': { from: 'row.Green', type: 'percent', scale: 'fraction' },
    'ext.rating': 'row.Rating',
  }

  test('are filled under the names that facts have for them', () => {
    const checks = [{ id: 'green', expr: 'ext.green_share < 50' }]
    const adapter = readAdapter(document({ map, checks }), registry, ext)
    const [stream] = adapter.streams as [Stream]
    const mapping = compileMapping(adapter, stream, registry, ['Code', 'Name', 'Green', 'Rating'])
    const { record } = mapping.map([{ row: 2, cells: ['A', 'N', '0.125', 'good'] }])
    expect(record?.stated).toEqual({ name: 'N', x12: 12.5, x13: 1 })
    expect([...statedNames(stream)]).toEqual(['name', 'x12', 'x13'])
    const { issues } = mapping.map([{ row: 3, cells: ['A', 'N', '0.6', 'good'] }])
    expect(issues.map(({ code }) => code)).toEqual(['check_failed'])
  })

  test('are refused where there are none, or not of that name', () => {
    expect(issuesOf(document({ map }))).toMatchObject([
      { field: 'adapter.streams[0].map.ext.green_share', code: 'unknown_field' },
      { field: 'adapter.streams[0].map.ext.rating', code: 'unknown_field' },
    ])
  })
})

describe('what a document says of its file', () => {
  const source = { name: 'Test', kind: 'csv' }
  test.each<[string, Part, Part, string, string]>([
    [
      'an unknown cell above the header',
      {},
      { effective: { from: 'meta.as_of' } },
      'effective.from',
      'unknown_name',
    ],
    [
      'two days',
      {},
      { effective: { from: "'2025-01-01'", date: '2025-01-01' } },
      'effective',
      'ambiguous',
    ],
    [
      'a row in the day',
      {},
      { effective: { from: 'row.Day' } },
      'effective.from',
      'invalid_expression',
    ],
    [
      'a bad condition',
      {},
      { source: { ...source, skip_rows_where: 'row.' } },
      'source.skip_rows_where',
      'invalid_expression',
    ],
    [
      'a bad mark',
      {},
      { mode: { delete_marker: 'Status' } },
      'mode.delete_marker',
      'invalid_expression',
    ],
    ['a mark of another kind', {}, { mode: 'sometimes' }, 'mode', 'invalid_enum'],
    [
      'a check of an unmapped field',
      { checks: [{ id: 'a', expr: 'year_built > 1' }] },
      {},
      'streams[0].checks[0].expr',
      'invalid_expression',
    ],
    [
      'a check of two kinds',
      { checks: [{ id: 'a', expr: 'true', aggregate: 'count()' }] },
      {},
      'streams[0].checks[0]',
      'ambiguous',
    ],
    [
      'an aggregate that is none',
      { checks: [{ id: 'a', aggregate: 'median(row.A)', compare: 1 }] },
      {},
      'streams[0].checks[0].aggregate',
      'invalid_expression',
    ],
    [
      'an aggregate without measure',
      { checks: [{ id: 'a', aggregate: 'count()' }] },
      {},
      'streams[0].checks[0].compare',
      'required',
    ],
    [
      'totals without totals',
      { checks: [{ id: 'a', aggregate: 'count()', compare: 'totals.A' }] },
      {},
      'streams[0].checks[0].compare',
      'invalid_expression',
    ],
    [
      'a lookup by nothing',
      { resolve: { property_id: { type: 'property', value: 'row.P' } } },
      {},
      'streams[0].resolve.property_id',
      'required',
    ],
    [
      'a lookup by an unknown field',
      { resolve: { property_id: { type: 'property', by: 'kode', value: 'row.P' } } },
      {},
      'streams[0].resolve.property_id.by',
      'unknown_field',
    ],
    [
      'a lookup by an area',
      { resolve: { property_id: { type: 'property', by: 'land_area', value: 'row.P' } } },
      {},
      'streams[0].resolve.property_id.by',
      'invalid_type',
    ],
    [
      'fewer values than fields',
      { resolve: { property_id: { type: 'property', by: ['code', 'name'], value: 'row.P' } } },
      {},
      'streams[0].resolve.property_id.value',
      'ambiguous',
    ],
    [
      'a stub without a stream',
      {
        resolve: {
          property_id: { type: 'property', by: 'code', value: 'row.P', missing: 'create_stub' },
        },
      },
      {},
      'streams[0].resolve.property_id.stream',
      'required',
    ],
    [
      'emptiness of a required field',
      { map: { name: { from: 'row.A', on_error: 'null_with_issue' } } },
      {},
      'streams[0].map.name.on_error',
      'required',
    ],
    [
      'a currency of no amount',
      { map: { name: { from: 'row.A', currency: 'EUR' } } },
      {},
      'streams[0].map.name.currency',
      'invalid_type',
    ],
  ])('%s is refused', (_, stream, more, field, code) => {
    expect(issuesOf(document(stream, more))).toContainEqual(
      expect.objectContaining({ field: `adapter.${field}`, code }),
    )
  })
})
