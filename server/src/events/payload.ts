/** Events as JSON text: what the feed shows and what webhooks carry. */
import { ownSchema } from '../kit/extended.ts'
import { shownRow } from '../kit/extension-row.ts'
import { assertionsEver, foldedRow, ranksOf } from '../kit/history.ts'
import type { Held, Known, Source } from '../kit/history.ts'
import { publicId } from '../kit/ids.ts'
import type { Resource, Row } from '../kit/resource.ts'
import { render } from '../kit/row.ts'
import type { Store } from '../kit/store.ts'
import { PRESENT } from '../kit/timeline.ts'
import { registry } from '../resources.ts'
import { eventId } from './feed.ts'
import type { FeedEvent } from './feed.ts'
import { placeOf } from './places.ts'

/** Date of the payload's form; additions keep it, anything else gets a new one. */
export const SCHEMA_VERSION = '2026-05-12'

/** Payloads above this many bytes carry only the id and the address of their object. */
const FULL_MAX = 64 * 1024

/**
 * The payload of each event, in the order given. Events of imports have no body: theirs are folded from the facts known
 * at their transaction, all by one read.
 * @param base_url under which the objects of payloads stand that are too large to be full.
 */
export async function renderEvents(
  store: Pick<Store, 'db'>,
  org_id: number,
  events: readonly FeedEvent[],
  base_url = '/api/v1',
): Promise<string[]> {
  const bare = events.filter((event) => event.body === null && registry.has(event.object_type))
  const ids = [...new Set(bare.map(({ object_id }) => object_id))]
  const known = await assertionsEver(store.db, org_id, ids)
  const ranks = bare.length > 0 ? await ranksOf(store.db, org_id) : new Map<number, Source>()
  const own = await ownSchema({ db: store.db, registry }, org_id)
  return events.map((event) => {
    const stored = event.body ?? folded(event, known.get(event.object_id) ?? [], ranks)
    const body = shownBody(own.registry.get(event.object_type), stored)
    const full = payload(event, body)
    if (Buffer.byteLength(full) <= FULL_MAX) return full
    return thin(event, base_url, { truncated: true })
  })
}

/** The object with the organization's own fields by name. */
function shownBody(resource: Resource | undefined, body: string): string {
  if (!resource || resource.extensions.length === 0 || body === 'null') return body
  return render(shownRow(resource, JSON.parse(body) as Row))
}

/** The payload without the object: its id and where to read it. */
export function thinEvent(event: FeedEvent, base_url: string): string {
  return thin(event, base_url, {})
}

function thin(event: FeedEvent, base_url: string, extra: Row): string {
  const { prefix, path } = placeOf(event.object_type)
  const id = publicId(prefix, event.object_id)
  const object = { id, object: event.object_type, url: `${base_url}/${path}/${id}` }
  const changed = event.changed.length > 0 ? { changed: event.changed } : {}
  const about = event.about ? { about: event.about } : {}
  return JSON.stringify({ ...head(event), ...extra, data: { object, ...changed, ...about } })
}

/** The object's own bytes go into the payload as they were written. */
function payload(event: FeedEvent, body: string): string {
  const { previous, changed, about } = event
  const old = Object.keys(previous).length > 0 ? `,"previous":${JSON.stringify(previous)}` : ''
  const names = changed.length > 0 ? `,"changed":${JSON.stringify(changed)}` : ''
  const beside = about ? `,"about":${JSON.stringify(about)}` : ''
  const start = JSON.stringify(head(event)).slice(0, -1)
  return `${start},"data":{"object":${body}${old}${names}${beside}}}`
}

function head(event: FeedEvent): Row {
  return {
    id: eventId(event),
    object: 'event',
    type: event.type,
    schema_version: SCHEMA_VERSION,
    created_at: event.at.toISOString(),
    organization_id: publicId('org', event.org_id),
    environment: event.environment,
    seq: event.seq,
    resource_seq: event.version,
    actor: { type: event.actor_type, id: event.actor_id, name: event.actor_name },
    request_id: event.request_id,
  }
}

/** The object as it was after the event's transaction; `null` in JSON when nothing is known of it. */
function folded(
  event: FeedEvent,
  known: readonly Held[],
  ranks: ReadonlyMap<number, Source>,
): string {
  const resource = registry.get(event.object_type)
  const then = known.filter(
    ({ tx_id, since_tx = 0, until_tx = Infinity }) =>
      tx_id <= event.tx_id && since_tx <= event.tx_id && event.tx_id < until_tx,
  )
  if (!resource || then.length === 0) return 'null'
  return render(rowAfter(resource, event, then, ranks))
}

function rowAfter(
  resource: Resource,
  event: FeedEvent,
  known: readonly Known[],
  ranks: ReadonlyMap<number, Source>,
): Row {
  const first = known.reduce((a, b) => (a.tx_id <= b.tx_id ? a : b))
  const at = event.at.toISOString()
  const base: Row = {
    id: publicId(resource.prefix, event.object_id),
    object: resource.name,
    organization_id: publicId('org', event.org_id),
    ext: {},
    version: event.version,
    created_at: new Date(first.recorded_at).toISOString(),
    updated_at: at,
    created_by: { type: first.actor_type, id: first.actor_id },
    archived_at: null,
    deleted_at: event.operation === 'deleted' ? at : null,
  }
  const { row, folded: state } = foldedRow(resource, base, known, ranks, event.at.getTime())
  if (!state.present) {
    const words = known.filter(({ attrs }) => PRESENT in attrs).map((a) => a.recorded_at)
    row['archived_at'] = new Date(Math.max(first.recorded_at, ...words)).toISOString()
  }
  return row
}
