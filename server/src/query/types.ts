/** The query document as clients send it, once its outline was checked against its schema. */

export type AggregateName = 'count' | 'count_distinct' | 'sum' | 'avg' | 'min' | 'max'

export const AGGREGATES: readonly AggregateName[] = [
  'count',
  'count_distinct',
  'sum',
  'avg',
  'min',
  'max',
]

export type SelectItem = string | Readonly<Record<string, string>>

export type Tree = Readonly<Record<string, unknown>>

export interface QueryBody {
  from: string
  select?: readonly SelectItem[]
  where?: Tree
  group_by?: readonly string[]
  having?: Tree
  order_by?: readonly (readonly string[])[]
  limit?: number
  cursor?: string
  as_of?: { valid_at?: string; known_at?: string }
  explain?: boolean
  format?: 'json' | 'csv'
}

/** Rows of one page, at most. */
export const ROWS_MAX = 1_000

/** Relations followed from one row to the next, at most. */
export const DEPTH_MAX = 3

/** Relations followed in one query, all paths together. */
export const JOINS_MAX = 12

export const SELECT_MAX = 100
export const GROUPS_MAX = 10
export const ORDER_MAX = 5
export const CONDITIONS_MAX = 200
export const VALUES_MAX = 1_000
export const NESTING_MAX = 10

/** How long a statement may run, in milliseconds. */
export const TIMEOUT_MS = 5_000
