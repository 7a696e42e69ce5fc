import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, test } from 'vitest'
import { addMasterKey, sealedBy, Secrets, secretsOf } from './secrets.ts'

const key = (): string => randomBytes(32).toString('base64')
const under = (...keys: string[]): Secrets => new Secrets(() => keys.join(','))

it('opens what it sealed, where it was sealed to', () => {
  const secrets = under(key())
  const sealed = secrets.seal('whsec_abc', 'webhook:1:2')
  expect(sealed).not.toContain('abc')
  expect(sealed).not.toBe(secrets.seal('whsec_abc', 'webhook:1:2'))
  expect(secrets.open(sealed, 'webhook:1:2')).toBe('whsec_abc')
  expect(() => secrets.open(sealed, 'webhook:1:3')).toThrow()
  const at = sealed.length - 3
  const flipped = sealed.slice(0, at) + (sealed[at] === 'A' ? 'B' : 'A') + sealed.slice(at + 1)
  expect(() => secrets.open(flipped, 'webhook:1:2')).toThrow()
})

it('opens with an old key, and seals again with the newest', () => {
  const [old, fresh] = [key(), key()]
  const sealed = under(old).seal('text', 'c')
  const both = under(fresh, old)
  const again = both.rewrap(sealed, 'c')
  expect(sealedBy(again)).toBe(both.keyId)
  expect(under(fresh).open(again, 'c')).toBe('text')
  expect(() => under(fresh).open(sealed, 'c')).toThrow(/set GRID_MASTER_KEY/)
  expect(() => under(fresh).requireKeys([under(old).keyId])).toThrow(/set GRID_MASTER_KEY/)
  expect(() => both.requireKeys([under(old).keyId])).not.toThrow()
})

test.each(['', 'short', Buffer.alloc(31).toString('base64')])('refuses the key %j', (text) => {
  expect(() => under(text).keyId).toThrow(/32 bytes in base64/)
})

it('makes a key for its owner alone on first use, and the same for all', () => {
  const GRID_DATA_DIR = join(mkdtempSync(join(tmpdir(), 'grid-key-')), 'data')
  const config = { GRID_MASTER_KEY: null, GRID_DATA_DIR }
  const sealed = secretsOf(config).seal('text', 'c')
  expect(secretsOf(config).open(sealed, 'c')).toBe('text')
  expect(readdirSync(GRID_DATA_DIR)).toEqual(['master.key'])
  const path = join(GRID_DATA_DIR, 'master.key')
  expect(statSync(path).mode & 0o777).toBe(0o600)

  const forget = addMasterKey(GRID_DATA_DIR)
  const again = secretsOf(config).rewrap(sealed, 'c')
  forget()
  expect(readFileSync(path, 'utf8').trim().split('\n')).toHaveLength(1)
  expect(secretsOf(config).open(again, 'c')).toBe('text')
  expect(() => secretsOf(config).open(sealed, 'c')).toThrow(/another master key/)
})
