/**
 * What happens beside the resources: a key is made, a webhook is suspended, an option window opens. Each is an audit
 * entry and, when others may hear of it, an event, in the transaction of what happened.
 */
import type { JsonSchema } from './field.ts'
import type { Row } from './resource.ts'
import type { Actor, Tx } from './types.ts'
import { API_SOURCE } from './write.ts'

/** A type of event as a feature declares it for the catalogue. */
export interface EventDeclaration {
  /** `job.completed` */
  type: string
  title: string
  description: string
  object_type: string
  /** The object as the event shows it. */
  object: JsonSchema
}

export interface Happening {
  /** Name in the catalogue of events, and the action of the audit entry: `api_key.created`. */
  type: string
  object_type: string
  object_id: number
  /** The object as the event shows it; null when it is audited only. */
  object: Row | null
  version?: number
  changed?: readonly string[]
  /** Old values of the changed fields. */
  previous?: Row
  /** What the event says beside the object: how many days are left, which option opened. */
  about?: Row
  /** What the audit entry says beside the object: an address, a scope, a route. */
  details?: Row
}

/** Writes what happened, in the caller's transaction. @returns its id in the organization's log. */
export async function record(
  tx: Tx,
  org_id: number,
  actor: Actor,
  happenings: readonly Happening[],
): Promise<number> {
  const rows = happenings.map((h) => ({
    type: h.type,
    object_type: h.object_type,
    object_id: h.object_id,
    version: h.version ?? 0,
    changed: h.changed ?? [],
    previous: h.previous ?? {},
    about: h.about ?? null,
    details: h.details ?? null,
    body: h.object === null ? null : JSON.stringify(h.object),
  }))
  const [written] = await tx.query<{ tx_id: string }>(
    `with input as materialized (
       select i.*, ord::integer - 1 as place, count(i.body) over (order by ord)::integer - 1 as n
       from rows from (json_to_recordset($8::json) as (type text, object_type text, object_id bigint, version integer,
         changed text[], previous jsonb, about jsonb, details jsonb, body text)) with ordinality
         as i(type, object_type, object_id, version, changed, previous, about, details, body, ord)
     ), tx as (
       insert into tx (org_id, tx_id, at, events, source_id, actor_type, actor_id, actor_name, request_id)
       select $1::bigint, nextval('app.tx_seq'), $2::timestamptz, count(i.body), $3::bigint, $4::text, $5::text, $6::text, $7::text
       from input i returning tx_id
     ), events as (
       insert into event (org_id, tx_id, n, at, type, object_type, object_id, operation, version, changed, previous, about, body)
       select $1::bigint, tx.tx_id, i.n, $2::timestamptz, i.type, i.object_type, i.object_id, null, i.version, i.changed, i.previous, i.about, i.body
       from input i cross join tx where i.body is not null
     ), audited as (
       insert into audit_entry (org_id, tx_id, n, at, action, object_type, object_id, version, changed, previous, details)
       select $1::bigint, tx.tx_id, i.place, $2::timestamptz, i.type, i.object_type, i.object_id, i.version, i.changed, i.previous, i.details
       from input i cross join tx
     )
     select tx_id from tx`,
    [
      org_id,
      new Date(),
      API_SOURCE,
      actor.type,
      actor.id,
      actor.name,
      actor.request_id,
      JSON.stringify(rows),
    ],
  )
  return Number(written?.tx_id)
}
