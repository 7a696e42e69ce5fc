import fc from 'fast-check'
import { Webhook } from 'standardwebhooks'
import { expect, it, test } from 'vitest'
import { keyOf, newSecret, SECRET_PATTERN, signatureHeaders, verify } from './signature.ts'

const SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const BODY = '{"type":"lease.updated","data":{"id":"le_1"}}'
const ID = 'evt_01J8ZQ'
const T = 1_750_000_000

it('signs as published', () => {
  expect(signatureHeaders([keyOf(SECRET)], ID, T, BODY)).toEqual({
    'x-grid-signature':
      't=1750000000,v1=28e740ec97af7603c651e21d6f88a8bbf10ae88db228c71aa0ed98f090937f29',
    'webhook-id': ID,
    'webhook-timestamp': '1750000000',
    'webhook-signature': 'v1,KOdA7JevdgPGUeIdb4iou/EK6I2yKMcaoO2Y8JCTfyk=',
  })
})

const bodies = fc.oneof(fc.string({ unit: 'binary' }), fc.json())

it('verifies with any of the secrets', () => {
  fc.assert(
    fc.property(bodies, fc.integer({ min: 1, max: 3 }), fc.nat(2), (body, count, chosen) => {
      const secrets = Array.from({ length: count }, newSecret)
      const now = Math.floor(Date.now() / 1_000)
      const headers = signatureHeaders(secrets.map(keyOf), ID, now, body)
      const mine = secrets[chosen % count] as string
      const bytes = Buffer.from(body)
      expect(verify([keyOf(mine)], headers['x-grid-signature'], ID, bytes, now)).toBe(0)
    }),
  )
})

it('is verified by the library of the standard', () => {
  fc.assert(
    fc.property(fc.json(), (body) => {
      const secret = newSecret()
      const now = Math.floor(Date.now() / 1_000)
      const headers = signatureHeaders([keyOf(newSecret()), keyOf(secret)], ID, now, body)
      expect(new Webhook(secret).verify(body, headers)).toEqual(JSON.parse(body))
    }),
  )
})

it('holds for no other body, id, time or secret', () => {
  fc.assert(
    fc.property(bodies, bodies, (body, other) => {
      const [secret, stranger] = [keyOf(newSecret()), keyOf(newSecret())]
      const header = signatureHeaders([secret], ID, T, body)['x-grid-signature'] as string
      const bytes = Buffer.from(body)
      expect(verify([stranger], header, ID, bytes, T)).toBeNull()
      expect(verify([secret], header, 'evt_2', bytes, T)).toBeNull()
      expect(verify([secret], header.replace(`t=${T}`, `t=${T + 1}`), ID, bytes, T)).toBeNull()
      const same = Buffer.from(other).equals(bytes)
      expect(verify([secret], header, ID, Buffer.from(other), T)).toBe(same ? 0 : null)
    }),
  )
})

const mac = signatureHeaders([keyOf(SECRET)], ID, T, BODY)['x-grid-signature']?.slice(13) as string

test.each([
  ['as sent', `t=${T},${mac}`, T, 0],
  ['at the end of the tolerance', `t=${T},${mac}`, T + 300, 0],
  ['too late', `t=${T},${mac}`, T + 301, null],
  ['too early', `t=${T},${mac}`, T - 301, null],
  ['with a scheme nobody knows', `t=${T},v9=abc,${mac}`, T, 0],
  ['behind a wrong one', `t=${T},v1=${'0'.repeat(64)},${mac}`, T, 0],
  ['cut short', `t=${T},${mac.slice(0, -1)}`, T, null],
  ['without a time', mac, T, null],
  ['without a signature', `t=${T}`, T, null],
  ['empty', '', T, null],
  ['absent', undefined, T, null],
])('a header %s', (_, header, now, place) => {
  expect(verify([keyOf(SECRET)], header, ID, Buffer.from(BODY), now)).toBe(place)
})

it('makes secrets that fit their pattern', () => {
  expect(newSecret()).toMatch(new RegExp(SECRET_PATTERN))
  expect(keyOf(newSecret()).symmetricKeySize).toBe(32)
})
