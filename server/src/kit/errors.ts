/** One failing field of a request. */
export interface Issue {
  /** Dotted path as a person writes it: `rent_schedule[2].start_date`. */
  field: string
  code: string
  message: string
  allowed?: readonly string[]
  suggestion?: string
}

/** Every error code a caller can meet, with its status and title. Codes are stable. */
export const ERRORS = {
  malformed_json: [400, 'The body is not valid JSON'],
  bad_request: [400, 'The request cannot be read'],
  missing_key: [401, 'No API key was sent'],
  invalid_key: [401, 'The API key is not known'],
  expired_key: [401, 'The API key has expired'],
  insufficient_scope: [403, 'The key lacks the scope for this endpoint'],
  plan_required: [403, 'The plan of the organization does not include this endpoint'],
  not_found: [404, 'Not found'],
  method_not_allowed: [405, 'The method is not allowed on this path'],
  not_acceptable: [406, 'The representation asked for is not available'],
  idempotency_conflict: [409, 'The idempotency key was used with another request'],
  duplicate_external_id: [409, 'An external id is already used'],
  conflict: [409, 'The request conflicts with the present state'],
  version_conflict: [412, 'The object has changed'],
  payload_too_large: [413, 'The body is too large'],
  unsupported_media_type: [415, 'The content type is not supported'],
  range_not_satisfiable: [416, 'The range lies outside the content'],
  validation_failed: [422, 'Validation failed'],
  invalid_transition: [422, 'The status may not change that way'],
  cursor_mismatch: [422, 'The cursor belongs to another query'],
  cursor_expired: [422, 'The cursor has expired'],
  invalid_file: [422, 'The file cannot be used'],
  rate_limited: [429, 'Too many requests'],
  internal: [500, 'Something failed on our side'],
  unavailable: [503, 'The service is not ready'],
} as const satisfies Record<string, readonly [number, string]>

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

/** 422 with every failing field. `invalid_transition` wins the problem code when it is the only kind of issue. */
export function invalid(issues: readonly Issue[]): ApiError {
  const errors = issues.map((issue) => ({ ...issue, pointer: pointer(issue.field) }))
  const count = issues.length === 1 ? '1 field is' : `${issues.length} fields are`
  const transition = issues.every((issue) => issue.code === 'invalid_transition')
  const code = transition ? 'invalid_transition' : 'validation_failed'
  const only = issues.length === 1 ? issues[0] : undefined
  const detail = only ? `${only.field}: ${only.message}` : `${count} invalid.`
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
