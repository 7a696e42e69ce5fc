import * as fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { registry } from '../resources.ts'
import { readAdapter } from './adapter.ts'
import type { Stream } from './adapter.ts'
import { chunks, CHUNK_RECORDS, errorRow, survey } from './chunks.ts'
import type { Chunk, Source } from './chunks.ts'
import { hash64, hashCells, KeyCounts } from './keys.ts'
import type { Mapped } from './mapping.ts'
import { fileFixture } from './readers/file-fixture.ts'
import { openSource } from './source.ts'

const files = fileFixture()
afterAll(() => files.remove())

type Part = Record<string, unknown>

/** A CSV file opened with a stream of an adapter. */
async function sourceOf(csv: string, stream: Part, more: Part = {}): Promise<Source> {
  const adapter = readAdapter(
    JSON.stringify({
      adapter: 'test',
      source: { name: 'Test', kind: 'csv' },
      streams: [{ type: 'building', key: 'row.Key', map: { name: 'row.Name' }, ...stream }],
      ...more,
    }),
    registry,
  )
  const [first] = adapter.streams as [Stream]
  return await openSource(files.write('table.csv', csv), adapter, first, registry)
}

async function read(csv: string, stream: Part): Promise<{ source: Source; found: Chunk[] }> {
  const group = stream['group'] === true
  const first = await survey(await sourceOf(csv, stream), group, async () => {})
  const source = await sourceOf(csv, stream)
  const found: Chunk[] = []
  for await (const chunk of chunks(source, new KeyCounts(), first)) found.push(chunk)
  return { source, found }
}

/** What the records of a file state. */
async function mapped(csv: string, stream: Part): Promise<Mapped[]> {
  const { source, found } = await read(csv, stream)
  return found.flatMap(({ records }) => records.map(({ rows }) => source.mapping.map(rows)))
}

describe('keys', () => {
  test('are counted as a map counts them, whatever the number', () => {
    const keys = fc.array(fc.oneof(fc.string(), fc.nat(50).map(String)), { maxLength: 4_000 })
    fc.assert(
      fc.property(keys, (list) => {
        const counts = new KeyCounts()
        const expected = new Map<string, number>()
        for (const key of list) {
          expect(counts.add(key)).toBe(expected.get(key) ?? 0)
          expected.set(key, (expected.get(key) ?? 0) + 1)
        }
        expect(counts.size).toBe(expected.size)
        for (const [key, count] of expected) expect(counts.count(key)).toBe(count)
        expect(counts.count('never added')).toBe(expected.get('never added') ?? 0)
      }),
      { numRuns: 50 },
    )
  })

  test('that are near each other have hashes that are not', () => {
    const hashes = new Set(Array.from({ length: 200_000 }, (_, i) => hash64(`LTX${i}`).join()))
    expect(hashes.size).toBe(200_000)
  })

  test.each([
    [[['a', 'b']], [['ab', '']]],
    [[['5']], [[5]]],
    [[[null]], [['null']]],
    [[[true]], [['true']]],
    [
      [['a'], ['b']],
      [['b'], ['a']],
    ],
    [[['a']], [['a'], ['a']]],
  ])('rows that differ hash differently: %j and %j', (a, b) => {
    const hash = (rows: (string | number | boolean | null)[][]): string =>
      hashCells(
        rows.map((cells) => ({ cells })),
        [0, 1],
        [1, 2],
      )
    expect(hash(a)).not.toBe(hash(b))
    expect(hash(a)).toBe(hash(structuredClone(a)))
  })
})

describe('chunks', () => {
  const lines = (count: number, key = (i: number): string => `K${i}`): string =>
    `Key,Name\n${Array.from({ length: count }, (_, i) => `${key(i)},N${i}\n`).join('')}`

  test('are the same for the same file', async () => {
    const csv = lines(CHUNK_RECORDS * 2 + 7, (i) => (i % 10 === 0 ? '' : `K${i % 1_000}`))
    const [a, b] = [await read(csv, {}), await read(csv, {})]
    expect(a.found).toEqual(b.found)
    expect(a.found).toHaveLength(2)
  })

  test('lose no row and keep the file order', async () => {
    const { found } = await read(lines(CHUNK_RECORDS * 2 + 7), {})
    expect(found.map(({ records }) => records.length)).toEqual([CHUNK_RECORDS, CHUNK_RECORDS, 7])
    expect(found.flatMap(({ records }) => records.map(({ key }) => key))).toEqual(
      Array.from({ length: CHUNK_RECORDS * 2 + 7 }, (_, i) => `K${i}`),
    )
  })

  test('leave out rows without a key, with a long one, and with one that was there before', async () => {
    const { found } = await read(`Key,Name\nA,1\n,2\n${'x'.repeat(501)},3\nA,4\nB,5\n`, {})
    const [chunk] = found as [Chunk]
    expect(chunk.records.map(({ key }) => key)).toEqual(['A', 'B'])
    expect(chunk.errors.map(({ row, field, code }) => [row, field, code])).toEqual([
      [3, 'key', 'missing_key'],
      [4, 'key', 'missing_key'],
      [5, 'key', 'duplicate_key'],
    ])
    expect(chunk.errors[2]).toMatchObject({ raw: { Key: 'A', Name: '4' }, level: 'error' })
  })

  test('hold the rows of one object together, however far apart they stand', async () => {
    const csv = lines(CHUNK_RECORDS * 3, (i) => `K${i % (CHUNK_RECORDS + 1)}`)
    const { found } = await read(csv, { group: true })
    const records = found.flatMap((chunk) => chunk.records)
    expect(records).toHaveLength(CHUNK_RECORDS + 1)
    expect(records.every(({ rows }) => rows.length >= 2)).toBe(true)
    expect(found.reduce((sum, { rows }) => sum + rows, 0)).toBe(CHUNK_RECORDS * 3)
  })

  test('a change of the adapter or of a cell it reads changes the hash, one beside it does not', async () => {
    const hashOf = async (csv: string, stream: Part): Promise<string | undefined> =>
      (await read(csv, stream)).found[0]?.records[0]?.hash
    const one = await hashOf('Key,Name,Other\nA,B,C\n', {})
    expect(await hashOf('Key,Name,Other\nA,B,D\n', {})).toBe(one)
    expect(await hashOf('Other,Key,Name\nD,A,B\n', {})).toBe(one)
    expect(await hashOf('Key,Name,Other\nA,X,C\n', {})).not.toBe(one)
    expect(await hashOf('Key,Name,Other\nA,B,C\n', { map: { code: 'row.Name' } })).not.toBe(one)
  })

  test('long cells are cut beside an error', async () => {
    const { source } = await read('Key,Name\nA,B\n', {})
    const issue = { row: 2, field: 'name', code: 'x', message: 'y', level: 'error' } as const
    const { raw } = errorRow(source, { cells: ['A', 'z'.repeat(60_000)] }, issue)
    expect((raw['Name'] as string).length).toBeLessThan(600)
  })
})

