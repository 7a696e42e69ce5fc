/** One chunk on its way from rows to facts: which records changed, what they state, what follows, one transaction. */
import { DatabaseError } from 'pg'
import { inOrder } from '../db/db.ts'
import type { Session } from '../db/db.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import type { Row } from '../kit/resource.ts'
import type { Tx } from '../kit/types.ts'
import { errorRow } from './chunks.ts'
import type { Chunk, Source } from './chunks.ts'
import { saveChunk, saveErrors, saveProgress } from './job-queries.ts'
import { withCounts } from './jobs.ts'
import type { ErrorRow, JobCounts, JobState } from './jobs.ts'
import { ChunkConflict, doorWrites, prepare, write } from './load.ts'
import type { LoadItem, Prepared } from './load.ts'
import type { RowIssue } from './mapping.ts'
import type { SheetRow } from './readers/types.ts'
import { changedRecords, externalOwners, lockRows } from './record-queries.ts'
import type { Resolved, Resolver } from './resolve.ts'
import { goOn, GuardTripped } from './running.ts'
import type { Running } from './running.ts'

/** Times a chunk is prepared anew when other writes touched its objects meanwhile. */
const TRIES = 10

/** From this try on the objects are locked before they are read, so that it is the last. */
const LOCKED_TRY = 3

/** Records of a chunk that are not as they were, with the rows they came from. */
export interface Mapped {
  no: number
  items: LoadItem[]
  rows: ReadonlyMap<LoadItem, SheetRow>
  errors: ErrorRow[]
  counts: Partial<JobCounts>
}

/** A chunk with everything that writing it takes. */
export interface Ready {
  mapped: Mapped
  prepared: Prepared
  resolved: Resolved
  errors: ErrorRow[]
  /** Without those of what was prepared. */
  counts: Partial<JobCounts>
}

/** Records that must be looked at: the others are as the source's last run left them. */
export type Changed = Promise<Map<number, number | null>>

export function lookUp({ load }: Running, chunk: Chunk): Changed {
  return changedRecords(load.store.db, load, chunk.records, load.next !== null)
}

/** Reads the rows of the records that changed. */
export async function mapChunk(
  source: Source,
  no: number,
  chunk: Chunk,
  changed: Changed,
): Promise<Mapped> {
  const items: LoadItem[] = []
  const rows = new Map<LoadItem, SheetRow>()
  const errors = [...chunk.errors]
  let quarantined = chunk.errors.length
  let warnings = 0
  const found = await changed
  for (const [i, object_id] of found) {
    const raw = chunk.records[i] as Chunk['records'][number]
    const { record, issues } = source.mapping.map(raw.rows)
    for (const issue of issues) {
      const row = raw.rows.find((row) => row.row === issue.row) as SheetRow
      errors.push(errorRow(source, row, issue))
    }
    if (!record) {
      quarantined += raw.rows.length
      continue
    }
    warnings += new Set(issues.map((issue) => issue.row)).size
    // A row with a cell that could not be read is read again the next time.
    const hash = issues.length > 0 ? '0' : raw.hash
    const item = { key: raw.key, row: record.row, hash, object_id, stated: record.stated }
    items.push(item)
    rows.set(item, raw.rows[0] as SheetRow)
  }
  const counts = {
    rows_read: chunk.rows,
    rows_valid: chunk.rows - quarantined,
    quarantined,
    warnings,
    unchanged: chunk.records.length - found.size,
  }
  return { no, items, rows, errors, counts }
}

/** Finds related objects and plans the claims. */
export async function readyChunk(
  running: Running,
  source: Source,
  resolver: Resolver,
  mapped: Mapped,
): Promise<Ready> {
  const { load } = running
  const rowOf = (item: LoadItem): SheetRow => mapped.rows.get(item) as SheetRow
  const free = await withoutTaken(running, mapped.items)
  const found = await resolver.resolve(
    free.items,
    free.items.map((item) => rowOf(item).cells),
  )
  const resolved = { ...found, ...(await resolver.checks.check(found.items)) }
  const byRow = new Map(mapped.items.map((item) => [item.row, rowOf(item)]))
  const issues = [...free.issues, ...found.issues, ...resolved.issues]
  const errors = [
    ...mapped.errors,
    ...issues.map((issue) => errorRow(source, byRow.get(issue.row) ?? { cells: [] }, issue)),
  ].sort((a, b) => a.row - b.row)
  const prepared = await prepare(load, resolved.items)
  const refused = mapped.items.length - resolved.items.length
  const warned = new Set(resolved.items.map(({ row }) => row))
  const warnings = new Set(issues.flatMap(({ row }) => (warned.has(row) ? [row] : []))).size
  const { rows_valid = 0, quarantined = 0 } = mapped.counts
  const counts = {
    ...mapped.counts,
    quarantined: quarantined + refused,
    rows_valid: rows_valid - refused,
    warnings: (mapped.counts.warnings ?? 0) + warnings,
    stubs: resolved.stubs.length,
  }
  return { mapped, prepared, resolved, errors, counts }
}

