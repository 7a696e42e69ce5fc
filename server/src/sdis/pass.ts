/** One chunk on its way from rows to facts: which records changed, what they state, what follows, one transaction. */
import { DatabaseError } from 'pg'
import { inOrder } from '../db/db.ts'
import type { Session } from '../db/db.ts'
import { headsOf } from '../kit/cluster-queries.ts'
import type { Row } from '../kit/resource.ts'
import type { Tx } from '../kit/types.ts'
import { errorRow } from './chunks.ts'
import type { Chunk, Source } from './chunks.ts'
import { saveErrors } from './error-queries.ts'
import { saveChunk, saveProgress } from './job-queries.ts'
import { withCounts } from './jobs.ts'
import type { ErrorRow, JobCounts, JobError, JobState } from './jobs.ts'
import { ChunkConflict, doorWrites, prepare, write } from './load.ts'
import type { LoadItem, Prepared } from './load.ts'
import type { RowIssue } from './mapping.ts'
import type { SheetRow } from './readers/types.ts'
import { changedRecords, externalOwners, lockRows } from './record-queries.ts'
import type { Resolved, Resolver } from './resolve.ts'
import { goOn, GuardTripped, tellingSession } from './running.ts'
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

export async function lookUp({ load, job }: Running, chunk: Chunk): Changed {
  const found = await changedRecords(load.store.db, load, chunk.records, load.all)
  // Known records of a file that only adds stay as they are.
  return job.adapter.mode === 'append'
    ? new Map([...found].filter(([, object_id]) => object_id === null))
    : found
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
  let quarantined = chunk.errors.filter(({ level }) => level === 'error').length
  let warnings = chunk.errors.length - quarantined
  let unchanged = 0
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
    // A row that ends an object which never was has nothing to end.
    if (record.stated === null && object_id === null) {
      unchanged++
      continue
    }
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
    unchanged: chunk.records.length - found.size + unchanged,
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
  resolver.remember(
    prepared.creates.map(({ id }, i) => ({ id, key: prepared.records[i]?.key ?? '' })),
  )
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
  { load, external }: Running,
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
      const before = external?.add(`${system} ${id}`) ?? 0
      return owner === undefined ? before > 0 : owner !== own
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
  const { job, lease_id, load } = running
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
    resolver.writeBeside(tx, ready.resolved),
    write(load, tx, prepared, writes),
    keepChunkErrors(tx, running, ready),
    saveChunk(tx, job, ready.mapped.no, counts),
  ])
  running.fed = session.flushed()
  await sent
  running.counts = total
  running.errors += ready.errors.length
  return await progress
}

export function partOf({ counts }: Ready, prepared: Prepared): Partial<JobCounts> {
  const unchanged = (counts.unchanged ?? 0) + prepared.counts.unchanged
  return { ...prepared.counts, ...counts, unchanged }
}

/**
 * Writes a chunk into the one transaction of the whole job. Its progress and its errors are told beside that, so that they
 * are seen while it runs and stay when it comes to nothing.
 */
export async function writeInWhole(
  running: Running,
  resolver: Resolver,
  ready: Ready,
  tx: Tx,
): Promise<void> {
  const { job, lease_id, load } = running
  const prepared = await preparedLocked(running, tx, ready)
  guardErrors(running, ready)
  await inOrder([
    resolver.writeBeside(tx, ready.resolved),
    write(load, tx, prepared, doorWrites(load, prepared, ready.resolved.references)),
  ])
  running.counts = withCounts(running.counts, partOf(ready, prepared))
  const state = await tellingSession(running).transaction(job.org_id, async (told) => {
    await keepChunkErrors(told, running, ready)
    return await saveProgress(told, job, lease_id, 'writing', running.counts)
  })
  running.errors += ready.errors.length
  goOn(running, state)
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
 * Stops before a chunk by which too much of the file is bad, until somebody approves. Small files are judged whole, large
 * ones as soon as their share of errors means something.
 */
function guardErrors(running: Running, ready: Ready): void {
  const { job } = running
  const { quarantined, rows_read } = withCounts(running.counts, ready.counts)
  const details = { quarantined, rows_read }
  if (job.options.on_error === 'stop' && quarantined > 0)
    throw new GuardTripped('row_errors', `${quarantined} rows cannot be used`, details)
  const tripped = job.approved ? null : errorGuard(running, ready)
  if (tripped) throw new GuardTripped(tripped.code, tripped.message, tripped.details, true)
}

/** The guard on errors that a chunk trips, if any. */
export function errorGuard(
  { job, counts: before }: Pick<Running, 'job' | 'counts'>,
  { counts }: Ready,
): JobError | null {
  const { max_errors, max_error_pct } = job.adapter.guards
  const { quarantined, rows_read, rows_total } = withCounts(before, counts)
  const pct = (100 * quarantined) / Math.max(1, rows_read)
  const enough = rows_read >= 200 || rows_read >= rows_total
  if (quarantined <= max_errors && (!enough || pct <= max_error_pct)) return null
  return {
    code: 'too_many_errors',
    message: `${quarantined} of ${rows_read} rows cannot be used; see the job's errors`,
    details: { quarantined, rows_read, max_errors, max_error_pct },
  }
}

/** Keeps what was found wrong in a chunk that is not written. */
export async function keepErrors(running: Running, ready: Ready, session: Session): Promise<void> {
  const { counts } = ready
  const { job, lease_id } = running
  const { quarantined, warnings, rows_read, rows_valid } = withCounts(running.counts, counts)
  Object.assign(running.counts, { quarantined, warnings, rows_read, rows_valid })
  await session.transaction(job.org_id, async (tx) => {
    await saveProgress(tx, job, lease_id, 'writing', running.counts)
    await keepChunkErrors(tx, running, ready)
  })
}

/** Keeps what was found wrong in a chunk. */
export async function keepChunkErrors(tx: Tx, running: Running, ready: Ready): Promise<void> {
  const { job, stream, errors: from, limits } = running
  const place = { stream: stream.name, chunk_no: ready.mapped.no, from, most: limits.error_rows }
  await saveErrors(tx, job, place, ready.errors)
}
