/** Exports: their states, and the form in which clients see them. */
import type { FileKey } from '../documents/index.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import { TABLE_TYPES } from '../kit/tables/formats.ts'

export const EXPORT_STATES = [
  'queued',
  'running',
  'cancelling',
  'completed',
  'failed',
  'cancelled',
  'expired',
] as const
export type ExportState = (typeof EXPORT_STATES)[number]

/** Media types of the files by format. */
export const EXPORT_TYPES = { ...TABLE_TYPES, parquet: 'application/vnd.apache.parquet' } as const
export type ExportFormat = keyof typeof EXPORT_TYPES

export interface Export {
  org_id: number
  id: number
  state: ExportState
  type: string
  format: ExportFormat
  /** The list's query as text, by parameter. */
  query: Record<string, string>
  time_zone: string
  /** Counted when it begins. */
  rows_total: number | null
  rows_written: number
  file_version: number | null
  file_name: string
  byte_size: number | null
  sha256: string | null
  error: { code: string; message: string } | null
  attempts: number
  actor_type: string
  actor_id: string | null
  actor_name: string
  request_id: string | null
  created_at: Date
  started_at: Date | null
  finished_at: Date | null
  expires_at: Date | null
}

/** Where the file lies: the export stands where a document would, its lease where a version would. */
export function fileKey(org_id: number, id: number, version_id: number): FileKey {
  return { org_id, document_id: id, version_id }
}

export function isOpen({ state }: Pick<Export, 'state'>): boolean {
  return state === 'queued' || state === 'running' || state === 'cancelling'
}

/** Whether its file can be had. */
export function isReady({ state, expires_at }: Export, now = Date.now()): boolean {
  return state === 'completed' && (expires_at === null || expires_at.getTime() > now)
}

export function exportView(one: Export): Row {
  const id = publicId('xpt', one.id)
  return {
    id,
    object: 'export',
    organization_id: publicId('org', one.org_id),
    type: one.type,
    format: one.format,
    query: one.query,
    state: one.state,
    progress_pct: progressOf(one),
    rows_total: one.rows_total,
    rows_written: one.rows_written,
    file: isReady(one)
      ? {
          name: one.file_name,
          byte_size: one.byte_size,
          sha256: one.sha256,
          content_type: EXPORT_TYPES[one.format],
          url: `/api/v1/exports/${id}/content`,
        }
      : null,
    error: one.error,
    attempts: one.attempts,
    created_by: one.actor_name,
    created_at: one.created_at.toISOString(),
    started_at: one.started_at?.toISOString() ?? null,
    finished_at: one.finished_at?.toISOString() ?? null,
    expires_at: one.expires_at?.toISOString() ?? null,
  }
}

/** Of the rows counted when it began; others may be written meanwhile. */
function progressOf({ state, rows_written, rows_total }: Export): number {
  if (state === 'completed' || state === 'expired') return 100
  if (!rows_total) return 0
  return Math.min(99, Math.floor((rows_written / rows_total) * 100))
}
