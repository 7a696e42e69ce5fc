/** Facts stated by hand: asserted, ended or retracted, each with a reason. */
import { invalid } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { instant, isDate } from '../kit/dates.ts'
import { claimName, shownClaim } from '../kit/extension.ts'
import { idDigits, publicId } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answer, Answered } from '../kit/once.ts'
import { startOfDay } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import { claimView } from '../kit/shape.ts'
import type { Store } from '../kit/store.ts'
import { liveClaims } from '../kit/timeline.ts'
import type { Claim, StatedClaim } from '../kit/timeline.ts'
import type { Tx } from '../kit/types.ts'
import { API_SOURCE } from '../kit/write.ts'
import type { WriteRequest } from '../kit/write.ts'
import { makeClaims, retried, subjectOf, valueFor } from './claims.ts'
import type { Making, Subject } from './claims.ts'
import { objectOf } from './object.ts'
import { isRetracted, statuses } from './views.ts'

export const OPERATIONS = ['assert', 'end', 'retract'] as const

export interface FactBody {
  object: string
  op: (typeof OPERATIONS)[number]
  attribute?: string
  value?: unknown
  /** Values by attribute; of what is ended or retracted the names alone. */
  attributes?: Row | string[]
  valid_from?: string
  valid_to?: string | null
  source?: string
  confidence_pct?: number
  reason: string
}

/** Makes the claims that the body asks for. @throws 404, 409, 422 */
export async function stateFacts(
  store: Store,
  request: WriteRequest,
  body: FactBody,
): Promise<Answered> {
  const { resource, id } = objectOf(store.registry, body.object, 'object')
  const state = async (tx: Tx): Promise<Answer> => {
    const subject = await subjectOf(store, tx, request.org_id, resource, id)
    const making = makingOf(subject, request, body)
    const after = await makeClaims(tx, request, subject, making)
    const { extensions } = subject.resource
    const made = after.known.slice(-making.claims.length)
    const statusOf = statuses(after, Date.now())
    const object_id = publicId(resource.prefix, after.id)
    const facts = made.flatMap((claim) =>
      Object.keys(claim.attrs).map((field) => ({
        object_id,
        field: claimName(extensions, field),
        status: statusOf(claim, field),
        ...shownClaim(extensions, field, claimView(claim, field, subject.sources)),
      })),
    )
    const retracted = making.claims.flatMap(({ retracts }) =>
      (retracts ?? []).map((name) => claimName(extensions, name)),
    )
    const { op: operation } = body
    const view = { object: 'fact_change', object_id, op: operation }
    const answer = { ...view, version: after.version, facts, retracted }
    return { status: 201, headers: {}, body: JSON.stringify(answer) }
  }
  return await retried(async () => await once(store, request, state))
}

function makingOf(subject: Subject, request: WriteRequest, body: FactBody): Making {
  const issues: Issue[] = []
  const named = namedIn(body, issues)
  const times = timesOf(body, request, issues)
  const source_id = sourceIn(subject, body, issues)
  const attrs: Row = {}
  for (const { name, value, path } of issues.length > 0 ? [] : named) {
    const found = valueFor(subject.resource, name, value, path)
    issues.push(...found.issues)
    attrs[found.key] = found.value
  }
  if (issues.length > 0) throw invalid(issues)
  const names = named.map(({ name }) => name)
  const claims =
    body.op === 'retract'
      ? retractions(subject, source_id, Object.keys(attrs), times.from)
      : [claimOf(times.from ?? Date.now(), times.to, attrs)]
  return {
    source_id,
    confidence: Math.round((body.confidence_pct ?? 100) * 10),
    claims,
    reason: body.reason,
    action: { assert: 'fact.asserted', end: 'fact.ended', retract: 'fact.retracted' }[body.op],
    details: {
      attributes: names,
      source_id: publicId('src', source_id),
      valid_from: claims.map(({ valid_from }) => new Date(valid_from).toISOString())[0] ?? null,
    },
  }
}

function claimOf(valid_from: number, valid_to: number | null, attrs: Row): Claim {
  return { valid_from, valid_to, attrs, retracts: null }
}

interface Named {
  name: string
  value: unknown
  path: string
}

