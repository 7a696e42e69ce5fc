/** The parts of a faulty adapter document that can be looked into further, so that all its faults are told at once. */
import type { Issue } from '../kit/errors.ts'

type Part = Record<string, unknown>

/**
 * A copy of the document without what its schema refuses; null when nothing of it can be looked into.
 * @param issues of the schema, their fields counted from the document.
 */
export function soundParts(document: unknown, issues: readonly Issue[]): Part | null {
  if (!isPart(document)) return null
  const at = issues.map(({ field }) => field)
  const { streams } = document
  return {
    locale: sound(document['locale'], 'locale', at),
    lookups: sound(document['lookups'], 'lookups', at),
    source: sound(document['source'], 'source', at),
    streams: (Array.isArray(streams) ? streams : []).map((stream: unknown, i) =>
      isPart(stream) ? soundStream(stream, `streams[${i}]`, at) : {},
    ),
  }
}

function soundStream(stream: Part, place: string, at: readonly string[]): Part {
  const parts = sound(stream, place, at, ['map', 'resolve'])
  const map = sound(stream['map'], `${place}.map`, at)
  const given = isPart(stream['map']) ? Object.keys(stream['map']) : []
  const lost = new Set(given.filter((name) => !Object.hasOwn(map, name)))
  const rules = Object.entries(sound(stream['resolve'], `${place}.resolve`, at))
  // What resolves inside an entry that is gone would be told to lack it.
  const resolve = rules.filter(([path]) => !lost.has(path.split('.')[0] as string))
  return { ...parts, map, resolve: Object.fromEntries(resolve) }
}

/** The entries that no issue lies in. @param open entries whose own parts are looked at one by one. */
function sound(value: unknown, place: string, at: readonly string[], open: string[] = []): Part {
  if (!isPart(value)) return {}
  const isFaulty = (name: string): boolean => {
    const path = `${place}.${name}`
    return at.some(
      (field) =>
        field === path || (field.startsWith(path) && '.['.includes(field.charAt(path.length))),
    )
  }
  const kept = Object.entries(value).filter(([name]) => open.includes(name) || !isFaulty(name))
  return Object.fromEntries(kept)
}

function isPart(value: unknown): value is Part {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
