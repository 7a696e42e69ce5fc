/** A look at the first rows of a file: as they stand in it, as an adapter reads them, and what is wrong with them. */
import type { Registry } from '../../kit/query.ts'
import { publicId } from '../../kit/ids.ts'
import type { Row } from '../../kit/resource.ts'
import type { Adapter } from '../adapter.ts'
import { sample } from '../sample.ts'
import type { Sample } from '../sample.ts'
import { suggestFor } from './infer/proposal.ts'
import { columnsOf } from './infer/tidy.ts'
import { reading } from './samples.ts'
import type { SampleFile } from './samples.ts'
import type { KeptVersion, PreviewNote } from './types.ts'

/** Rows that a preview shows at most. */
export const PREVIEW_ROWS = 100

/** Long before this a preview is there, unless the machine is busy or the expressions are. */
const BUDGET_MS = 15_000

/** @throws 422 `invalid_file` where the adapter cannot read the file at all. */
export async function previewOf(
  registry: Registry,
  { adapter_id, version, hash }: KeptVersion,
  adapter: Adapter,
  file: SampleFile,
  rows: number,
): Promise<{ view: Row; note: PreviewNote }> {
  const started = performance.now()
  const found = await reading(async () => await sample(file.path, adapter, rows, BUDGET_MS))
  const shown = rowsOf(found)
  const failed = new Set(
    found.issues.filter(({ level }) => level === 'error').map(({ row }) => row),
  )
  const warned = new Set(found.issues.map(({ row }) => row)).difference(failed)
  const note: PreviewNote = {
    at: new Date().toISOString(),
    hash,
    file_sha256: file.sha256,
    rows: found.rows.length,
    errors: failed.size,
  }
  const view = {
    object: 'adapter_preview',
    adapter_id: publicId('adp', adapter_id),
    version,
    file: { name: file.name, byte_size: file.byte_size, sha256: file.sha256 },
    header_row: found.header_row,
    complete: found.complete,
    counts: {
      rows: found.rows.length,
      records: found.records.length,
      errors: failed.size,
      warnings: warned.size,
    },
    columns: columnsIn(registry, adapter, found),
    rows: shown,
    took_ms: Math.round(performance.now() - started),
  }
  return { view, note }
}

/** Each row with the objects it is part of. */
function rowsOf({ rows, records, issues }: Sample): Row[] {
  const byRow = Map.groupBy(
    records.flatMap((record) => record.rows.map((row) => ({ row, record }))),
    ({ row }) => row,
  )
  const wrong = Map.groupBy(issues, ({ row }) => row)
  return rows.map(({ row, raw }) => ({
    row,
    raw,
    mapped: (byRow.get(row) ?? []).map(({ record }) => ({
      stream: record.stream,
      type: record.type,
      key: record.key,
      values: record.values,
    })),
    issues: (wrong.get(row) ?? []).map(({ field, code, message, level, stream }) => ({
      stream,
      field,
      code,
      message,
      level,
    })),
  }))
}

/** The columns with what they look like, and for those that the adapter leaves out what they could fill. */
function columnsIn(registry: Registry, adapter: Adapter, found: Sample): Row[] {
  const [stream] = adapter.streams
  if (!stream) return []
  const columns = new Set(columnsRead(adapter))
  const fields = new Set([
    ...Object.keys(stream.map),
    ...Object.keys(stream.resolve).map((path) => path.split('.')[0] as string),
  ])
  const taken = { columns, fields }
  const looked = suggestFor(columnsOf(found, found.rows), registry, stream.type, taken)
  return looked.columns.map((column) => {
    const name = String(column['name'])
    return {
      ...column,
      mapped: columns.has(name.toLowerCase()),
      suggestion: looked.suggestions.get(name) ?? null,
    }
  })
}

/** The columns that expressions of the adapter name, in lower case. */
function columnsRead({ streams, source }: Adapter): string[] {
  const text = JSON.stringify([streams, source]).replaceAll('\\"', '"')
  const named = text.matchAll(/\brow(?:\.([A-Za-z_]\w*)|\["([^"]+)"\]|\['([^']+)'\])/g)
  return [...named].map(([, a, b, c]) => (a ?? b ?? c ?? '').toLowerCase())
}
