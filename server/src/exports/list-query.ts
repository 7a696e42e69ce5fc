/** What an export asks for, as the query of the list that it writes. */
import { ApiError, invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { LIST_PARAMETERS, parseListQuery } from '../kit/query.ts'
import type { ListQuery } from '../kit/query.ts'
import type { Resource } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Caller } from '../kit/types.ts'

type Scalar = string | number | boolean
type Given = Scalar | Scalar[]

/** The body of a request for an export, which its schema has checked. */
export interface ExportBody {
  type: string
  format: string
  filters?: Record<string, Given | Record<string, Given>>
  sort?: string
  fields?: string[]
  expand?: string[]
  include?: string[]
  q?: string
  as_of?: string
  known_at?: string
}

/** The parameters of the list, as its address would hold them. @throws 422 for a filter that is none. */
export function parametersOf(body: ExportBody): Record<string, string> {
  const { type: _, format: __, filters = {}, ...rest } = body
  const parameters = Object.entries(rest).map(([name, value]) => [name, textOf(value)] as const)
  const conditions = Object.entries(filters).flatMap(([name, value]) => {
    const field = name.replace(/\[.*$/, '')
    if ((LIST_PARAMETERS.includes(field) && field !== 'external_id') || field === 'format') {
      const message = `'${name}' is no field to filter by; it has a place of its own in the body`
      throw invalid([{ field: `filters.${name}`, code: 'unknown_filter', message }])
    }
    if (typeof value !== 'object' || Array.isArray(value)) return [[name, textOf(value)] as const]
    return Object.entries(value).map(([op, inner]) => [`${name}[${op}]`, textOf(inner)] as const)
  })
  return Object.fromEntries([...parameters, ...conditions])
}

function textOf(value: Given): string {
  return Array.isArray(value) ? value.join(',') : String(value)
}

/** The list that the parameters ask for. @throws 422 naming fields as the body has them. */
export function listQueryOf(
  store: Pick<Store, 'registry' | 'secret'>,
  resource: Resource,
  parameters: Readonly<Record<string, string>>,
  caller: Pick<Caller, 'org_id' | 'time_zone'>,
): ListQuery {
  try {
    return parseListQuery(resource, store.registry, parameters, store.secret, caller)
  } catch (error) {
    if (!(error instanceof ApiError) || !Array.isArray(error.extra['errors'])) throw error
    throw invalid(
      (error.extra['errors'] as Issue[]).map((issue) => {
        const own = LIST_PARAMETERS.includes(issue.field)
        return own ? issue : { ...issue, field: `filters.${issue.field}` }
      }),
    )
  }
}