/** The attributes that the body is about; those that end have no value any more. */
function namedIn({ op, attribute, value, attributes }: FactBody, issues: Issue[]): Named[] {
  const asserts = op === 'assert'
  if ((attribute === undefined) === (attributes === undefined)) {
    const code = attribute === undefined ? 'required' : 'conflicting'
    issues.push({ field: 'attribute', code, message: 'is needed: one of attribute and attributes' })
    return []
  }
  if (attribute !== undefined) {
    if (asserts === (value === undefined)) {
      const code = asserts ? 'required' : 'not_allowed'
      const message = asserts ? 'is what is asserted' : 'is for assert only'
      issues.push({ field: 'value', code, message })
    }
    return [
      { name: attribute, value: asserts ? value : null, path: asserts ? 'value' : 'attribute' },
    ]
  }
  if (Array.isArray(attributes) === asserts) {
    const message = asserts ? 'must be values by attribute' : 'must be a list of names'
    issues.push({ field: 'attributes', code: 'invalid_type', message })
    return []
  }
  return Array.isArray(attributes)
    ? attributes.map((name, i) => ({ name, value: null, path: `attributes[${i}]` }))
    : Object.entries(attributes as Row).map(([name, one]) => {
        return { name, value: one, path: `attributes.${name}` }
      })
}

/** Days begin in the time zone of the organization. */
function timesOf(
  { op, valid_from, valid_to }: FactBody,
  { defaults }: WriteRequest,
  issues: Issue[],
): { from: number | null; to: number | null } {
  const read = (field: string, text: string | null | undefined): number | null => {
    if (text === undefined || text === null) return null
    if (isDate(text)) return startOfDay(text, String(defaults['time_zone']))
    const time = instant(text)
    if (time !== null) return Date.parse(time)
    issues.push({ field, code: 'invalid_format', message: 'must be a date or a time with a zone' })
    return null
  }
  const [from, to] = [read('valid_from', valid_from), read('valid_to', valid_to)]
  if (to !== null && op !== 'assert')
    issues.push({ field: 'valid_to', code: 'not_allowed', message: 'is for assert only' })
  if (to !== null && to <= (from ?? Date.now()))
    issues.push({ field: 'valid_to', code: 'out_of_range', message: 'must be after valid_from' })
  return { from, to }
}

function sourceIn({ sources }: Subject, { source }: FactBody, issues: Issue[]): number {
  if (source === undefined) return API_SOURCE
  const id = idDigits('src', source)
  if (id !== null && sources.has(id)) return id
  issues.push({ field: 'source', code: 'not_found', message: `there is no source ${source}` })
  return API_SOURCE
}

/**
 * Takes back claims of the source: those that begin at a time, or else the ones that hold now. Of several records that became
 * one object, the object's own comes first.
 */
function retractions(
  { known, resource }: Pick<Subject, 'known' | 'resource'>,
  source_id: number,
  names: readonly string[],
  from: number | null,
): StatedClaim[] {
  const own = known
    .filter((claim) => claim.source_id === source_id)
    .sort((a, b) => (a.member ?? 0) - (b.member ?? 0))
  const held = liveClaims(own, Date.now())
  const issues: Issue[] = []
  const starts = names.map((name) => {
    const [claim] =
      from === null
        ? (held.get(name) ?? [])
        : own.filter(
            (one) => one.valid_from === from && name in one.attrs && !isRetracted(one, name, own),
          )
    if (claim) return { name, at: claim.valid_from, member: claim.member }
    const message = `${publicId('src', source_id)} has no such claim on ${claimName(resource.extensions, name)} of this ${resource.title.toLowerCase()}`
    issues.push({ field: 'attribute', code: 'not_found', message })
    return { name, at: 0, member: undefined }
  })
  if (issues.length > 0) throw invalid(issues)
  return [...Map.groupBy(starts, ({ at, member }) => `${at} ${member}`).values()].map((list) =>
    withdrawal(
      list[0]?.at as number,
      list[0]?.member,
      list.map(({ name }) => name),
    ),
  )
}

/** A claim that takes back what begins at a time, on the record of which it was said. */
export function withdrawal(
  valid_from: number,
  member: number | undefined,
  retracts: string[],
): StatedClaim {
  const of = member === undefined ? {} : { member }
  return { valid_from, valid_to: null, attrs: {}, retracts, ...of }
}
