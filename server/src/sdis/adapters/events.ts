/** What kept adapters tell others: that one was made, changed, tested, went live or back. */
import type { EventDeclaration } from '../../kit/record.ts'
import { adapterSchema } from './schemas.ts'

const ofAdapter = { object_type: 'adapter', object: adapterSchema }

export const adapterEvents: readonly EventDeclaration[] = [
  {
    type: 'adapter.created',
    title: 'Adapter created',
    description: 'A new adapter is kept, its first version a draft.',
    ...ofAdapter,
  },
  {
    type: 'adapter.updated',
    title: 'Adapter changed',
    description: 'The settings of an adapter are other ones, or it has a new or changed draft.',
    ...ofAdapter,
  },
  {
    type: 'adapter.tested',
    title: 'Adapter tested',
    description: 'A version passed its test and cannot be changed any more.',
    ...ofAdapter,
  },
  {
    type: 'adapter.promoted',
    title: 'Adapter promoted',
    description: 'Another version of an adapter is live from now on.',
    ...ofAdapter,
  },
  {
    type: 'adapter.rolled_back',
    title: 'Adapter rolled back',
    description: 'The version that was live before is live again.',
    ...ofAdapter,
  },
  {
    type: 'adapter.deleted',
    title: 'Adapter deleted',
    description: 'Files are no longer read by the adapter; what it loaded stays.',
    ...ofAdapter,
  },
]
