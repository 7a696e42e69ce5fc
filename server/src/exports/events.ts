/** What is told of exports. */
import type { EventDeclaration, Happening } from '../kit/record.ts'
import { exportSchema } from './export-schema.ts'
import { exportView } from './model.ts'
import type { Export } from './model.ts'

const declared = (verb: string, title: string, description: string): EventDeclaration => ({
  type: `export.${verb}`,
  title,
  description,
  object_type: 'export',
  object: exportSchema,
})

export const exportEvents: readonly EventDeclaration[] = [
  declared('completed', 'Export completed', 'The file can be downloaded; file says where.'),
  declared('failed', 'Export failed', 'There is no file; error says why.'),
  declared('cancelled', 'Export cancelled', 'The export was stopped; there is no file.'),
]

/** How an export ended. */
export function ended(one: Export): Happening {
  return {
    type: `export.${one.state}`,
    object_type: 'export',
    object_id: one.id,
    object: exportView(one),
  }
}

/** What is audited and told to nobody: who asked for data, fetched it, and removed it. */
export function audited(one: Export, verb: 'requested' | 'downloaded' | 'deleted'): Happening {
  return {
    type: `export.${verb}`,
    object_type: 'export',
    object_id: one.id,
    object: null,
    details: { type: one.type, format: one.format },
  }
}
