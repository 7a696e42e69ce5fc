/** One failing field of a request. */
export interface Issue {
  /** Dotted path as a person writes it: `rent_schedule[2].start_date`. */
  field: string
  code: string
  message: string
  allowed?: readonly string[]
  suggestion?: string
  /** The object that stands in the way. */
  other_id?: string
}

/** Every error code a caller can meet: status, title, and what to do about it. Codes are stable. */
export const ERRORS = {
  malformed_json: [
    400,
    'The body is not valid JSON',
    'Send valid JSON; the detail says where it breaks.',
  ],
  bad_request: [
    400,
    'The request cannot be read',
    'Check the address and the headers of the request; the detail says what cannot be read.',
  ],
  missing_key: [401, 'No API key was sent', 'Send your key in the header X-API-Key.'],
  invalid_key: [
    401,
    'The API key is not known',
    'Check that the key was copied whole and was not revoked; make a new one if it is lost.',
  ],
  expired_key: [401, 'The API key has expired', 'Make a new key and use it instead.'],
  insufficient_scope: [
    403,
    'The key lacks the scope for this endpoint',
    'Use a key that holds the scope in required_scope, or have it added to a new key.',
  ],
  plan_required: [
    403,
    'The plan of the organization does not include this endpoint',
    'The endpoint belongs to the plan in plan_required; ask whoever runs your organization.',
  ],
  exceeds_key: [
    403,
    'A key cannot grant what it does not hold',
    'Ask for no more than the key has that you call with, or call with one that has more.',
  ],
  ip_not_allowed: [
    403,
    'The key may not be used from this address',
    'Call from one of the addresses the key allows, or have yours added to the key.',
  ],
  property_restricted: [
    403,
    'The key is restricted to some properties',
    'Use a key without that restriction, or name only objects of the properties of the key.',
  ],
  console_closed: [
    403,
    'SQL is not open to this organization',
    'Ask whoever runs the service to open it with GRID_SQL_CONSOLE, or use a sandbox or POST /grid/v2/query.',
  ],
  sandbox_only: [
    403,
    'The endpoint works in a sandbox only',
    'Use a key of a sandbox, which begins with grid_sbx_; live data is never touched.',
  ],
  live_only: [
    403,
    'The endpoint takes a live key',
    'Use a key of the organization that the sandbox belongs to, which begins with grid_live_.',
  ],
  not_found: [
    404,
    'Not found',
    'Check the id and the path. Objects of other organizations and deleted ones answer the same.',
  ],
  method_not_allowed: [
    405,
    'The method is not allowed on this path',
    'Use one of the methods in the Allow header.',
  ],
  not_acceptable: [
    406,
    'The representation asked for is not available',
    'Ask for a type the endpoint has, or send no Accept header.',
  ],
  idempotency_conflict: [
    409,
    'The idempotency key was used with another request',
    'Use a new Idempotency-Key for a new request; repeat a request only with the same body.',
  ],
  idempotency_in_progress: [
    409,
    'The first request with this idempotency key is still under way',
    'Wait as many seconds as Retry-After says and repeat the request; it gets the first answer.',
  ],
  duplicate_external_id: [
    409,
    'An external id is already used',
    'Find the object that has it with external_id=system:id and change that one.',
  ],
  conflict: [
    409,
    'The request conflicts with the present state',
    'The detail says what stands in the way; change that first, then try again.',
  ],
  not_tested: [
    409,
    'The version has not been tested',
    'Test the version with a preview or a job of a sandbox, then make it live.',
  ],
  diff_mismatch: [
    409,
    'The diff is not one of this version',
    'Run a job in mode dry_run with this version, read its diff and send its job_id and diff_hash.',
  ],
  second_person_required: [
    409,
    'Somebody else has to do this',
    'Ask somebody with another key: the adapter does not let the author of a version decide alone.',
  ],
  do_not_link: [
    409,
    'The two objects are to stay two',
    'Delete the pair in do_not_link_id first if they are one after all.',
  ],
  same_source: [
    409,
    'One source lists both objects',
    'Correct the source, or send force: true if it lists one thing twice.',
  ],
  version_conflict: [
    412,
    'The object has changed',
    'Read the object again, apply your change to it and send the new ETag in If-Match.',
  ],
  payload_too_large: [
    413,
    'The body is too large',
    'Send less at once; the detail says how much is allowed.',
  ],
  unsupported_media_type: [
    415,
    'The content type is not supported',
    'Set Content-Type to a type the endpoint takes, in most cases application/json.',
  ],
  range_not_satisfiable: [
    416,
    'The range lies outside the content',
    'Ask for a range within the size of the file; the detail says how large it is.',
  ],
  validation_failed: [
    422,
    'Validation failed',
    'Correct the fields listed in errors; nothing was changed.',
  ],
  invalid_transition: [
    422,
    'The status may not change that way',
    'Move to one of the states in allowed; nothing was changed.',
  ],
  cursor_mismatch: [
    422,
    'The cursor belongs to another query',
    'Send a cursor only with the filters and the sort it was made for; start again without one.',
  ],
  cursor_expired: [
    422,
    'The cursor has expired',
    'Start the list again without a cursor; cursors are good for 24 hours.',
  ],
  invalid_file: [
    422,
    'The file cannot be used',
    'The detail says what is wrong with the file; correct it and send it again.',
  ],
  query_too_costly: [
    422,
    'The query would cost too much',
    'Filter by an indexed field, follow fewer relations or ask for less; the detail says what it would cost.',
  ],
  query_timeout: [
    422,
    'The query ran past its time limit',
    'Filter more or follow fewer relations; explain tells what takes long.',
  ],
  sql_refused: [
    422,
    'The statement is not one that may be run',
    'Send one SELECT over the listed views with the listed functions; errors says what is not allowed.',
  ],
  sql_failed: [
    422,
    'The statement failed',
    'Correct the statement; the detail is what the database said of it.',
  ],
  too_many_rows: [
    422,
    'The list is too long for one file',
    'Narrow the list by filters, read it page by page, or have it written by POST /exports.',
  ],
  rate_limited: [
    429,
    'Too many requests',
    'Wait as many seconds as Retry-After says; RateLimit tells how many requests are left.',
  ],
  internal: [
    500,
    'Something failed on our side',
    'Try again; if it stays, quote the request_id to whoever runs the service.',
  ],
  unavailable: [503, 'The service is not ready', 'Try again in a few seconds.'],
} as const satisfies Record<string, readonly [status: number, title: string, advice: string]>

