/** What jobs may take: the limits of the installation, and how much of them an organization uses. */
import { SETTINGS } from '../config.ts'
import type { Config } from '../config.ts'
import type { Row } from '../kit/resource.ts'
import type { OrgDb } from '../kit/types.ts'
import { countOpen } from './job-queries.ts'
import { APPROVAL_DAYS } from './jobs.ts'
import { DEFAULT_LIMITS } from './readers/types.ts'

const MEGABYTE = 1024 * 1024

/** Limits of jobs; sizes in bytes, times in seconds or days as their names say. */
export interface JobLimits {
  file_bytes: number
  inline_bytes: number
  rows: number
  columns: number
  cell_chars: number
  unzipped_bytes: number
  atomic_rows: number
  running: number
  queued: number
  error_rows: number
  diff_rows: number
  run_s: number
  result_days: number
}

type Limiting = Pick<
  Config,
  | 'GRID_IMPORT_MAX_MB'
  | 'GRID_JOB_INLINE_MAX_MB'
  | 'GRID_JOB_MAX_ROWS'
  | 'GRID_JOB_MAX_COLUMNS'
  | 'GRID_JOB_MAX_CELL_KB'
  | 'GRID_JOB_UNZIPPED_MAX_MB'
  | 'GRID_JOB_ATOMIC_ROWS'
  | 'GRID_JOB_RUNNING'
  | 'GRID_JOB_QUEUED'
  | 'GRID_JOB_ERROR_ROWS'
  | 'GRID_JOB_DIFF_ROWS'
  | 'GRID_JOB_HOURS'
  | 'GRID_JOB_RESULT_DAYS'
>

export function limitsOf(config: Limiting): JobLimits {
  return {
    file_bytes: config.GRID_IMPORT_MAX_MB * MEGABYTE,
    inline_bytes: config.GRID_JOB_INLINE_MAX_MB * MEGABYTE,
    rows: config.GRID_JOB_MAX_ROWS,
    columns: config.GRID_JOB_MAX_COLUMNS,
    cell_chars: config.GRID_JOB_MAX_CELL_KB * 1024,
    unzipped_bytes: config.GRID_JOB_UNZIPPED_MAX_MB * MEGABYTE,
    atomic_rows: config.GRID_JOB_ATOMIC_ROWS,
    running: config.GRID_JOB_RUNNING,
    queued: config.GRID_JOB_QUEUED,
    error_rows: config.GRID_JOB_ERROR_ROWS,
    diff_rows: config.GRID_JOB_DIFF_ROWS,
    run_s: config.GRID_JOB_HOURS * 3_600,
    result_days: config.GRID_JOB_RESULT_DAYS,
  }
}

/** The limits where nothing is set. */
export const STANDARD_LIMITS: JobLimits = limitsOf(
  Object.fromEntries(
    Object.entries(SETTINGS).flatMap(([name, { fallback, parse }]) =>
      name.startsWith('GRID_JOB_') || name === 'GRID_IMPORT_MAX_MB'
        ? [[name, (parse as (text: string, name: string) => unknown)(fallback, name)]]
        : [],
    ),
  ) as unknown as Limiting,
)

/** The limits as clients see them, with what the organization has running and waiting. */
export async function limitsView(db: OrgDb, org_id: number, limits: JobLimits): Promise<Row> {
  const used = await countOpen(db, org_id)
  return {
    object: 'job_limits',
    file_bytes: limits.file_bytes,
    inline_bytes: limits.inline_bytes,
    rows: limits.rows,
    columns: limits.columns,
    cell_chars: limits.cell_chars,
    unzipped_bytes: limits.unzipped_bytes,
    unzipped_ratio: DEFAULT_LIMITS.max_ratio,
    atomic_rows: limits.atomic_rows,
    running_jobs: limits.running,
    queued_jobs: limits.queued,
    error_rows: limits.error_rows,
    diff_rows: limits.diff_rows,
    run_time_s: limits.run_s,
    result_days: limits.result_days,
    approval_days: APPROVAL_DAYS,
    used: {
      running_jobs: used.get('running') ?? 0,
      queued_jobs: used.get('queued') ?? 0,
      waiting_jobs: used.get('awaiting_review') ?? 0,
    },
  }
}
