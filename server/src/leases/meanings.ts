/** What a change of a lease means to those who follow leases by their events. */
import type { Meaning } from '../kit/resource.ts'
import type { LeaseRow } from './rules.ts'

const becomes =
  (status: LeaseRow['status']) =>
  (row: LeaseRow, before: LeaseRow | null): boolean =>
    before !== null && row.status === status && before.status !== status

export const leaseMeanings: Record<string, Meaning<LeaseRow>> = {
  executed: {
    title: 'Lease executed',
    description: 'All parties have signed; the lease is binding but its term has not begun.',
    when: becomes('executed'),
  },
  commenced: {
    title: 'Lease commenced',
    description: 'The term has begun: the signed lease became active on its commencement date.',
    when: (row, before) => becomes('active')(row, before) && before?.status === 'executed',
  },
  expired: {
    title: 'Lease expired',
    description: 'The term has ended and the tenant does not stay.',
    when: becomes('expired'),
  },
  holdover_started: {
    title: 'Holdover started',
    description: 'The term has ended and the tenant still occupies the premises.',
    when: becomes('holdover'),
  },
  terminated: {
    title: 'Lease terminated',
    description: 'The lease ended before its expiration date; status_reason says why.',
    when: becomes('terminated'),
  },
  amended: {
    title: 'Lease amended',
    description: 'An amendment was added to the lease.',
    when: (row, before) =>
      before !== null && (row.amendments?.length ?? 0) > (before.amendments?.length ?? 0),
  },
}
