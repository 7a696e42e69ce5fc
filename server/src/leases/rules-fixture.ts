/** Leases for tests of their rules. */
import { allFields } from '../kit/resource.ts'
import type { Row } from '../kit/resource.ts'
import { lease } from './resource.ts'

const TERM = { commencement_date: '2022-09-01', expiration_date: '2029-08-31' }

/** A lease with a term, of which nothing else is known but these values. */
export function rowOf(values: Row): Row {
  const blank = Object.keys(allFields(lease)).map((name) => [name, null] as const)
  return { ...Object.fromEntries(blank), id: 'le_1', status: 'draft', ...TERM, ...values }
}

/** What is wrong with a lease, each as its field and code. */
export function issuesOf(values: Row, before: Row | null = null, today?: string): string[] {
  const issues = lease.check(rowOf(values), before && rowOf(before), today)
  return issues.map((issue) => `${issue.field} ${issue.code}`)
}
