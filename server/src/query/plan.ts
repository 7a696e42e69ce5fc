/** What PostgreSQL means to do with a statement, told without SQL: what is scanned, how, and what it is thought to cost. */
import type { Row } from '../kit/resource.ts'

interface PlanNode {
  'Node Type': string
  'Relation Name'?: string
  'Index Name'?: string
  'CTE Name'?: string
  'Total Cost': number
  'Plan Rows': number
  Plans?: PlanNode[]
}

export interface Plan {
  /** In PostgreSQL's units: about one for each page read in order. */
  cost: number
  rows: number
  scans: Row[]
}

/** @param explained what `explain (format json)` gives. */
export function planOf(explained: unknown): Plan {
  const [{ Plan: root }] = explained as [{ Plan: PlanNode }]
  const scans = nodes(root).flatMap((node): Row[] => {
    const scan = scanOf(node)
    return scan ? [scan] : []
  })
  return { cost: Math.ceil(root['Total Cost']), rows: root['Plan Rows'], scans }
}

function nodes(node: PlanNode): PlanNode[] {
  return [node, ...(node.Plans ?? []).flatMap(nodes)]
}

/** `index`: only what the index leads to is read; `full_scan`: every row is; `folded`: rows were made of their facts. */
function scanOf(node: PlanNode): Row | null {
  const rows = node['Plan Rows']
  const type = node['Node Type']
  if (type === 'Bitmap Index Scan') return null
  const table = node['Relation Name']
  if (table === undefined) {
    const folded = node['CTE Name']
    return folded === undefined ? null : { type: folded, method: 'folded', index: null, rows }
  }
  const index = node['Index Name'] ?? indexBelow(node)
  const method = type === 'Seq Scan' ? 'full_scan' : 'index'
  return { type: table, method, index, rows }
}

function indexBelow({ Plans = [] }: PlanNode): string | null {
  const index = Plans.find((node) => node['Index Name'] !== undefined)
  return index?.['Index Name'] ?? null
}

/** A full scan that returns fewer rows than this is no matter. */
const LARGE = 10_000

export function planWarnings({ scans }: Plan): string[] {
  const large = scans.filter(({ method, rows }) => method === 'full_scan' && Number(rows) >= LARGE)
  return large.map(
    ({ type }) =>
      `Every ${String(type).replaceAll('_', ' ')} is read: a filter on an indexed field would read fewer.`,
  )
}
