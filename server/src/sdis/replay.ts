/** Rows that a job left out, loaded by a child job: corrected by a person, or read again by another adapter. */
import { Readable } from 'node:stream'
import type { Spool, SpooledFile } from '../documents/index.ts'
import { ApiError, invalid } from '../kit/errors.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Actor, Tx } from '../kit/types.ts'
import { adapterHash } from './adapter.ts'
import type { Adapter } from './adapter.ts'
import { badRows, ERROR_COLUMNS, unsafe } from './error-file.ts'
import { noteReplay } from './error-queries.ts'
import { asTable, columnsOf, csvLine, rowsOfText } from './inline.ts'
import { END_STATES } from './jobs.ts'
import type { Job } from './jobs.ts'
import type { JobLimits } from './limits.ts'
import { openTable } from './readers/open.ts'
import { FileError } from './readers/types.ts'
import { jobFileKey, queueChild } from './service.ts'

/** Which row of the parent's file became which row of the child's. */
interface Place {
  row: number
  child_row: number
}

/** The file of a replay, ready to be loaded. */
export interface ReplayFile {
  file: SpooledFile
  places: Place[]
}

/** Corrected rows as they come: by column, with the row of the file that each corrects, if it says so. */
interface Corrected {
  columns: string[]
  rows: AsyncIterable<{ row: number | null; cells: readonly unknown[] }>
}

const META: ReadonlySet<string> = new Set(ERROR_COLUMNS)

/** @throws 409 when the job's rows cannot be replayed. */
export function requireReplayable(job: Job): void {
  const name = `job_${job.id}`
  const refuse = (detail: string): never => {
    throw new ApiError('conflict', detail)
  }
  if (job.kind === 'undo') refuse(`${name} is an undo and has read no rows.`)
  if (job.dry_run) refuse(`${name} was a dry run; send the file again instead.`)
  if (job.undone_by !== null) refuse(`${name} was undone by job_${job.undone_by}.`)
  if (job.dropped_at !== null) refuse(`The errors of ${name} are kept no longer.`)
  if (!END_STATES.has(job.state)) refuse(`${name} is ${job.state}; wait for its end.`)
}

/** The adapter of a replay: rows of their own in a plain table, of which any share may still be wrong. */
export function replayAdapter(given: Adapter): Adapter {
  const adapter = asTable(given)
  const guards = { ...adapter.guards, max_error_pct: 100, min_rows: 0, require_columns: [] }
  return { ...adapter, mode: 'upsert', guards }
}

/**
 * Writes the rows to the child's file.
 * @param given corrected rows or a text of them; the open errors of the parent when null.
 * @throws 422 for a text that cannot be read, rows that cannot be replayed as they are, or none at all.
 */
export async function writeReplay(
  store: Store,
  spool: Spool,
  parent: Job,
  id: number,
  adapter: Adapter,
  given: string | readonly Row[] | null,
  limits: JobLimits,
): Promise<ReplayFile> {
  const places: Place[] = []
  const draft = { ...jobFileKey(parent.org_id, id), version_id: 1 }
  try {
    const corrected =
      given === null
        ? await ofErrors(store, parent)
        : typeof given === 'string'
          ? await ofText(spool, draft, given, limits)
          : ofRows(given)
    const lines = linesOf(corrected, adapter.locale.decimal, places)
    const file = await spool.take(jobFileKey(parent.org_id, id), lines, limits.inline_bytes)
    return { file, places }
  } catch (error) {
    if (error instanceof FileError) throw unreadable(error.message)
    throw error
  } finally {
    await spool.drop(draft)
  }
}

async function* linesOf(
  { columns, rows }: Corrected,
  decimal: string,
  places: Place[],
): AsyncGenerator<Buffer> {
  const wanted = columns.flatMap((name, i) => (META.has(name) ? [] : [{ name, i }]))
  yield Buffer.from(csvLine(wanted.map(({ name }) => name)))
  let child_row = 1
  for await (const { row, cells } of rows) {
    child_row++
    if (row !== null) places.push({ row, child_row })
    yield Buffer.from(
      csvLine(
        wanted.map(({ i }) => cells[i]),
        decimal,
      ),
    )
  }
  if (child_row === 1) throw unreadable('There are no rows to replay.')
}

