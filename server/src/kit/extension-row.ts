/** Rows as clients see them: the organization's own fields by name, formulas computed. */
import { deployed, extensionKey, shownValue } from './extension.ts'
import type { Extension } from './extension.ts'
import { formulaValue } from './formula.ts'
import type { Row } from './resource.ts'

/** Every deployed field, null where the object has no value. */
function shownExtensions(extensions: readonly Extension[], row: Row): Row {
  const stored = row['ext'] as Row | null
  return Object.fromEntries(
    deployed(extensions).map((extension) => [
      extension.name,
      extension.type === 'formula'
        ? formulaValue(extension, row, extensions)
        : shownValue(extension, stored?.[extensionKey(extension.id)]),
    ]),
  )
}

/** The row as clients see it. */
export function shownRow({ extensions }: { extensions: readonly Extension[] }, row: Row): Row {
  return extensions.length === 0 ? row : { ...row, ext: shownExtensions(extensions, row) }
}
