/** Verifying an organization's chain where it is kept: batch by batch, up to the first position that is wrong. */
import { publicId } from '../kit/ids.ts'
import type { OrgDb } from '../kit/types.ts'
import { GENESIS, isSigned } from './chain.ts'
import type { Checkpoint } from './chain.ts'
import { keyId } from './key.ts'
import {
  checkpointsFrom,
  firstPosition,
  hashAt,
  judgeChain,
  lastPosition,
  listCheckpoints,
} from './queries.ts'
import type { CheckpointRow, Judged } from './queries.ts'

/** Entries looked at by one statement. */
const BATCH = 5_000

/** What can be wrong at a position, and how it is said. */
export const FAULTS = {
  missing: 'The entry is missing.',
  moved: 'The entry was written at another position.',
  changed: 'The entry was changed after it was sealed, or the hash of the one before it was.',
  entry_missing: 'The row this entry was made from was deleted.',
  entry_changed: 'The row this entry was made from was changed.',
  truncated: 'The entries from here on are missing: the chain went further.',
  rewritten: 'The chain was computed anew: its hash is not the one that was signed here.',
  bad_signature: 'The signature of the checkpoint here does not match it.',
  unknown_key: 'The checkpoint here was signed with a key that is not trusted.',
} as const

export type Reason = keyof typeof FAULTS

export interface Fault {
  position: number
  reason: Reason
  message: string
}

export interface Verification {
  ok: boolean
  /** Entries whose hash was computed. */
  entries: number
  /** Of them those of which values were erased, each as a later entry says. */
  erased: number
  first_position: number | null
  last_position: number | null
  /** Signatures that were verified. */
  checkpoints: number
  fault: Fault | null
}

export interface VerifyRange {
  from: number | null
  to: number | null
}

export function faultAt(position: number, reason: Reason): Fault {
  return { position, reason, message: FAULTS[reason] }
}

/** @param trusted public keys whose signatures count, in base64. */
export async function verifyChain(
  db: OrgDb,
  org_id: number,
  { from, to }: VerifyRange,
  trusted: readonly string[],
): Promise<Verification> {
  const last = await lastPosition(db, org_id)
  const end = Math.min(to ?? last, last)
  const start = Math.max(from ?? (await startOf(db, org_id)), 1)
  const result: Verification = {
    ok: true,
    entries: 0,
    erased: 0,
    first_position: null,
    last_position: null,
    checkpoints: 0,
    fault: null,
  }
  if (start > end) return result
  const before = start === 1 ? GENESIS.toString('hex') : await hashAt(db, org_id, start - 1)
  const fault = before
    ? await walk(db, org_id, start, end, before, result)
    : faultAt(start - 1, 'missing')
  const unsigned = await checkSignatures(db, org_id, start - 1, end, trusted, result)
  const found = [fault, unsigned].flatMap((one) => one ?? [])
  result.fault = found.sort((a, b) => a.position - b.position)[0] ?? null
  return { ...result, ok: result.fault === null }
}

/** Where the chain begins: at its first entry, or behind the checkpoint up to which it was dropped. */
async function startOf(db: OrgDb, org_id: number): Promise<number> {
  const first = await firstPosition(db, org_id)
  if (first === 1) return 1
  const cuts = await listCheckpoints(db, org_id, first, 1)
  const [cut] = first === null ? await listCheckpoints(db, org_id, null, 1) : cuts
  return cut?.dropped ? Number(cut.position) + 1 : 1
}

async function walk(
  db: OrgDb,
  org_id: number,
  start: number,
  end: number,
  before: string,
  result: Verification,
): Promise<Fault | null> {
  let hash = before
  for (let position = start; position <= end; position += BATCH) {
    const to = Math.min(position + BATCH - 1, end)
    const judged = await judgeChain(db, org_id, position, to, hash)
    if (judged.entries > 0) result.first_position ??= start
    result.entries += judged.entries
    result.erased += judged.erased
    result.last_position = judged.position ?? result.last_position
    const fault = faultOf(judged, position, to)
    if (fault) return await orTruncated(db, org_id, fault, end)
    hash = judged.hash as string
  }
  return null
}

function faultOf(judged: Judged, from: number, to: number): Fault | null {
  const { fault, fault_position, position } = judged
  if (fault_position !== null && fault) return faultAt(fault_position, fault)
  return position === to ? null : faultAt((position ?? from - 1) + 1, 'missing')
}

/** Entries missing at the end are a shorter chain, not a gap. */
async function orTruncated(db: OrgDb, org_id: number, fault: Fault, end: number): Promise<Fault> {
  if (fault.reason !== 'missing') return fault
  const rest = await judgeChain(db, org_id, fault.position, end, GENESIS.toString('hex'))
  return rest.entries > 0 ? fault : faultAt(fault.position, 'truncated')
}

/** Verifies every signature of the range and that the chain still has the hash that was signed. */
async function checkSignatures(
  db: OrgDb,
  org_id: number,
  from: number,
  to: number,
  trusted: readonly string[],
  result: Verification,
): Promise<Fault | null> {
  for (let position = from; ;) {
    const rows = await checkpointsFrom(db, org_id, position, to, BATCH)
    for (const row of rows) {
      const fault = signatureFault(org_id, row, trusted)
      if (fault) return faultAt(Number(row.position), fault)
      result.checkpoints++
    }
    if (rows.length < BATCH) return null
    position = Number(rows.at(-1)?.position) + 1
  }
}

function signatureFault(
  org_id: number,
  row: CheckpointRow,
  trusted: readonly string[],
): Reason | null {
  if (!isSigned(checkpointView(org_id, row))) return 'bad_signature'
  if (!trusted.includes(row.public_key)) return 'unknown_key'
  return row.sealed_hash !== null && row.sealed_hash !== row.hash ? 'rewritten' : null
}

/** A checkpoint as it was signed, and as it is read. */
export function checkpointView(org_id: number, row: CheckpointRow): Checkpoint {
  return {
    object: 'audit_checkpoint',
    organization_id: publicId('org', org_id),
    position: Number(row.position),
    hash: row.hash,
    at: row.at.toISOString(),
    key_id: keyId(row.public_key),
    public_key: row.public_key,
    signature: row.signature,
  }
}
