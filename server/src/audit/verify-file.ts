/** Verifying an export without a database: whoever has the file and the public key needs nothing else. */
import { createHash } from 'node:crypto'
import { createReadStream } from 'node:fs'
import { createInterface } from 'node:readline'
import { canonical } from './canonical.ts'
import { entryHash, isSigned } from './chain.ts'
import type { Checkpoint, Signed } from './chain.ts'
import type { ExportHead } from './export.ts'

/** What is wrong with a file, and where: the line, and the position in the chain. */
export interface FileFault {
  line: number
  position: number | null
  reason:
    | 'unreadable'
    | 'no_head'
    | 'bad_signature'
    | 'unknown_key'
    | 'foreign'
    | 'moved'
    | 'missing'
    | 'changed'
    | 'truncated'
    | 'rewritten'
  message: string
}

export interface FileVerification {
  ok: boolean
  organization_id: string | null
  entries: number
  /** Entries of which values were erased, each named by a later one. */
  erased: number
  checkpoints: number
  first_position: number | null
  last_position: number | null
  /** Public keys that signed, in base64. */
  keys: string[]
  fault: FileFault | null
}

/** Signed lines begin so; entries begin with another key, for theirs are in order. */
const STATEMENT = '{"object":"audit_'

/**
 * Reads an export in the form ndjson twice, line by line: first what was signed, then the entries.
 * @param trusted public keys, in base64; null trusts the key that signed the head.
 * @throws when the file cannot be read.
 */
export async function verifyFile(
  path: string,
  trusted: readonly string[] | null,
): Promise<FileVerification> {
  const { head, checkpoints, keys, fault } = await readStatements(path, trusted)
  const result: FileVerification = {
    ok: false,
    organization_id: head?.organization_id ?? null,
    entries: 0,
    erased: 0,
    checkpoints: checkpoints.size,
    first_position: head?.first_position ?? null,
    last_position: head?.last_position ?? null,
    keys,
    fault,
  }
  if (!head || fault) return result
  const chain = new Chain(head, checkpoints)
  for await (const { number, text } of linesOf(path)) {
    if (text.startsWith(STATEMENT)) continue
    result.fault = chain.take(number, text)
    if (result.fault) break
  }
  result.entries = chain.entries
  result.fault ??= chain.end()
  result.erased = chain.erased
  return { ...result, ok: result.fault === null }
}

async function* linesOf(path: string): AsyncGenerator<{ number: number; text: string }> {
  let number = 0
  const input = createReadStream(path)
  for await (const text of createInterface({ input, crlfDelay: Infinity })) {
    number++
    if (text !== '') yield { number, text }
  }
}

interface Statements {
  head: ExportHead | null
  checkpoints: Map<number, Checkpoint>
  keys: string[]
  fault: FileFault | null
}

async function readStatements(
  path: string,
  trusted: readonly string[] | null,
): Promise<Statements> {
  const keys = new Set<string>()
  const found: Statements = { head: null, checkpoints: new Map(), keys: [], fault: null }
  for await (const { number, text } of linesOf(path)) {
    if (!text.startsWith(STATEMENT)) continue
    const statement = parse(text) as Signed<ExportHead | Checkpoint> | null
    found.fault ??= statementFault(number, statement, found.head, trusted)
    if (!statement || found.fault) break
    keys.add(statement.public_key)
    if (statement.object === 'audit_export') found.head = statement
    else found.checkpoints.set(statement.position, statement)
  }
  if (!found.head) found.fault ??= faultOf(1, null, 'no_head', 'The head of the export is missing.')
  return { ...found, keys: [...keys] }
}

function statementFault(
  line: number,
  statement: Signed<ExportHead | Checkpoint> | null,
  head: ExportHead | null,
  trusted: readonly string[] | null,
): FileFault | null {
  if (!statement) return faultOf(line, null, 'unreadable', 'The line is no JSON object.')
  const position = statement.object === 'audit_checkpoint' ? statement.position : null
  if (!isSigned(statement))
    return faultOf(line, position, 'bad_signature', 'The signature does not match the line.')
  const good = trusted ?? [head?.public_key ?? statement.public_key]
  if (!good.includes(statement.public_key))
    return faultOf(line, position, 'unknown_key', `Key ${statement.key_id} is not trusted.`)
  if (head && statement.organization_id !== head.organization_id)
    return faultOf(line, position, 'foreign', 'The line belongs to another organization.')
  return null
}

/** What an entry that tells of an erasure says: hashes of what was left, by position. */
interface Redacted {
  entries?: Record<string, string>
}

