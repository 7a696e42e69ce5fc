/** Events of dates and times that come by themselves. */
import type { EventDeclaration } from '../kit/record.ts'
import type { Resource } from '../kit/resource.ts'
import { rowSchema } from '../kit/schemas.ts'
import { registry } from '../resources.ts'

function declared(
  name: string,
  verb: string,
  title: string,
  description: string,
): EventDeclaration {
  const object = rowSchema(registry.get(name) as Resource)
  return { type: `${name}.${verb}`, title, description, object_type: name, object }
}

export const scheduleEvents: readonly EventDeclaration[] = [
  declared(
    'lease',
    'expiring',
    'Lease expiring',
    'The lease ends in 180, 90 or 30 days; about says in how many, and when.',
  ),
  declared(
    'lease',
    'option_window_opened',
    'Option window opened',
    'From today on notice can be given to use an option of the lease; about holds the option.',
  ),
  declared(
    'lease',
    'rent_step_started',
    'Rent step started',
    'From today on another step of the base rent holds; about holds the step.',
  ),
  declared(
    'lease',
    'escalation_due',
    'Rent escalation due',
    'A rule of the lease lets the rent rise today; about holds the rule and the day.',
  ),
  declared(
    'lease',
    'critical_date_due',
    'Critical date due',
    'A critical date of the lease is today, or as many days ahead as a reminder was asked for; about holds the date.',
  ),
  declared(
    'work_order',
    'sla_breached',
    'Promised time passed',
    'Nobody took up the work, or it was not done, by the time promised; about says which of both.',
  ),
]
