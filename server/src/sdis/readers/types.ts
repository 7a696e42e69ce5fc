/** One value of a table. `null` is blank: the file states nothing here. JSON also gives lists and objects. */
export type Cell = string | number | boolean | null | Nested

/** A value with parts. */
export type Nested = readonly Cell[] | { readonly [name: string]: Cell }

/** One row of a file, its cells in the order of the columns. */
export interface SheetRow {
  /** 1-based row (workbook) or line where the record starts (CSV), as a person sees it. */
  row: number
  cells: Cell[]
  /** Set when the row had values to the right of the last column; they were dropped. */
  extra?: true
}

/** Why a whole file is refused. Codes are stable; messages are not. */
export type FileErrorCode =
  | 'cell_too_long'
  | 'check_failed'
  | 'damaged_file'
  | 'empty_file'
  | 'encrypted_document'
  | 'encrypted_workbook'
  | 'expression_timeout'
  | 'forbidden_xml'
  | 'malformed_csv'
  | 'malformed_json'
  | 'missing_columns'
  | 'missing_path'
  | 'no_effective_date'
  | 'no_text'
  | 'not_a_csv'
  | 'not_a_pdf'
  | 'not_a_workbook'
  | 'not_json'
  | 'record_too_large'
  | 'sheet_not_found'
  | 'time_budget'
  | 'too_deep'
  | 'too_many_columns'
  | 'too_many_merges'
  | 'too_many_pages'
  | 'too_many_rows'
  | 'truncated_file'
  | 'unsupported_encoding'
  | 'zip_bomb'

/** The file cannot be used. The message is for the person who sent it, `details` for programs. */
export class FileError extends Error {
  readonly code: FileErrorCode
  readonly details: Record<string, unknown>

  constructor(
    code: FileErrorCode,
    message: string,
    details: Record<string, unknown> = {},
    cause?: unknown,
  ) {
    super(message, { cause })
    this.name = 'FileError'
    this.code = code
    this.details = details
  }
}

/** What a reader accepts before it refuses a file. */
export interface Limits {
  max_rows: number
  max_columns: number
  max_cell_chars: number
  /** All parts of a workbook together, as declared and as found. */
  max_unzipped_bytes: number
  /** Unzipped to zipped bytes of one part, for parts over 1 MB. */
  max_ratio: number
  /** Parts in a workbook. */
  max_entries: number
  /** Above this the text table of a workbook moves to a temporary file. */
  max_shared_string_bytes_in_memory: number
  /** Levels of lists and objects in a record of JSON. */
  max_depth: number
  /** Of JSON, before the list of records and between two of them. */
  max_record_bytes: number
  max_pages: number
}

/** The limits that hold unless a caller passes others. */
export const DEFAULT_LIMITS: Limits = {
  max_rows: 5_000_000,
  max_columns: 500,
  max_cell_chars: 65_536,
  max_unzipped_bytes: 1_073_741_824,
  max_ratio: 100,
  max_entries: 10_000,
  max_shared_string_bytes_in_memory: 67_108_864,
  max_depth: 20,
  max_record_bytes: 1_048_576,
  max_pages: 500,
}

/** How to find the header row. Without `find` it is the first row that is not blank. */
export interface HeaderOptions {
  /** Columns that must all be there; case, outer and repeated blanks do not count. */
  find?: string[]
  /** The last row in which the header may stand; 30 unless told. */
  max_scan?: number
}

/** Where a value above the header stands: a cell such as B2, or the one to the right of a text. */
export type NamedCell = string | { right_of: string }

/** What to read from a file, as an adapter states it. */
export interface TableSource {
  kind: 'xlsx' | 'csv' | 'json' | 'ndjson' | 'pdf'
  /** Name of the sheet, `*` for any text; the first visible one unless told. */
  sheet?: string
  header?: HeaderOptions
  /** One character; found out among `,` `;` tab and `|` unless told. */
  delimiter?: string
  encoding?: 'utf-8' | 'windows-1252'
  /** Where the list of records stands in a JSON document; the document itself unless told. */
  path?: string
  /** Whether merged cells all have the value of the first one. */
  merged?: 'fill'
  /** Values above the header, by the name they get. */
  cells?: Record<string, NamedCell>
}

/** How far a reader is. Bytes are those of the file (CSV) or of the unzipped sheet (workbook). */
export interface TableStats {
  bytes_read: number
  bytes_total: number
}

/** An open file. Iterate `rows` (once) or call `close`, else its handle stays open. */
export interface Table {
  columns: string[]
  /** Values above the header, by the names that the source gives them. */
  meta: Readonly<Record<string, Cell>>
  /** Row or line of the header. */
  header_row: number
  /** Batches of up to 1000 rows, read only as the consumer asks; leaving early closes the file. */
  rows: AsyncIterable<SheetRow[]>
  stats(): TableStats
  /** Closes the file and removes temporary files. May be called at any time, more than once. */
  close(): Promise<void>
}

/** Rows as a format's reader finds them, before header and width are known. */
export interface RawTable {
  /** Started by the first `next`, which opens the file; `return` closes it. */
  batches: AsyncGenerator<SheetRow[], void, undefined>
  stats: TableStats
}
