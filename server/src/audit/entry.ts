/** Audit entries as they are sealed, read and exported. */
import { placeOf } from '../events/places.ts'
import { TOLD_EXTENSIONS } from '../kit/extension-door.ts'
import { publicId } from '../kit/ids.ts'
import type { Row } from '../kit/resource.ts'

/** An entry as the door or `record` wrote it, with what is known of its transaction. */
export interface WrittenEntry {
  tx_id: string
  first_seq: string
  n: number
  /** With all the digits the database has. */
  at: string
  action: string
  object_type: string
  object_id: string
  version: number
  changed: string[]
  previous: Row
  details: Row | null
  actor_type: string
  actor_id: string | null
  actor_name: string
  request_id: string | null
  job_id: string | null
  /** JSON of the object as its event shows it. */
  body: string | null
  /** What an import claimed of the object, by valid time. */
  claims: Row[] | null
  /** Of the row itself. */
  digest: string
}

/** Entries of one transaction have numbers below this; an entry's id is made of both, as an event's is. */
export const ENTRIES_MAX = 100_000

/** The entry as it goes into the chain, in which it has this position. */
export function sealedEntry(org_id: number, position: number, entry: WrittenEntry): Row {
  const { changed, previous } = entry
  const { prefix } = placeOf(entry.object_type)
  return {
    id: publicId('aud', Number(entry.tx_id) * ENTRIES_MAX + entry.n),
    object: 'audit_entry',
    organization_id: publicId('org', org_id),
    position,
    at: new Date(entry.at).toISOString(),
    action: entry.action,
    object_type: entry.object_type,
    object_id: publicId(prefix, entry.object_id),
    object_version: entry.version === 0 ? null : entry.version,
    actor: { type: entry.actor_type, id: entry.actor_id, name: entry.actor_name },
    request_id: entry.request_id,
    job_id: entry.job_id === null ? null : publicId('job', entry.job_id),
    changed,
    before: previous,
    after: valuesOf(changed, entry),
    details: ownValues(entry) ? null : entry.details,
  }
}

/** New values of the changed fields: as the event shows the object or, after an import, as they were claimed. */
function valuesOf(changed: readonly string[], entry: WrittenEntry): Row {
  if (changed.length === 0) return {}
  const { body, claims } = entry
  const declared = body === null ? mergedClaims(claims ?? []) : (JSON.parse(body) as Row)
  const row = { ...declared, ...ownValues(entry) }
  return Object.fromEntries(
    changed.flatMap((name) => (row[name] === undefined ? [] : [[name, row[name]]])),
  )
}

/** New values of fields of the organization's own, as they were called then; rows hold them by id. */
function ownValues({ details }: WrittenEntry): Row | null {
  return (details?.[TOLD_EXTENSIONS] as Row | undefined) ?? null
}

/** What is valid later wins. */
function mergedClaims(claims: readonly Row[]): Row {
  return claims.length === 1 ? (claims[0] as Row) : (Object.assign({}, ...claims) as Row)
}
