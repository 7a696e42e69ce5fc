import { defineResource } from '../kit/resource.ts'
import { leaseAgenda } from './agenda.ts'
import { leaseFields, leaseRollups } from './fields.ts'
import { leaseMeanings } from './meanings.ts'
import { checkLease, deriveLease, leaseLifecycle } from './rules.ts'

export const lease = defineResource({
  name: 'lease',
  path: 'leases',
  prefix: 'le',
  title: 'Lease',
  description:
    'One contract between tenant and landlord, over all its terms, with premises, rent, rights and dates.',
  fields: leaseFields,
  rollups: leaseRollups,
  lifecycle: leaseLifecycle,
  meanings: leaseMeanings,
  agenda: leaseAgenda,
  check: checkLease,
  derive: deriveLease,
})
