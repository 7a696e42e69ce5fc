/** What the expressions of an adapter know of its file. */
import type { Adapter } from './adapter.ts'
import { Budget } from './cel-budget.ts'
import { CelReader } from './cel.ts'
import { dateReader, numberReader } from './values.ts'
import type { Reader } from './values.ts'

/** Compiles the expressions of an adapter; those of one reader share a budget. */
export function celOf(
  { locale, lookups }: Pick<Adapter, 'locale' | 'lookups'>,
  budget = new Budget(),
): CelReader {
  const nulls = new Set(locale.nulls)
  const stated =
    (read: Reader): Reader =>
    (cell) => {
      const text = typeof cell === 'string' ? cell.trim() : cell
      return text === '' || nulls.has(String(text)) ? null : read(text)
    }
  return new CelReader({
    number: stated(numberReader(locale)),
    date: (patterns) => stated(dateReader(patterns ?? locale.date)),
    lookups,
    budget,
  })
}