describe('rows', () => {
  test('state what their cells hold, and nothing where they are blank', async () => {
    const map = {
      name: 'row.Name',
      rentable_area: { from: 'row.Area', nulls: ['0'] },
      year_built: 'row.Year',
      sprinklered: 'row.S',
      tags: { from: 'row.Tag', options: { F: 'federal' } },
      area_unit: { value: 'sqft' },
      address: { object: { city: 'row.City', region: `'US-' + row.State` } },
    }
    const csv =
      'Key,Name,Area,Year,S,Tag,City,State\nA,Tower,"1,200.5",1987,yes,F,Boston,MA\nB,,0,,,,,\n'
    const [a, b] = await mapped(csv, { map })
    expect(a?.record?.stated).toEqual({
      name: 'Tower',
      rentable_area: 1_200.5,
      year_built: 1_987,
      sprinklered: true,
      tags: ['federal'],
      area_unit: 'sqft',
      address: { city: 'Boston', region: 'US-MA' },
    })
    expect(b?.record?.stated).toEqual({ area_unit: 'sqft' })
  })

  test('that cannot be read are left out, or only their cell is', async () => {
    const map = {
      name: 'row.Name',
      year_built: 'row.Year',
      rentable_area: { from: 'row.Area', on_error: 'quarantine_cell' },
    }
    const [a, b] = await mapped('Key,Name,Year,Area\nA,N,soon,5\nB,N,1987,-5\n', { map })
    expect(a).toMatchObject({
      record: null,
      issues: [{ row: 2, field: 'year_built', code: 'not_a_number', level: 'error' }],
    })
    expect(b?.record?.stated).toEqual({ name: 'N', year_built: 1_987 })
    expect(b?.issues).toMatchObject([
      { row: 3, field: 'rentable_area', code: 'out_of_range', level: 'warning' },
    ])
  })

  test('name every cell that is wrong with them', async () => {
    const map = { name: 'row.Name', year_built: 'row.Year', building_class: 'row.Class' }
    const [a] = await mapped(`Key,Name,Year,Class\nA,${'n'.repeat(201)},99999,z\n`, { map })
    expect(a?.issues.map(({ field, code }) => [field, code])).toEqual([
      ['name', 'too_long'],
      ['year_built', 'out_of_range'],
      ['building_class', 'invalid_enum'],
    ])
  })

  const lease = {
    type: 'lease',
    group: true,
    map: {
      lease_number: 'row.Key',
      name: { from: 'row.Name', rows: 'same' },
      rentable_area: 'row.Area',
      premises: { list: { label: 'row.Name' } },
    },
  }

  test('of one object become one record: its first values, those all agree on, a list of each', async () => {
    const [a] = await mapped('Key,Name,Area\nL,North,5\nL,South,6\nL,North,5\n', lease)
    expect(a?.record).toMatchObject({ row: 2, stated: { lease_number: 'L', rentable_area: 5 } })
    expect(a?.record?.stated).not.toHaveProperty('name')
    expect(a?.record?.stated?.['premises']).toMatchObject([{ label: 'North' }, { label: 'South' }])
  })

  test('of one object agree on a value when all give it', async () => {
    const [a] = await mapped('Key,Name,Area\nL,North,5\nL,North,6\n', lease)
    expect(a?.record?.stated?.['name']).toBe('North')
  })

  test('of one object are left out together: half an object is none', async () => {
    const [a] = await mapped('Key,Name,Area\nL,North,5\nL,South,x\n', lease)
    expect(a?.record).toBeNull()
    expect(a?.issues.map(({ row, code }) => [row, code])).toEqual([
      [3, 'not_a_number'],
      [2, 'incomplete_group'],
    ])
  })

  test('name related objects by key until they are found', async () => {
    const [a, b] = await mapped('Key,Name,Site\nA,N,P-1\nB,N,\n', {
      resolve: { property_id: { type: 'property', stream: 'sites', value: 'row.Site' } },
    })
    expect(a?.record?.stated?.['property_id']).toEqual({ $ref: ['property_id', 'P-1'] })
    expect(b?.record?.stated).not.toHaveProperty('property_id')
  })
})
