import { describe, expect, test } from 'vitest'
import { pdf } from './pdf.ts'

describe('a drawn file', () => {
  const file = pdf([['LEASE AGREEMENT', 'Suite 1200 (east) \\ Müller – “Söhne”'], ['Page two']])
  const text = file.toString('latin1')

  test('has a table that says where each object begins', () => {
    const start = Number(/startxref\n(\d+)/.exec(text)?.[1])
    expect(text.slice(start, start + 4)).toBe('xref')
    const offsets = [...text.slice(start).matchAll(/^(\d{10}) 00000 n $/gm)].map(([, at]) =>
      Number(at),
    )
    expect(offsets).toHaveLength(7)
    offsets.forEach((at, i) => expect(text.slice(at)).toMatch(new RegExp(`^${i + 1} 0 obj\\n`)))
  })

  test('has the length of each stream right', () => {
    const streams = [...text.matchAll(/\/Length (\d+) >>\nstream\n([\s\S]*?)\nendstream/g)]
    expect(streams).toHaveLength(2)
    for (const [, length, stream] of streams) expect(stream).toHaveLength(Number(length))
  })

  test('escapes what has a meaning in strings and keeps Latin letters', () => {
    expect(text).toContain(String.raw`(Suite 1200 \(east\) \\ Müller - ?Söhne?) Tj`)
    expect(text).toContain('/Count 2')
  })
})