/** The open errors of the job. A second row with the same key was refused for good reason: it is not taken again. */
async function ofErrors({ db }: Store, parent: Job): Promise<Corrected> {
  if (parent.adapter.streams[0]?.group)
    throw unreadable('Rows of this adapter are grouped: send all rows of each object.')
  const open = badRows(db, parent.org_id, parent.id, 'open')
  const first = await open.next()
  if (first.done) return { columns: [], rows: none() }
  const columns = Object.keys(first.value.raw)
  async function* rows(): AsyncGenerator<{ row: number; cells: unknown[] }> {
    for (let next = first; !next.done; next = await open.next()) {
      const { row, raw, errors } = next.value
      if (errors.some(({ code }) => code === 'duplicate_key')) continue
      if (Object.values(raw).some(isCut))
        throw unreadable(`Row ${row} has a cell that is kept in part only: send it corrected.`)
      yield { row, cells: columns.map((name) => raw[name]) }
    }
  }
  return { columns, rows: rows() }
}

/** Long cells are kept in part. */
function isCut(cell: unknown): boolean {
  return typeof cell === 'string' && cell.length > 500 && cell.endsWith('…')
}

async function* none(): AsyncGenerator<never> {}

function ofRows(rows: readonly Row[]): Corrected {
  const columns = columnsOf(rows)
  async function* all(): AsyncGenerator<{ row: number | null; cells: unknown[] }> {
    for (const row of rows)
      yield { row: rowNumber(row['error_row']), cells: columns.map((name) => row[name]) }
  }
  return { columns, rows: all() }
}

/** A text in CSV, JSON or NDJSON. */
async function ofText(
  spool: Spool,
  key: Parameters<Spool['take']>[0],
  text: string,
  limits: JobLimits,
): Promise<Corrected> {
  let rows: Row[] | null
  try {
    rows = rowsOfText(text)
  } catch (error) {
    throw unreadable((error as Error).message)
  }
  if (rows) return ofRows(rows)
  const { path } = await spool.take(key, Readable.from([Buffer.from(text)]), limits.inline_bytes)
  const table = await openTable(path, { kind: 'csv' }, { max_columns: limits.columns + META.size })
  const at = table.columns.indexOf('error_row')
  async function* all(): AsyncGenerator<{ row: number | null; cells: unknown[] }> {
    for await (const batch of table.rows)
      for (const { cells } of batch)
        yield { row: at < 0 ? null : rowNumber(cells[at]), cells: cells.map(unsafe) }
  }
  return { columns: table.columns, rows: all() }
}

function rowNumber(value: unknown): number | null {
  const number = Number(value ?? Number.NaN)
  return Number.isSafeInteger(number) && number > 0 && number < 2 ** 31 ? number : null
}

function unreadable(message: string): ApiError {
  return invalid([{ field: 'rows', code: 'unusable', message }])
}

/** Queues the child and notes which errors it is about. */
export async function queueReplay(
  tx: Tx,
  parent: Job,
  child: { id: number; adapter: Adapter; file_key: string },
  { file, places }: ReplayFile,
  actor: Actor,
  limits: JobLimits,
): Promise<Job> {
  const { id, adapter, file_key } = child
  const job = await queueChild(
    tx,
    parent,
    {
      id,
      kind: 'replay',
      adapter,
      adapter_hash: adapterHash(adapter),
      source_name: adapter.source.name,
      file_name: `replay-of-${parent.file_name}`.slice(0, 255),
      file_key,
      file_bytes: file.byte_size,
      file_sha256: file.sha256,
      actor_name: actor.name,
    },
    actor,
    limits,
  )
  await noteReplay(tx, parent, id, places)
  return job
}
