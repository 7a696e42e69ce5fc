/** The key that signs checkpoints of the audit log, and the public keys that are trusted. */
import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  randomBytes,
} from 'node:crypto'
import type { KeyObject } from 'node:crypto'
import { link, mkdir, readFile, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface AuditKey {
  private: KeyObject
  /** 32 bytes in base64. */
  public: string
}

interface KeySettings {
  GRID_AUDIT_KEY: string | null
  GRID_DATA_DIR: string
}

/**
 * The key of this installation: the setting, else `audit.key` in the data directory, which is made on the first start.
 * @throws when the key there cannot be read.
 */
export async function auditKey(settings: KeySettings): Promise<AuditKey> {
  if (settings.GRID_AUDIT_KEY !== null) return keyFrom(settings.GRID_AUDIT_KEY, 'GRID_AUDIT_KEY')
  const path = join(settings.GRID_DATA_DIR, 'audit.key')
  const text = (await keyText(path)) ?? (await newKeyText(settings.GRID_DATA_DIR, path))
  return keyFrom(text, path)
}

async function keyText(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw error
  }
}

/** Of several processes that start at once, one makes the key: a link does not replace a file. */
async function newKeyText(folder: string, path: string): Promise<string> {
  const { privateKey } = generateKeyPairSync('ed25519')
  const text = privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64')
  const draft = `${path}.${randomBytes(4).toString('hex')}`
  await mkdir(folder, { recursive: true })
  await writeFile(draft, `${text}\n`, { mode: 0o600 })
  try {
    await link(draft, path)
    return text
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    return await readFile(path, 'utf8')
  } finally {
    await rm(draft)
  }
}

/** @param where names the place in the error. */
export function keyFrom(text: string, where: string): AuditKey {
  try {
    const der = Buffer.from(text.trim(), 'base64')
    const key = createPrivateKey({ key: der, format: 'der', type: 'pkcs8' })
    if (key.asymmetricKeyType !== 'ed25519') throw new Error(`it is ${key.asymmetricKeyType}`)
    const { x = '' } = createPublicKey(key).export({ format: 'jwk' })
    return { private: key, public: Buffer.from(x, 'base64url').toString('base64') }
  } catch (cause) {
    throw new Error(`${where} must hold an ed25519 key as PKCS #8 in base64`, { cause })
  }
}

/** @throws when it is no public key. */
export function publicKey(text: string): KeyObject {
  const x = Buffer.from(text, 'base64').toString('base64url')
  return createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
}

/** Short name of a public key, for people to compare. */
export function keyId(public_key: string): string {
  return createHash('sha256').update(Buffer.from(public_key, 'base64')).digest('hex').slice(0, 16)
}
