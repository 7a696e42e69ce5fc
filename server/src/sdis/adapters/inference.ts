/** An adapter proposed for a file that nobody has described yet. */
import { ApiError, invalid } from '../../kit/errors.ts'
import type { Registry } from '../../kit/query.ts'
import type { Row } from '../../kit/resource.ts'
import { readAdapter } from '../adapter.ts'
import type { Adapter } from '../adapter.ts'
import { FileError } from '../readers/types.ts'
import { columnsOf, sample } from '../sample.ts'
import { expressionOf } from './infer/document.ts'
import { propose } from './infer/proposal.ts'
import type { Wanted } from './infer/proposal.ts'
import { TYPES } from './infer/targets.ts'
import { tidied } from './infer/tidy.ts'
import type { TidyColumns } from './infer/tidy.ts'
import { reading } from './samples.ts'
import type { SampleFile } from './samples.ts'

/** Rows by which columns are judged, and rows that the proposal is tried on. */
const LOOKED_AT = 2_000
const TRIED_ON = 100

/** For each of the two readings, in milliseconds. */
const BUDGET_MS = 15_000

export type Known = Omit<Wanted, 'file_name'>

/** @throws 422 for a file without columns or rows, and for a type that rows of files do not describe. */
export async function infer(registry: Registry, file: SampleFile, known: Known): Promise<Row> {
  requireType(known.type)
  const columns = await reading(async () => await readColumns(file.path))
  const proposal = await propose(columns, registry, { ...known, file_name: file.name })
  if (!proposal)
    throw new ApiError('invalid_file', `${file.name} has no values that could fill a field.`)
  const document = sound(proposal['document'] as Row, registry)
  return {
    object: 'adapter_proposal',
    ...proposal,
    document,
    file: {
      name: file.name,
      byte_size: file.byte_size,
      sha256: file.sha256,
      header_row: columns.header_row,
      rows: columns.rows,
      complete: columns.complete,
    },
    check: await tried(file, readAdapter(JSON.stringify(document), registry)),
  }
}

function requireType(type: string | undefined): void {
  if (type === undefined || (TYPES as readonly string[]).includes(type)) return
  const message = `must be one of ${TYPES.join(', ')}`
  throw invalid([{ field: 'type', code: 'invalid_enum', message, allowed: TYPES }])
}

/** Text that is not UTF-8 is taken for that of an older Windows program. */
async function readColumns(path: string): Promise<TidyColumns> {
  try {
    return tidied(await sample(path, null, LOOKED_AT, BUDGET_MS), expressionOf)
  } catch (error) {
    const old = error instanceof FileError && error.code === 'unsupported_encoding'
    if (!old || error.details['looks_like'] === 'UTF-16') throw error
    return await columnsOf(path, { kind: 'csv', encoding: 'windows-1252' }, LOOKED_AT, BUDGET_MS)
  }
}

/** The document without entries that its own checks refuse: a proposal is one that can be kept. */
function sound(document: Row, registry: Registry): Row {
  for (let tries = 0; tries < 3; tries++) {
    try {
      readAdapter(JSON.stringify(document), registry)
      return document
    } catch (error) {
      const issues = error instanceof ApiError ? error.extra['errors'] : null
      if (!Array.isArray(issues)) throw error
      for (const { field } of issues as { field: string }[]) leaveOut(document, field)
    }
  }
  const detail = 'No adapter could be proposed for this file; write one from a template.'
  throw new ApiError('invalid_file', detail)
}

function leaveOut(document: Row, field: string): void {
  const [, part = '', name = ''] = /\.streams\[0\]\.(map|resolve)\.([^.[]+)/.exec(field) ?? []
  const [stream] = document['streams'] as [Record<string, Row | undefined>]
  delete stream[part]?.[name]
}

/** How the first rows fare with the proposal. */
async function tried(file: SampleFile, adapter: Adapter): Promise<Row> {
  const { rows, records, issues } = await reading(
    async () => await sample(file.path, adapter, TRIED_ON, BUDGET_MS),
  )
  const failed = new Set(issues.filter(({ level }) => level === 'error').map(({ row }) => row))
  return {
    rows: rows.length,
    records: records.length,
    errors: failed.size,
    issues: issues.slice(0, 20).map(({ row, field, code, message, level }) => ({
      row,
      field,
      code,
      message,
      level,
    })),
  }
}
