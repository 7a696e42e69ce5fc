import { createSecretKey } from 'node:crypto'
import { array, assert, base64String, nat, option, property, string, uint8Array } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { decodeCursor, encodeCursor, queryHash } from './page.ts'

const NOW = Date.parse('2026-05-12T08:00:00Z')
const DAY_MS = 86_400_000

const secret = uint8Array({ minLength: 32, maxLength: 32 }).map((bytes) => createSecretKey(bytes))
const values = array(option(string({ unit: 'grapheme' }), { nil: null }), {
  minLength: 1,
  maxLength: 4,
})
const query = array(string(), { maxLength: 4 })

describe('a cursor', () => {
  it('gives back the values it was made of', () => {
    assert(
      property(secret, query, values, nat(DAY_MS - 1_000), (key, parts, list, age) => {
        const hash = queryHash(1, parts)
        const cursor = encodeCursor(key, hash, list, NOW)
        expect(cursor).toMatch(/^[A-Za-z0-9_.-]+$/)
        expect(decodeCursor(key, hash, cursor, NOW + age)).toEqual(list)
      }),
    )
  })

  it('is refused for another query, with another secret, after a day, and when any character differs', () => {
    assert(
      property(secret, query, values, nat(10_000), (key, parts, list, at) => {
        const hash = queryHash(1, parts)
        const cursor = encodeCursor(key, hash, list, NOW)
        const other = createSecretKey(key.export().map((byte) => byte ^ 1))
        const place = at % cursor.length
        const letter = cursor[place] === 'A' ? 'B' : 'A'
        const changed = cursor.slice(0, place) + letter + cursor.slice(place + 1)
        expect(() => decodeCursor(key, queryHash(1, [...parts, 'x']), cursor, NOW)).toThrow(
          /belongs to another/,
        )
        expect(() => decodeCursor(key, queryHash(2, parts), cursor, NOW)).toThrow(
          /belongs to another/,
        )
        expect(() => decodeCursor(other, hash, cursor, NOW)).toThrow(/not one this service made/)
        expect(() => decodeCursor(key, hash, changed, NOW)).toThrow(/not one this service made/)
        expect(() => decodeCursor(key, hash, cursor, NOW + DAY_MS + 2_000)).toThrow(
          /older than 24 hours/,
        )
      }),
    )
  })

  it('made up by a stranger is refused whatever it holds', () => {
    const text = option(string(), { nil: '' })
    assert(
      property(text, base64String(), base64String(), (any, payload, signature) => {
        for (const cursor of [any, payload, `${payload}.${signature}`, `${payload}.`]) {
          expect(() =>
            decodeCursor(createSecretKey(Buffer.alloc(32)), 'hash', cursor, NOW),
          ).toThrow(/cursor/)
        }
      }),
    )
  })
})
