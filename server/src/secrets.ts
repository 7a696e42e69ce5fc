/**
 * Secrets that must be recovered, so cannot be hashed: sealed with AES-256-GCM under the master key of the installation
 * before they are stored. The master key never reaches the database; each sealed text names the key that sealed it, so
 * the key can be replaced.
 */
import { createCipheriv, createDecipheriv, createHash, randomBytes } from 'node:crypto'
import { link, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
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
  private readonly keys: readonly MasterKey[]

  /** @param keys newest first, 32 bytes each. */
  constructor(keys: readonly Buffer[]) {
    if (keys.length === 0 || keys.some((key) => key.length !== KEY_BYTES))
      throw new Error(`a master key has ${KEY_BYTES} bytes`)
    this.keys = keys.map((bytes) => ({ id: idOf(bytes), bytes }))
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

function keyPath(data_dir: string): string {
  return join(data_dir, 'master.key')
}

/**
 * The master keys of this installation: those of GRID_MASTER_KEY, else those of `master.key` in the data directory, which
 * is made on first use.
 * @throws when a key is not 32 bytes in base64.
 */
export async function secretsOf(config: Config): Promise<Secrets> {
  const text = config.GRID_MASTER_KEY ?? (await keyFile(config.GRID_DATA_DIR))
  return new Secrets(parse(text))
}

function parse(text: string): Buffer[] {
  const keys = text.split(/[\s,]+/).filter((part) => part !== '')
  return keys.map((part) => {
    const bytes = Buffer.from(part, 'base64')
    if (bytes.length === KEY_BYTES) return bytes
    throw new Error(
      `a master key must be ${KEY_BYTES} bytes in base64, such as \`openssl rand -base64 32\` prints`,
    )
  })
}

async function keyFile(data_dir: string): Promise<string> {
  const path = keyPath(data_dir)
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error
  }
  await mkdir(data_dir, { recursive: true, mode: 0o700 })
  const own = `${path}.${process.pid}.${randomBytes(4).toString('hex')}`
  await writeFile(own, `${newKey()}\n`, { mode: 0o600 })
  // The first process to link its file has made the key; the others read that one.
  await link(own, path).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'EEXIST') throw error
  })
  await rm(own)
  return await readFile(path, 'utf8')
}

function newKey(): string {
  return randomBytes(KEY_BYTES).toString('base64')
}

/**
 * Puts a new key before those of `master.key`, so that `rewrap` may run.
 * @returns the keys to use, and a function that forgets the old ones once nothing is sealed with them.
 */
export async function addMasterKey(
  data_dir: string,
): Promise<{ secrets: Secrets; forgetOld: () => Promise<void> }> {
  const [old, key] = [await keyFile(data_dir), newKey()]
  await replaceKeys(data_dir, `${key}\n${old}`)
  return {
    secrets: new Secrets(parse(`${key}\n${old}`)),
    forgetOld: async () => await replaceKeys(data_dir, `${key}\n`),
  }
}

async function replaceKeys(data_dir: string, text: string): Promise<void> {
  const path = keyPath(data_dir)
  await writeFile(`${path}.new`, text, { mode: 0o600 })
  await rename(`${path}.new`, path)
}
