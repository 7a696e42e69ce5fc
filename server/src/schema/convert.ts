/** Values of one type as values of another. What has no clear counterpart is not converted. */
import { shownValue } from '../kit/extension.ts'
import type { Extension } from '../kit/extension.ts'
import { acceptValue } from '../kit/extension-input.ts'
import type { Accepted } from '../kit/extension-input.ts'
import type { Row } from '../kit/resource.ts'
import { numberOf } from './grammar/words.ts'

/** A stored value of one field in the stored form of another. */
export function convertValue(from: Extension, to: Extension, value: unknown): Accepted {
  return acceptValue(to, counterpart(from, to, shownValue(from, value)))
}

function counterpart(from: Extension, to: Extension, shown: unknown): unknown {
  switch (to.type) {
    case 'text':
    case 'long_text':
      return textOf(from, shown)
    case 'percent':
    case 'integer':
    case 'decimal':
      return number(shown)
    case 'money':
      return from.type === 'money'
        ? shown
        : { amount: number(shown), currency: to.settings.currency }
    case 'area':
    case 'length':
      return from.type === to.type ? shown : number(shown)
    case 'boolean':
      return truth(shown)
    case 'select':
      return optionName(to, first(shown)) ?? textOf(from, shown)
    case 'multi_select':
      return [shown].flat().map((item) => optionName(to, item) ?? item)
    case 'date':
      return from.type === 'datetime' ? String(shown).slice(0, 10) : shown
    case 'datetime':
      return from.type === 'date' ? `${String(shown)}T00:00:00Z` : shown
    case 'url':
    case 'email':
    case 'phone':
    case 'relation':
    case 'document':
    case 'address':
    case 'formula':
      return shown
  }
}

/** What people would write for the value. */
function textOf({ options }: Extension, shown: unknown): string {
  if (Array.isArray(shown)) return shown.join(', ')
  if (typeof shown === 'object' && shown !== null)
    return Object.values(shown as Row)
      .filter((part) => part !== null)
      .join(' ')
  return options.find(({ name }) => name === shown)?.label ?? String(shown)
}

function number(shown: unknown): unknown {
  if (typeof shown === 'number') return shown
  if (typeof shown === 'string') {
    const value = numberOf(shown.trim().replace(/ ?%$/, ''))
    return Number.isNaN(value) ? shown : value
  }
  const { amount, value } = (shown ?? {}) as { amount?: unknown; value?: unknown }
  return amount === undefined ? (value ?? shown) : Number(amount)
}

function truth(shown: unknown): unknown {
  const text = String(shown).trim()
  if (/^(?:yes|y|true|1|ja)$/i.test(text)) return true
  return /^(?:no|n|false|0|nein)$/i.test(text) ? false : shown
}

function first(shown: unknown): unknown {
  return Array.isArray(shown) && shown.length === 1 ? shown[0] : shown
}

function optionName({ options }: Extension, shown: unknown): string | null {
  const plain = String(shown).trim().toLowerCase()
  const found = options.find(({ name, label }) => name === plain || label.toLowerCase() === plain)
  return found?.name ?? null
}
