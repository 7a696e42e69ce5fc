/** Jobs: their states, what they count, and the form clients see. */
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { Adapter } from './adapter.ts'
import type { DiffSummary } from './diff.ts'
import type { LoadCounts } from './load.ts'
import type { RowIssue } from './mapping.ts'
import type { Pulled } from './pull/types.ts'

export const JOB_STATES = [
  'queued',
  'validating',
  'running',
  'awaiting_review',
  'completed',
  'completed_with_errors',
  'failed',
  'cancelling',
  'cancelled',
] as const
export type JobState = (typeof JOB_STATES)[number]

/** States in which a job stays. */
export const END_STATES: ReadonlySet<JobState> = new Set([
  'completed',
  'completed_with_errors',
  'failed',
  'cancelled',
])

/**
 * `fetching`: a source is asked for its records. `reading`: the file is read once to its end. `checking`: what would change is found out. `writing`: its records are
 * written. `ending`: what it lacks is ended. `undoing`: what another job wrote is taken back.
 */
export const PHASES = ['fetching', 'reading', 'checking', 'writing', 'ending', 'undoing'] as const
export type Phase = (typeof PHASES)[number]

/** `load`: a file. `replay`: corrected rows of another job. `undo`: takes back what another job wrote. */
export const JOB_KINDS = ['load', 'replay', 'undo'] as const
export type JobKind = (typeof JOB_KINDS)[number]

/** How a job is to be run; what is left out is as if it were not there. */
export interface JobOptions {
  /** `always`: the job waits for approval of what it would change; `guards`, the default: when a guard trips. */
  approve?: 'always' | 'guards'
  /** All or nothing: one transaction. */
  atomic?: boolean
  /** Looks at every row, also at those that are as they were. */
  force?: boolean
  /** `quarantine`, the default: bad rows are left out; `stop`: the first one ends the job. */
  on_error?: 'quarantine' | 'stop'
  /** Id of a dry run: the job writes only if it would do the same. */
  diff?: string
}

/** Everything a job counts; rows are of the file, the rest are objects. */
export interface JobCounts extends LoadCounts {
  /** Rows of the file, known once it has been read. */
  rows_total: number
  rows_read: number
  rows_valid: number
  quarantined: number
  warnings: number
  /** Objects made in place of missing related ones. */
  stubs: number
  /** Of the first reading. */
  bytes_read: number
  bytes_total: number
}

/** What the counts of a chunk do not add up to: they are of the whole file. */
const WHOLE = new Set(['rows_total', 'bytes_read', 'bytes_total'])

/** Why a job failed or waits. */
export interface JobError {
  code: string
  message: string
  details: Row
}

export interface Job {
  id: number
  org_id: number
  state: JobState
  phase: Phase | null
  kind: JobKind
  /** Finds out what would change and writes nothing. */
  dry_run: boolean
  options: JobOptions
  /** The job it undoes or replays rows of. */
  parent_id: number | null
  /** The job that took back what it wrote. */
  undone_by: number | null
  diff: DiffSummary | null
  diff_hash: string | null
  adapter: Adapter
  adapter_hash: string
  source_name: string
  as_of: string
  valid_from: Date
  file_name: string
  file_key: string
  file_bytes: number
  file_sha256: string
  approved: boolean
  counts: Partial<JobCounts>
  error: JobError | null
  attempts: number
  actor_name: string
  created_at: Date
  started_at: Date | null
  /** When the present attempt began. */
  taken_at: Date | null
  progress_at: Date | null
  waiting_since: Date | null
  finished_at: Date | null
  /** What was pulled from a connection; null for files, and until it is done. */
  pulled: Pulled | null
  /** When its errors and dry-run rows were dropped. */
  dropped_at: Date | null
}

/** An issue with the row it came from. */
export interface ErrorRow extends RowIssue {
  raw: Row
}

/** How long a job waits for approval, in days. */
export const APPROVAL_DAYS = 7

const DAY_MS = 24 * 60 * 60 * 1_000

/** The job as clients see it. */
export function jobView(job: Job): Row {
  const { changed_fields, ...numbers } = { ...emptyCounts(), ...job.counts }
  return {
    id: publicId('job', job.id),
    object: 'job',
    organization_id: publicId('org', job.org_id),
    kind: job.kind,
    state: job.state,
    phase: job.phase,
    progress_pct: progress(job),
    ...pace(job),
    dry_run: job.dry_run,
    options: job.options,
    parent_job_id: jobIdOrNull(job.parent_id),
    undone_by: jobIdOrNull(job.undone_by),
    diff_hash: job.diff_hash,
    adapter: job.adapter.adapter,
    adapter_id: job.adapter.adapter_id ? publicId('adp', job.adapter.adapter_id) : null,
    adapter_version: job.adapter.version,
    mode: job.adapter.mode,
    type: job.adapter.streams[0]?.type ?? null,
    source: job.source_name,
    as_of: job.as_of,
    file: { name: job.file_name, byte_size: job.file_bytes, sha256: job.file_sha256 },
    counts: numbers,
    changed_fields,
    pulled: job.pulled,
    error: job.error,
    approval_until:
      job.state === 'awaiting_review' && job.waiting_since
        ? new Date(job.waiting_since.getTime() + APPROVAL_DAYS * DAY_MS)
        : null,
    attempts: job.attempts,
    created_by: job.actor_name,
    created_at: job.created_at,
    started_at: job.started_at,
    finished_at: job.finished_at,
  }
}

function jobIdOrNull(id: number | null): string | null {
  return id === null ? null : publicId('job', id)
}

/** Rows per second of the present attempt, and the seconds left at that pace; null when nothing runs. */
function pace({ state, counts, taken_at, progress_at }: Job): Row {
  const { rows_read = 0, rows_total = 0 } = counts
  const ms = taken_at && progress_at ? progress_at.getTime() - taken_at.getTime() : 0
  if (!['validating', 'running'].includes(state) || rows_read === 0 || ms <= 0)
    return { rows_per_s: null, eta_s: null }
  const rows_per_s = Math.max(1, Math.round((1_000 * rows_read) / ms))
  return { rows_per_s, eta_s: Math.max(0, Math.ceil((rows_total - rows_read) / rows_per_s)) }
}

function progress(job: Job): number {
  if (['completed', 'completed_with_errors'].includes(job.state)) return 100
  const { rows_read = 0, rows_total = 0 } = job.counts
  return rows_total > 0 ? Math.min(99, Math.floor((rows_read / rows_total) * 100)) : 0
}

export function emptyCounts(): JobCounts {
  return {
    rows_total: 0,
    rows_read: 0,
    rows_valid: 0,
    quarantined: 0,
    warnings: 0,
    created: 0,
    changed: 0,
    unchanged: 0,
    ended: 0,
    facts: 0,
    stubs: 0,
    bytes_read: 0,
    bytes_total: 0,
    changed_fields: {},
  }
}

/** A sum with one chunk's counts added. */
export function withCounts(sum: JobCounts, part: Partial<JobCounts>): JobCounts {
  const total: JobCounts = { ...sum, changed_fields: { ...sum.changed_fields } }
  for (const [name, value] of Object.entries(part))
    if (typeof value === 'number' && !WHOLE.has(name)) total[name as 'created'] += value
  for (const [field, count] of Object.entries(part.changed_fields ?? {}))
    total.changed_fields[field] = (total.changed_fields[field] ?? 0) + count
  return total
}
