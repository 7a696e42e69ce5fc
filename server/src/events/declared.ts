/** What happens beside changes of the resources, as features declare it: in the order of the documentation. */
import { exportEvents } from '../exports/events.ts'
import { identityEvents } from '../identity/events.ts'
import type { EventDeclaration } from '../kit/record.ts'
import { sandboxEvents } from '../sandbox/events.ts'
import { scheduleEvents } from '../schedule/events.ts'
import { schemaEvents } from '../schema/events.ts'
import { adapterEvents, jobEvents } from '../sdis/events.ts'
import { truthEvents } from '../truth/events.ts'
import { platformEvents } from './platform.ts'

export const declaredEvents: readonly EventDeclaration[] = [
  ...scheduleEvents,
  ...jobEvents,
  ...adapterEvents,
  ...identityEvents,
  ...schemaEvents,
  ...truthEvents,
  ...sandboxEvents,
  ...exportEvents,
  ...platformEvents,
]