/** Follows the entries from hash to hash. */
class Chain {
  entries = 0
  erased = 0
  /** Entries of which values were erased: what is left of each hashes to this, which a later entry must name. */
  private readonly unproved = new Map<number, { line: number; rest: string }>()
  private position: number
  private hash: Buffer
  private line = 1
  private signed: number
  private readonly head: ExportHead
  private readonly checkpoints: ReadonlyMap<number, Checkpoint>
  /** Where the order broke; whether the entry expected there stands further down tells if it is missing or moved. */
  private gap: { line: number; expected: number } | null = null

  constructor(head: ExportHead, checkpoints: ReadonlyMap<number, Checkpoint>) {
    this.head = head
    this.checkpoints = checkpoints
    this.position = (head.first_position ?? 1) - 1
    this.signed = this.position
    this.hash = Buffer.from(head.previous_hash ?? '', 'hex')
  }

  take(line: number, text: string): FileFault | null {
    this.line = line
    const entry = parse(text)
    if (!entry) return faultOf(line, this.position + 1, 'unreadable', 'The line is no JSON object.')
    const { hash, erased_by, ...rest } = entry
    const position = Number(rest['position'])
    if (this.gap) return this.lookFor(position)
    const expected = this.position + 1
    if (position < expected || !Number.isInteger(position))
      return faultOf(line, position, 'moved', `Entry ${position} stands where ${expected} belongs.`)
    if (position > expected) {
      this.gap = { line, expected }
      return null
    }
    if (erased_by !== undefined) return this.takeErased(line, String(hash), canonical(rest))
    const computed = entryHash(this.hash, canonical(rest))
    if (computed.toString('hex') !== hash)
      return faultOf(
        line,
        position,
        'changed',
        `Entry ${position} was changed, or the hash of entry ${position - 1} was.`,
      )
    this.entries++
    this.position = position
    this.hash = computed
    if (rest['action'] === 'erasure.redacted') this.prove(rest['details'] as Redacted | null)
    return this.checkMark(line)
  }

  /** Its hash is that of the whole; the chain goes on from it. */
  private takeErased(line: number, hash: string, rest: string): FileFault | null {
    this.entries++
    this.position++
    this.hash = Buffer.from(hash, 'hex')
    this.unproved.set(this.position, {
      line,
      rest: createHash('sha256').update(rest).digest('hex'),
    })
    return this.checkMark(line)
  }

  private prove(details: Redacted | null): void {
    for (const [position, rest] of Object.entries(details?.entries ?? {})) {
      const number = Number(position)
      if (this.unproved.get(number)?.rest !== rest) continue
      this.unproved.delete(number)
      this.erased++
    }
  }

  private unprovedFault(): FileFault | null {
    const [first] = this.unproved
    if (!first) return null
    const [position, { line }] = first
    const message = `Entry ${position} lacks values, and no entry of the file says that they were erased. A longer export may.`
    return faultOf(line, position, 'changed', message)
  }

  /** What the whole came to, once every line was taken. */
  end(): FileFault | null {
    const { gap, position, line } = this
    if (gap) return faultOf(gap.line, gap.expected, 'missing', `Entry ${gap.expected} is missing.`)
    const { last_position: last, last_hash } = this.head
    if (last === null) return null
    if (position < last)
      return faultOf(
        line,
        position + 1,
        'truncated',
        `The file ends with entry ${position}; its head says that it goes on to ${last}.`,
      )
    if (this.hash.toString('hex') !== last_hash) return this.rewritten(line)
    return this.unprovedFault()
  }

  private lookFor(position: number): FileFault | null {
    const { line, expected } = this.gap as { line: number; expected: number }
    if (position !== expected) return null
    const message = `Entry ${expected} does not stand here but in line ${this.line}.`
    return faultOf(line, expected, 'moved', message)
  }

  /** Is the hash here the one that was signed? */
  private checkMark(line: number): FileFault | null {
    const mark = this.checkpoints.get(this.position)
    if (!mark) return null
    if (mark.hash !== this.hash.toString('hex')) return this.rewritten(line)
    this.signed = this.position
    return null
  }

  private rewritten(line: number): FileFault {
    const { position, signed } = this
    const message = `The chain was computed anew: entry ${position} does not have the hash that was signed. What was changed lies in the entries ${signed + 1} to ${position}.`
    return faultOf(line, position, 'rewritten', message)
  }
}

function faultOf(
  line: number,
  position: number | null,
  reason: FileFault['reason'],
  message: string,
): FileFault {
  return { line, position, reason, message }
}

function parse(text: string): Record<string, unknown> | null {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : null
  } catch {
    return null
  }
}
