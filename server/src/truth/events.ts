/** What happens to rules and sources, as the catalogue of events declares it. */
import type { EventDeclaration } from '../kit/record.ts'
import { changeSchema, erasureSchema, ruleSchema, sourceSchema } from './schemas.ts'

export const truthEvents: readonly EventDeclaration[] = [
  {
    type: 'source.updated',
    title: 'Source changed',
    description: 'A source ranks or is trusted otherwise, or was not heard of for too long.',
    object_type: 'source',
    object: sourceSchema,
  },
  ...(
    [
      ['created', 'Rule made', 'A rule between sources is in force.'],
      ['updated', 'Rule changed', 'A rule between sources is another one from now on.'],
      ['deleted', 'Rule deleted', 'A rule between sources is no longer in force.'],
    ] as const
  ).map(([verb, title, description]) => ({
    type: `survivorship_rule.${verb}`,
    title,
    description,
    object_type: 'survivorship_rule',
    object: ruleSchema,
  })),
  {
    type: 'survivorship_change.completed',
    title: 'Change of rules carried through',
    description: 'Every object that a change of rules or sources reaches was weighed by it.',
    object_type: 'survivorship_change',
    object: changeSchema,
  },
  {
    type: 'erasure.completed',
    title: 'Erasure completed',
    description: 'What was known of some objects was erased for good; counts say how much.',
    object_type: 'erasure',
    object: erasureSchema,
  },
]
