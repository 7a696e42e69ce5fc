/** Exports of the audit log: a signed head, the entries in order, the checkpoints. Batch by batch, whatever the length. */
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { csvCell } from '../kit/tables/csv.ts'
import type { OrgDb } from '../kit/types.ts'
import { GENESIS, signed, withHash } from './chain.ts'
import type { Signed } from './chain.ts'
import type { AuditKey } from './key.ts'
import { checkpointsFrom, entriesFrom, hashAt, positionsBetween } from './queries.ts'
import { checkpointView } from './verify.ts'

export const FORMATS = ['ndjson', 'csv'] as const

export type Format = (typeof FORMATS)[number]

/** Rows read by one statement. */
const BATCH = 1_000

/** What an export says of itself: it goes from one position to another and ends in this hash. */
export type ExportHead = Signed<{
  object: 'audit_export'
  organization_id: string
  made_at: string
  since: string | null
  until: string | null
  first_position: number | null
  last_position: number | null
  /** Hash before the first entry, and that of the last. */
  previous_hash: string | null
  last_hash: string | null
}>

/** @param since @param until times of sealing, so that what is exported is one piece of the chain. */
export async function exportHead(
  db: OrgDb,
  org_id: number,
  key: AuditKey,
  since: string | null,
  until: string | null,
): Promise<ExportHead> {
  const range = await positionsBetween(db, org_id, since, until)
  const { first, last } = range ?? { first: null, last: null }
  return signed(key, {
    object: 'audit_export' as const,
    organization_id: publicId('org', org_id),
    made_at: new Date().toISOString(),
    since,
    until,
    first_position: first,
    last_position: last,
    previous_hash: first === null ? null : await hashBefore(db, org_id, first),
    last_hash: last === null ? null : await hashAt(db, org_id, last),
  })
}

async function hashBefore(db: OrgDb, org_id: number, first: number): Promise<string | null> {
  return first === 1 ? GENESIS.toString('hex') : await hashAt(db, org_id, first - 1)
}

/** The lines of an export. */
export async function* exportLines(
  db: OrgDb,
  org_id: number,
  format: Format,
  head: ExportHead,
): AsyncGenerator<string> {
  yield format === 'csv' ? `${COLUMNS.join(',')}\r\n` : `${JSON.stringify(head)}\n`
  const { first_position, last_position } = head
  if (first_position !== null && last_position !== null) {
    for (let from = first_position; from <= last_position;) {
      const rows = await entriesFrom(db, org_id, from, last_position, BATCH)
      const last = rows.at(-1)
      if (!last) break
      from = Number(last.position) + 1
      const texts = rows.map(withHash)
      yield format === 'csv' ? texts.map(csvLine).join('') : `${texts.join('\n')}\n`
    }
    yield* checkpointLines(db, org_id, format, first_position, last_position)
  }
  if (format === 'csv') yield statementLine(head)
}

async function* checkpointLines(
  db: OrgDb,
  org_id: number,
  format: Format,
  first: number,
  last: number,
): AsyncGenerator<string> {
  for (let from = first; from <= last;) {
    const rows = await checkpointsFrom(db, org_id, from, last, BATCH)
    if (rows.length === 0) return
    from = Number(rows.at(-1)?.position) + 1
    const views = rows.map((row) => checkpointView(org_id, row))
    yield views
      .map((view) => (format === 'csv' ? statementLine(view) : `${JSON.stringify(view)}\n`))
      .join('')
  }
}

const COLUMNS = [
  'object',
  'position',
  'id',
  'at',
  'action',
  'object_type',
  'object_id',
  'object_version',
  'actor_type',
  'actor_id',
  'actor_name',
  'request_id',
  'job_id',
  'changed',
  'before',
  'after',
  'details',
  'erased_by',
  'hash',
] as const

type Cells = Partial<Record<(typeof COLUMNS)[number], unknown>>

function csvLine(text: string): string {
  const entry = JSON.parse(text) as Row
  const { type, id, name } = entry['actor'] as Row
  return csvRow({ ...entry, actor_type: type, actor_id: id, actor_name: name })
}

/** Checkpoints, and the head of the export, stand in the column `details`. */
function statementLine(statement: { object: string } & Cells): string {
  const { object, position, hash } = statement
  return csvRow({ object, position, hash, details: statement })
}

function csvRow(cells: Cells): string {
  return `${COLUMNS.map((name) => csvCell(cells[name])).join(',')}\r\n`
}
