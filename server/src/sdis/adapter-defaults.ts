/** What an adapter document means where it says nothing. */
import type { Adapter, Check, Entry, Resolve, Stream } from './adapter.ts'

/** Tables read off pages are believed last. */
const RANKS: Partial<Record<Adapter['source']['kind'], number>> = { pdf: 90 }

/** The document with everything that it leaves out. */
export function complete(given: Partial<Adapter>): Adapter {
  return {
    adapter: given.adapter as string,
    version: given.version ?? 1,
    description: given.description ?? null,
    source: {
      ...(given.source as Adapter['source']),
      rank: given.source?.rank ?? RANKS[given.source?.kind ?? 'csv'] ?? 50,
    },
    locale: {
      decimal: '.',
      thousands: ',',
      date: ['yyyy-MM-dd'],
      timezone: null,
      nulls: [''],
      ...given.locale,
    },
    effective: { date: null, from: null, default: 'job_start', ...given.effective },
    ...modeOf(given.mode),
    lookups: given.lookups ?? {},
    guards: {
      max_retract_pct: 10,
      max_error_pct: 2,
      max_errors: 500,
      min_rows: 1,
      require_columns: [],
      ...given.guards,
    },
    streams: (given.streams ?? []).map((stream) => ({
      ...stream,
      name: stream.name ?? stream.type,
      group: stream.group ?? false,
      map: withCurrency(stream.map),
      resolve: rules(stream.resolve),
      checks: checks(stream.checks),
      ext: {},
    })),
  }
}

function modeOf(given: unknown): Pick<Adapter, 'mode' | 'delete_marker'> {
  if (typeof given === 'object' && given !== null)
    return { mode: 'delete_marker', ...(given as { delete_marker: string }) }
  return { mode: (given as Adapter['mode'] | undefined) ?? 'upsert', delete_marker: null }
}

/** Currencies that the amounts of entries name. */
export function currenciesOf(entries: Record<string, Entry | string>): string[] {
  const found = Object.values(entries).flatMap((entry) => {
    if (typeof entry !== 'object') return []
    const inner = { ...entry.object, ...entry.list }
    return [...(entry.currency ? [entry.currency] : []), ...currenciesOf(inner)]
  })
  return [...new Set(found)]
}

/** An amount that names its currency names that of the object. */
function withCurrency(map: Stream['map'] = {}): Stream['map'] {
  const [currency] = currenciesOf(map)
  return currency ? { currency: { value: currency }, ...map } : map
}

function rules(resolve: Record<string, Resolve> | undefined): Record<string, Resolve> {
  return Object.fromEntries(
    Object.entries(resolve ?? {}).map(([field, rule]) => {
      const by = typeof rule.by === 'string' ? [rule.by] : (rule.by ?? null)
      return [field, { ...rule, stream: rule.stream ?? null, by, missing: rule.missing ?? 'error' }]
    }),
  )
}

function checks(given: Check[] | undefined): Check[] {
  return (given ?? []).map((check) => ({
    ...check,
    tolerance_pct: check.tolerance_pct ?? 0,
    level: check.level ?? 'error',
  }))
}