export type ErrorCode = keyof typeof ERRORS

/**
 * The one error that reaches clients. `detail` is for the caller; `cause` goes to the log only.
 * `extra` members stand beside the standard ones in the problem body (`required_scope`, `errors`, ...).
 */
export class ApiError extends Error {
  readonly code: ErrorCode
  readonly status: number
  readonly title: string
  readonly extra: Record<string, unknown>

  constructor(
    code: ErrorCode,
    detail: string,
    extra: Record<string, unknown> = {},
    cause?: unknown,
  ) {
    super(detail, { cause })
    this.code = code
    this.status = ERRORS[code][0]
    this.title = ERRORS[code][1]
    this.extra = extra
  }
}

/** Where a field would stand, when it is the body as a whole that is wrong. */
const WHOLE = 'body'

/** 422 with every failing field. `invalid_transition` wins the problem code when it is the only kind of issue. */
export function invalid(issues: readonly Issue[]): ApiError {
  const errors = issues.map(({ field, ...issue }) => {
    return { field: field || WHOLE, ...issue, pointer: pointer(field) }
  })
  const count = issues.length === 1 ? '1 field is' : `${issues.length} fields are`
  const transition = issues.every((issue) => issue.code === 'invalid_transition')
  const code = transition ? 'invalid_transition' : 'validation_failed'
  const only = issues.length === 1 ? issues[0] : undefined
  const detail = only ? `${only.field || WHOLE}: ${only.message}` : `${count} invalid.`
  const extra = transition && only?.allowed ? { errors, allowed: only.allowed } : { errors }
  return new ApiError(code, detail, extra)
}

/** 404 that says what kind of id was looked for. Objects of other organizations answer the same. */
export function notFound(what: string): ApiError {
  return new ApiError('not_found', `${what} does not exist.`)
}

/** RFC 6901; the empty pointer is the whole body. */
function pointer(field: string): string {
  if (field === '') return ''
  return '/' + field.replaceAll('[', '.').replaceAll(']', '').split('.').join('/')
}
