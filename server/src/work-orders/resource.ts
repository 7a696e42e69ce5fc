import { defineResource } from '../kit/resource.ts'
import { workOrderAgenda } from './agenda.ts'
import { workOrderFields, workOrderRollups } from './fields.ts'
import { workOrderMeanings } from './meanings.ts'
import { checkWorkOrder, deriveWorkOrder, workOrderLifecycle } from './rules.ts'

export const workOrder = defineResource({
  name: 'work_order',
  path: 'work_orders',
  prefix: 'wo',
  title: 'Work order',
  description: 'A piece of work on a property: a repair, a request of a tenant, planned upkeep.',
  fields: workOrderFields,
  rollups: workOrderRollups,
  lifecycle: workOrderLifecycle,
  meanings: workOrderMeanings,
  agenda: workOrderAgenda,
  check: checkWorkOrder,
  derive: deriveWorkOrder,
})
