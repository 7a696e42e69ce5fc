/** What a request for a job asks: the fields of a form or a JSON body, checked together, every failing one named. */
import { isDate } from '../kit/dates.ts'
import { ApiError, invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { idDigits } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Caller } from '../kit/types.ts'
import { validate } from '../kit/validate.ts'
import type { Adapter } from './adapter.ts'
import { adapterFor, kept, requireLive } from './adapters/service.ts'
import { findJob } from './job-queries.ts'
import type { JobOptions } from './jobs.ts'
import { FileError } from './readers/types.ts'
import { OPTIONS_SCHEMA } from './request-schema.ts'
import { effectiveDay } from './sample.ts'

/** The parts of a request that are the same for every way in. */
export interface Given {
  /** A document, as text or as an object, or the name of one. */
  adapter: string | Row
  version?: number
  mode?: string
  as_of?: string
  options?: JobOptions
}

export interface Asked {
  adapter: Adapter
  as_of: string
  dry_run: boolean
  options: JobOptions
}

const FORM_FIELDS = new Set(['adapter', 'as_of', 'mode', 'options', 'version'])

/**
 * The text fields of a form.
 * @param issues takes what is wrong with them.
 */
export function formGiven(fields: ReadonlyMap<string, readonly string[]>, issues: Issue[]): Given {
  for (const [name, values] of fields) {
    if (!FORM_FIELDS.has(name))
      issues.push({ field: name, code: 'unknown_field', message: `unknown field '${name}'` })
    else if (values.length > 1)
      issues.push({ field: name, code: 'repeated', message: 'may be sent once' })
  }
  const one = (name: string): string | undefined => fields.get(name)?.[0]
  const given: Given = { adapter: one('adapter') ?? '' }
  const mode = one('mode')
  if (mode !== undefined && mode !== 'apply' && mode !== 'dry_run')
    issues.push({ field: 'mode', code: 'invalid_enum', message: 'must be apply or dry_run' })
  else if (mode !== undefined) given.mode = mode
  const as_of = one('as_of')
  if (as_of !== undefined) given.as_of = as_of
  const version = one('version')
  if (version !== undefined && !/^[1-9][0-9]{0,8}$/.test(version))
    issues.push({ field: 'version', code: 'out_of_range', message: 'must be a whole number' })
  else if (version !== undefined) given.version = Number(version)
  const options = one('options')
  if (options !== undefined) given.options = optionsIn(options, issues)
  return given
}

function optionsIn(text: string, issues: Issue[]): JobOptions {
  let options: unknown
  try {
    options = JSON.parse(text)
  } catch {
    issues.push({ field: 'options', code: 'malformed', message: 'must be a JSON object' })
    return {}
  }
  const found = validate(OPTIONS_SCHEMA, options)
  const inside = ({ field }: Issue): string => (field ? `options.${field}` : 'options')
  issues.push(...found.map((issue) => ({ ...issue, field: inside(issue) })))
  return found.length === 0 ? (options as JobOptions) : {}
}

/**
 * The job that is asked for.
 * @param issues what is wrong with the request so far.
 * @throws 422 naming every failing field of the request and the adapter.
 */
export async function readAsked(
  given: Given,
  store: Store,
  caller: Caller,
  issues: Issue[] = [],
): Promise<Asked> {
  const found = [...issues]
  let adapter: Adapter | null = null
  try {
    if (given.adapter === '') throw invalid([required])
    adapter = await adapterGiven(
      store,
      caller,
      given.adapter,
      given.version,
      given.mode === 'dry_run' ? 'dry_run' : 'apply',
    )
  } catch (error) {
    if (!(error instanceof ApiError) || !Array.isArray(error.extra['errors'])) throw error
    found.push(...(error.extra['errors'] as Issue[]))
  }
  const as_of = effectiveDate(given.as_of, adapter, caller, found)
  const { options = {} } = given
  const missing = await missingDiff(store, caller.org_id, options)
  if (missing) found.push(missing)
  if (found.length > 0 || !adapter) throw invalid(found)
  return { adapter, as_of, dry_run: given.mode === 'dry_run', options }
}

/**
 * The adapter that a request gives: the id or name of a kept one, or a document as text or as an object.
 * @param version of a kept adapter; the live one when left out.
 * @throws 422 when it may not be run here.
 */
export async function adapterGiven(
  store: Store,
  { org_id, environment }: Pick<Caller, 'org_id' | 'environment'>,
  given: string | Row,
  version?: number,
  mode: 'apply' | 'dry_run' = 'apply',
): Promise<Adapter> {
  const found = await adapterFor(store, org_id, given, version)
  requireLive(found, environment, mode)
  return kept(found)
}

const required: Issue = {
  field: 'adapter',
  code: 'required',
  message: 'is required: the adapter document',
}

/** The day the file was true: as the job says, else the adapter, else today. */
function effectiveDate(
  given: string | undefined,
  adapter: Adapter | null,
  caller: Pick<Caller, 'time_zone'>,
  issues: Issue[],
): string {
  const zone = adapter?.locale.timezone ?? caller.time_zone
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: zone }).format(new Date())
  const date = given ?? adapter?.effective.date ?? today
  const field = given === undefined ? 'adapter.effective.date' : 'as_of'
  if (!isDate(date)) {
    const message = `must be a date such as 2025-05-23, got '${date}'`
    issues.push({ field, code: 'invalid_format', message })
  } else if (date > today) {
    const message = `must not be after today (${today}), got ${date}`
    issues.push({ field, code: 'in_the_future', message })
  }
  return date
}

/**
 * The day that the file itself names, when the request names none; null when it does not.
 * @throws 422 when that day is none, or after today.
 */
export async function dayOfFile(
  path: string,
  adapter: Adapter,
  caller: Pick<Caller, 'time_zone'>,
): Promise<string | null> {
  const issues: Issue[] = []
  const field = 'adapter.effective.from'
  let day: string | null = null
  try {
    day = await effectiveDay(path, adapter)
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    // What is wrong with the file as such is told by the job.
    if (!['no_effective_date', 'time_budget'].includes(error.code)) return null
    issues.push({ field, code: error.code, message: error.message })
  }
  if (day !== null) effectiveDate(day, adapter, caller, issues)
  if (issues.length > 0) throw invalid(issues.map((issue) => ({ ...issue, field })))
  return day
}

/** The issue of a dry run that is none, or has not come to its end. */
async function missingDiff(
  store: Store,
  org_id: number,
  { diff }: JobOptions,
): Promise<Issue | null> {
  if (diff === undefined) return null
  const job = await findJob(store.db, org_id, idDigits('job', diff) ?? 0)
  if (job?.dry_run && job.diff_hash !== null) return null
  const message = job ? `${diff} is no dry run that has ended` : `no job has the id ${diff}`
  return { field: 'options.diff', code: job ? 'not_a_diff' : 'not_found', message }
}
