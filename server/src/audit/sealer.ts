/** Seals audit entries into the chain of their organization once their transactions are placed. */
import type { Db } from '../db/db.ts'
import { never } from '../events/wake.ts'
import { ApiError } from '../kit/errors.ts'
import { publicId } from '../kit/ids.ts'
import { canonical } from './canonical.ts'
import { checkpointOf, entryHash } from './chain.ts'
import type { Checkpoint } from './chain.ts'
import { sealedEntry } from './entry.ts'
import type { WrittenEntry } from './entry.ts'
import type { AuditKey } from './key.ts'
import { auditsDue, seal, takeAudit, unsealedBy, unsealedEntries } from './seal-queries.ts'
import type { Head, Sealed } from './seal-queries.ts'

/** Entries sealed by one transaction at most: so many keep the thread busy for some 20 ms. */
const BATCH_MAX = 300

/** Organizations looked at in one round. */
const ORGANIZATIONS_MAX = 100

/** A checkpoint stands at every multiple of this position, and at the end of a chain that was quiet for so long. */
const SIGNED_EVERY = 1_000
const SIGNED_WITHIN_MS = 60 * 60 * 1_000

/** How long it may take to seal all that was written, and the pause while others are at it, in milliseconds. */
const WHOLE_WITHIN_MS = 30_000
const AGAIN_MS = 20

/**
 * Seals what is due, in any organization. One that cannot be sealed does not keep the others waiting.
 * @returns how many entries were sealed.
 * @throws what the first that failed threw, once all were tried.
 */
export async function sealAudits(db: Db, key: AuditKey): Promise<number> {
  let sealed = 0
  const failures: unknown[] = []
  for (const org_id of await auditsDue(db, ORGANIZATIONS_MAX)) {
    try {
      sealed += await sealAudit(db, key, org_id)
    } catch (error) {
      failures.push(error)
    }
  }
  if (failures.length > 0) throw failures[0]
  return sealed
}

/** Seals the next entries of one organization, unless another process is at it. @returns how many. */
export async function sealAudit(db: Db, key: AuditKey, org_id: number): Promise<number> {
  return await db.transaction(org_id, async (tx) => {
    const head = await takeAudit(tx, org_id)
    if (!head) return 0
    const entries = await unsealedEntries(tx, org_id, head.first_seq, BATCH_MAX)
    await seal(tx, org_id, sealedRows(org_id, key, head, entries))
    return entries.length
  })
}

/**
 * Seals all that the organization has written so far. Others may hold the chain or the placing: they are waited for.
 * @param place numbers what has committed.
 * @throws 503 when that takes too long.
 */
export async function sealWhole(
  db: Db,
  key: AuditKey,
  org_id: number,
  place: () => Promise<unknown>,
  stopping: AbortSignal,
): Promise<void> {
  const until = Date.now() + WHOLE_WITHIN_MS
  const { now } = await unsealedBy(db, org_id, null)
  while (true) {
    await place()
    const sealed = await sealAudit(db, key, org_id)
    if (!(await unsealedBy(db, org_id, now)).waits) return
    stopping.throwIfAborted()
    if (Date.now() > until)
      throw new ApiError('unavailable', 'The audit log is not sealed yet; try again.')
    if (sealed === 0) await never.asleep(AGAIN_MS, stopping)
  }
}

/** What is written for these entries behind this head. */
function sealedRows(
  org_id: number,
  key: AuditKey,
  head: Head,
  entries: readonly WrittenEntry[],
): Parameters<typeof seal>[2] {
  const organization_id = publicId('org', org_id)
  // Times of sealing never go back, whatever the clock does.
  const at = new Date(Math.max(head.now.getTime(), head.at?.getTime() ?? 0)).toISOString()
  const checkpoints: (Checkpoint & { sealed_at: string })[] = []
  const seals: Sealed[] = []
  let { position, hash, signed_position, unsigned_since } = head
  const sign = (sealed_at: string): void => {
    checkpoints.push({ ...checkpointOf(key, organization_id, { position, hash, at }), sealed_at })
    signed_position = position
    unsigned_since = null
  }
  const waits_ms = head.now.getTime() - (head.unsigned_since?.getTime() ?? Infinity)
  const ends = entries.length > 0 && monthOf(head.at?.toISOString() ?? at) !== monthOf(at)
  if (position > signed_position && head.at && (ends || waits_ms >= SIGNED_WITHIN_MS))
    sign(head.at.toISOString())
  for (const entry of entries) {
    position++
    const body = canonical(sealedEntry(org_id, position, entry))
    hash = entryHash(hash, body)
    seals.push({ position, hash, body, entry })
    if (position % SIGNED_EVERY === 0) sign(at)
  }
  const last = entries.at(-1)
  const done = entries.length < BATCH_MAX
  return {
    head: {
      position,
      hash: hash.toString('hex'),
      at: last ? at : (head.at?.toISOString() ?? null),
      first_seq: last?.first_seq ?? head.first_seq,
      placed: done ? head.placed : null,
      signed_position,
      unsigned_since: position > signed_position ? (unsigned_since ?? at) : null,
    },
    checkpoints,
    at,
    seals,
  }
}

/** The log is kept by the month; a chain is signed where a month ends, so that it can be cut there. */
function monthOf(time: string): string {
  return time.slice(0, 7)
}