/** Leaves out records with an external id that another object has. */
async function withoutTaken(
  { load }: Running,
  items: readonly LoadItem[],
): Promise<{ items: LoadItem[]; issues: RowIssue[] }> {
  if (!load.names.has('external_ids')) return { items: [...items], issues: [] }
  const keysOf = (item: LoadItem): { system: string; id: string }[] =>
    ((item.stated?.['external_ids'] as Row[] | undefined) ?? []).map(({ system, id }) => ({
      system: String(system),
      id: String(id),
    }))
  const owners: Map<string, number | LoadItem> = await externalOwners(
    load.store.db,
    load.org_id,
    load.resource.name,
    items.flatMap(keysOf),
  )
  const heads = await headsOf(
    load.store.db,
    load.org_id,
    items.flatMap(({ object_id }) => object_id ?? []),
  )
  const issues: RowIssue[] = []
  const free = items.filter((item) => {
    const own = item.object_id && (heads.get(item.object_id) ?? item.object_id)
    const taken = keysOf(item).filter(({ system, id }) => {
      const owner = owners.get(`${system} ${id}`)
      owners.set(`${system} ${id}`, owner ?? item)
      return owner !== undefined && owner !== own
    })
    for (const { system, id } of taken) {
      const message = `another ${load.resource.name.replaceAll('_', ' ')} has the external id ${system}:${id}`
      const place = { row: item.row ?? 0, field: 'external_ids' }
      issues.push({ ...place, code: 'duplicate_external_id', message, level: 'error' })
    }
    return taken.length === 0
  })
  return { items: free, issues }
}

/**
 * Writes a chunk, anew when other writes come between.
 * @param session free until the chunk is written.
 * @param before the write of the chunk before, while which this one's statements are built.
 * @throws Cancelled once it is written and a client asked for it.
 */
export async function writeChunk(
  running: Running,
  source: Source,
  resolver: Resolver,
  first: Ready,
  session: Session,
  before: Promise<void>,
): Promise<void> {
  let ready = first
  for (let attempt = 1; ; attempt++) {
    try {
      const locked = attempt >= LOCKED_TRY
      const state = await session.transaction(running.job.org_id, (tx) =>
        writeOnce(running, resolver, ready, { session, tx, before, locked }),
      )
      goOn(running, state)
      return
    } catch (error) {
      if (error instanceof GuardTripped) await keepErrors(running, ready, session)
      if (!isConflict(error) || attempt === TRIES) throw error
      resolver.forget()
      ready = await readyChunk(running, source, resolver, ready.mapped)
    }
  }
}

interface Attempt {
  session: Session
  tx: Tx
  before: Promise<void>
  /** Whether the objects are locked before they are read, so that nothing can come between. */
  locked: boolean
}

async function writeOnce(
  running: Running,
  resolver: Resolver,
  ready: Ready,
  { session, tx, before, locked }: Attempt,
): Promise<JobState> {
  const { job, lease_id, load, stream } = running
  await tx.query('select pg_current_xact_id()')
  await running.fed
  const prepared = locked ? await preparedLocked(running, tx, ready) : ready.prepared
  const writes = doorWrites(load, prepared, ready.resolved.references)
  await before
  guardErrors(running, ready)
  const counts = partOf(ready, prepared)
  const total = withCounts(running.counts, counts)
  // First of all, so that a worker that lost the job writes nothing.
  const progress = saveProgress(tx, job, lease_id, 'writing', total)
  const sent = inOrder([
    progress,
    resolver.writeStubs(tx, ready.resolved.stubs),
    write(load, tx, prepared, writes),
    saveErrors(tx, job, stream.name, running.errors, ready.errors),
    saveChunk(tx, job, ready.mapped.no, counts),
  ])
  running.fed = session.flushed()
  await sent
  running.counts = total
  running.errors += ready.errors.length
  return await progress
}

function partOf({ counts }: Ready, prepared: Prepared): Partial<JobCounts> {
  const unchanged = (counts.unchanged ?? 0) + prepared.counts.unchanged
  return { ...prepared.counts, ...counts, unchanged }
}

/** Plans the chunk anew while nobody else can change its objects. */
async function preparedLocked({ load }: Running, tx: Tx, { resolved }: Ready): Promise<Prepared> {
  const members = resolved.items.flatMap(({ object_id }) => object_id ?? [])
  const heads = await headsOf(load.store.db, load.org_id, members)
  const ids = members.map((id) => heads.get(id) ?? id)
  await lockRows(tx, load.org_id, load.resource.name, ids)
  return prepare(load, resolved.items)
}

/** Another write came first: to one of the objects, or with one of the external ids. */
export function isConflict(error: unknown): boolean {
  if (error instanceof ChunkConflict) return true
  if (!(error instanceof DatabaseError)) return false
  // Two loads that wait for each other: one of them was chosen to begin again.
  if (error.code === '40P01') return true
  return error.code === '23505' && (error.constraint ?? '').startsWith('external_key')
}

/**
 * Stops before a chunk by which too much of the file is bad. Small files are judged whole, large ones as soon as their
 * share of errors means something.
 */
function guardErrors({ job, counts: before }: Running, { counts }: Ready): void {
  const { max_errors, max_error_pct } = job.adapter.guards
  const { quarantined, rows_read, rows_total } = withCounts(before, counts)
  const pct = (100 * quarantined) / Math.max(1, rows_read)
  const enough = rows_read >= 200 || rows_read >= rows_total
  if (quarantined <= max_errors && (!enough || pct <= max_error_pct)) return
  throw new GuardTripped(
    'too_many_errors',
    `${quarantined} of ${rows_read} rows cannot be used; see the job's errors`,
    { quarantined, rows_read, max_errors, max_error_pct },
  )
}

/** Keeps what was found wrong in a chunk that is not written. */
async function keepErrors(
  running: Running,
  { counts, errors }: Ready,
  session: Session,
): Promise<void> {
  const { job, lease_id, stream } = running
  const { quarantined, warnings, rows_read, rows_valid } = withCounts(running.counts, counts)
  Object.assign(running.counts, { quarantined, warnings, rows_read, rows_valid })
  await session.transaction(job.org_id, async (tx) => {
    await saveProgress(tx, job, lease_id, 'writing', running.counts)
    await saveErrors(tx, job, stream.name, running.errors, errors)
  })
}
