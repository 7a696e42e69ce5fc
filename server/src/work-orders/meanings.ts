/** What a change of a work order means to those who follow work orders by their events. */
import type { Meaning } from '../kit/resource.ts'
import type { WorkOrderRow } from './rules.ts'

const ASSIGNEES = ['assigned_to', 'vendor_party_id', 'team'] as const

const isDone = ({ status }: WorkOrderRow): boolean => status === 'completed' || status === 'closed'

export const workOrderMeanings: Record<string, Meaning<WorkOrderRow>> = {
  assigned: {
    title: 'Work order assigned',
    description: 'The work was given to a person, a vendor or a team, or to another one.',
    when: (row, before) =>
      before !== null && ASSIGNEES.some((name) => row[name] !== null && row[name] !== before[name]),
  },
  completed: {
    title: 'Work order completed',
    description: 'The work is done; a work order that is reopened can be completed again.',
    when: (row, before) => before !== null && isDone(row) && !isDone(before),
  },
}
