/**
 * Secrets that must be recovered, so cannot be hashed: sealed with AES-256-GCM under the master key of the installation
 * before they are stored. The master key never reaches the database; each sealed text names the key that sealed it, so
 * the key can be replaced.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Config } from './config.ts'

const KEY_BYTES = 32
const NONCE_BYTES = 12
const TAG_BYTES = 16

/** The form of sealed texts; a new form gets a new word. */
const FORM = 's1'

interface MasterKey {
  id: string
  bytes: Buffer
}

/** Seals and opens secrets. The newest master key seals; older ones still open. */
export class Secrets {
  private readonly load: () => string
  private loaded: MasterKey[] | null = null

  /** @param load gives the keys in base64, newest first; called on first use. */
  constructor(load: () => string) {
    this.load = load
  }

  private get keys(): MasterKey[] {
    this.loaded ??= keysIn(this.load())
    return this.loaded
  }

  /** Name of the key that seals. */
  get keyId(): string {
    return (this.keys[0] as MasterKey).id
  }

  /** @param context what the secret belongs to; the sealed text opens nowhere else. */
  seal(text: string, context: string): string {
    const { id, bytes } = this.keys[0] as MasterKey
    const nonce = randomBytes(NONCE_BYTES)
    const cipher = createCipheriv('aes-256-gcm', bytes, nonce).setAAD(Buffer.from(context))
    const sealed = Buffer.concat([
      nonce,
      cipher.update(text, 'utf8'),
      cipher.final(),
      cipher.getAuthTag(),
    ])
    return `${FORM}.${id}.${sealed.toString('base64url')}`
  }

  /** @throws when the master key that sealed it is not at hand, or the text or its context is not what was sealed. */
  open(sealed: string, context: string): string {
    const [form, id = '', text = ''] = sealed.split('.')
    const key = this.keys.find((one) => one.id === id)
    if (form !== FORM || !key) throw new Error(strangeKey([id]))
    const bytes = Buffer.from(text, 'base64url')
    const decipher = createDecipheriv('aes-256-gcm', key.bytes, bytes.subarray(0, NONCE_BYTES))
      .setAAD(Buffer.from(context))
      .setAuthTag(bytes.subarray(-TAG_BYTES))
    return Buffer.concat([
      decipher.update(bytes.subarray(NONCE_BYTES, -TAG_BYTES)),
      decipher.final(),
    ]).toString('utf8')
  }

  /** The same secret under the newest key. */
  rewrap(sealed: string, context: string): string {
    return this.seal(this.open(sealed, context), context)
  }

  /** @throws a sentence on what to do when texts were sealed with keys that are not at hand. */
  requireKeys(ids: readonly string[]): void {
    const missing = ids.filter((id) => !this.keys.some((key) => key.id === id))
    if (missing.length > 0) throw new Error(strangeKey(missing))
  }
}

/** Name of the key that sealed a text. */
export function sealedBy(sealed: string): string {
  return sealed.split('.')[1] ?? ''
}

function strangeKey(ids: readonly string[]): string {
  return `secrets in the database were sealed with another master key (${ids.join(', ')}): set GRID_MASTER_KEY to the key of the process that sealed them, the text of master.key in its data directory`
}

function idOf(key: Buffer): string {
  return createHash('sha256').update('grid master key').update(key).digest('hex').slice(0, 12)
}

function keysIn(text: string): MasterKey[] {
  const keys = text.split(/[\s,]+/).filter((part) => part !== '')
  const bytes = keys.map((key) => Buffer.from(key, 'base64'))
  if (bytes.length > 0 && bytes.every((key) => key.length === KEY_BYTES))
    return bytes.map((key) => ({ id: idOf(key), bytes: key }))
  throw new Error(
    `a master key must be ${KEY_BYTES} bytes in base64, such as \`openssl rand -base64 32\` prints`,
  )
}

/**
 * The secrets of this installation, under the master keys of GRID_MASTER_KEY, else under those of `master.key` in the data
 * directory, which is made on first use.
 */
export function secretsOf(config: Pick<Config, 'GRID_MASTER_KEY' | 'GRID_DATA_DIR'>): Secrets {
  return new Secrets(() => config.GRID_MASTER_KEY ?? keyFile(config.GRID_DATA_DIR))
}

function keyPath(data_dir: string): string {
  return join(data_dir, 'master.key')
}

function keyFile(data_dir: string): string {
  const path = keyPath(data_dir)
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  mkdirSync(data_dir, { recursive: true, mode: 0o700 })
  const own = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  writeFileSync(own, `${newKey()}\n`, { mode: 0o600 })
  try {
    // The first process to link its file has made the key; the others read that one.
    linkSync(own, path)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  } finally {
    rmSync(own)
  }
  return readFileSync(path, 'utf8')
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('base64')
}

/**
 * Puts a new key before those of `master.key`, so that what is stored can be sealed again.
 * @returns a function that forgets the old keys, for when nothing is sealed with them any more.
 */
export function addMasterKey(data_dir: string): () => void {
  const [old, key] = [keyFile(data_dir), newKey()]
  replaceKeys(data_dir, `${key}\n${old}`)
  return () => replaceKeys(data_dir, `${key}\n`)
}

function replaceKeys(data_dir: string, text: string): void {
  const path = keyPath(data_dir)
  writeFileSync(`${path}.new`, text, { mode: 0o600 })
  renameSync(`${path}.new`, path)
}
