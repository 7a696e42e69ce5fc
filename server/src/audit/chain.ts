/** The chain of audit entries: hashes that tie each to the one before, and signatures over some of them. Pure. */
import { createHash, sign, verify } from 'node:crypto'
import { canonical } from './canonical.ts'
import { keyId, publicKey } from './key.ts'
import type { AuditKey } from './key.ts'

/** What the first entry of an organization follows. */
export const GENESIS = Buffer.alloc(32)

/** SHA-256 of the hash before and the canonical JSON of the entry. */
export function entryHash(previous: Buffer, body: string): Buffer {
  return createHash('sha256').update(previous).update(body).digest()
}

/** Says: the chain of this organization had this hash at this position at this time. */
export interface Checkpoint {
  object: 'audit_checkpoint'
  organization_id: string
  position: number
  /** In hexadecimal digits. */
  hash: string
  at: string
  key_id: string
  public_key: string
  signature: string
}

/** A statement with the name of the key and its signature over the canonical JSON of all the rest. */
export type Signed<T> = T & Pick<Checkpoint, 'key_id' | 'public_key' | 'signature'>

export function signed<T extends object>(key: AuditKey, statement: T): Signed<T> {
  const named = { ...statement, key_id: keyId(key.public), public_key: key.public }
  const signature = sign(null, Buffer.from(canonical(named)), key.private).toString('base64')
  return { ...named, signature }
}

/** Was the statement signed by the key it names? */
export function isSigned(statement: Signed<object>): boolean {
  const { signature, ...named } = statement
  try {
    const key = publicKey(named.public_key)
    const bytes = Buffer.from(canonical(named))
    return (
      named.key_id === keyId(named.public_key) &&
      verify(null, bytes, key, Buffer.from(signature, 'base64'))
    )
  } catch {
    return false
  }
}

export function checkpointOf(
  key: AuditKey,
  organization_id: string,
  { position, hash, at }: { position: number; hash: Buffer; at: string },
): Checkpoint {
  const object = 'audit_checkpoint' as const
  return signed(key, { object, organization_id, position, hash: hash.toString('hex'), at })
}

/** An entry as it is read and exported: its canonical JSON with the hash behind it, and who erased values of it. */
export function withHash({ body, hash, erased_tx }: Stored): string {
  const by = erased_tx === null ? '' : `,"erased_by":"aud_${BigInt(erased_tx) * 100_000n}"`
  return `${body.slice(0, -1)}${by},"hash":"${hash}"}`
}

interface Stored {
  body: string
  hash: string
  erased_tx: string | null
}
