/** What identity tells others: two objects are one, or are two again. */
import type { EventDeclaration } from '../kit/record.ts'
import { mergeSchema } from './schemas.ts'

export const identityEvents: readonly EventDeclaration[] = [
  {
    type: 'object.merged',
    title: 'Objects merged',
    description:
      'Two objects are one from now on: the winner has the claims of both, and the id of the loser leads to it.',
    object_type: 'merge',
    object: mergeSchema,
  },
  {
    type: 'object.unmerged',
    title: 'Merge undone',
    description: 'Two objects that had been merged stand for themselves again.',
    object_type: 'merge',
    object: mergeSchema,
  },
]
