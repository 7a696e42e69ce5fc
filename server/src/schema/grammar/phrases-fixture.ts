/** Plans in a line, to compare what sentences come to. */
import type { Extension } from '../../kit/extension.ts'
import type { Operation } from '../operations.ts'
import { readSentence } from './sentence.ts'

function field(
  id: number,
  object_type: string,
  name: string,
  type: Extension['type'],
  more: Partial<Extension> = {},
): Extension {
  return {
    id,
    object_type,
    name,
    label: name.charAt(0).toUpperCase() + name.slice(1).replaceAll('_', ' '),
    description: null,
    type,
    settings: {},
    options: [],
    aliases: [],
    required: false,
    filterable: false,
    indexed: false,
    state: 'deployed',
    ...more,
  }
}

const options = ['shell', 'warm'].map((name, i) => ({
  id: i + 1,
  name,
  label: name,
  state: 'active' as const,
}))

/** What the sentences find. */
export const known: readonly Extension[] = [
  field(1, 'lease', 'recovery_cap', 'percent'),
  field(2, 'space', 'fit_out', 'select', { options }),
  field(3, 'building', 'pet_friendly', 'boolean'),
  field(4, 'lease', 'note', 'text'),
  field(5, 'building', 'note', 'text'),
  field(6, 'lease', 'old_code', 'text', { state: 'deprecated' }),
]

/** `add lease.recovery_cap percent min=0 max=100`, questions by their ids behind a question mark. */
export function outcome(text: string, answers: Readonly<Record<string, string>> = {}): string[] {
  const { operations, questions } = readSentence(text, { extensions: known, answers })
  return [...operations.map(line), ...questions.map(({ id }) => `? ${id}`)]
}

function line({
  op,
  object_type,
  field: on,
  label,
  api_name,
  type,

  ...rest
}: Operation): string {
  const name = on ?? api_name ?? ''
  const told = Object.entries(rest).filter(([key]) => key !== 'source')
  const words = told.map(([key, value]) =>
    key === 'options'
      ? `[${(value as { label: string }[]).map((option) => option.label).join('|')}]`
      : `${key}=${String(value)}`,
  )
  const verb = op === 'add_attribute' ? 'add' : op
  const renamed = op === 'rename_label' ? [label ?? api_name] : []
  return [verb, `${object_type}.${name}`, ...(type ? [type] : []), ...renamed, ...words].join(' ')
}
