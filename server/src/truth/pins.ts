/** Pins: values that a person holds against every source, until told otherwise. */
import { instant } from '../kit/dates.ts'
import { invalid, notFound } from '../kit/errors.ts'
import type { Known } from '../kit/history.ts'
import { claimName, factKey, shownClaim } from '../kit/extension.ts'
import { publicId, idDigits } from '../kit/ids.ts'
import { once } from '../kit/once.ts'
import type { Answer, Answered } from '../kit/once.ts'
import type { Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import { PIN, UNTIL_SOURCE_CHANGES } from '../kit/survivorship.ts'
import { fold, liveClaims } from '../kit/timeline.ts'
import type { Claim, StatedClaim } from '../kit/timeline.ts'
import type { Tx } from '../kit/types.ts'
import type { WriteRequest } from '../kit/write.ts'
import { makeClaims, retried, subjectOf, valueFor } from './claims.ts'
import type { Claimed, Subject } from './claims.ts'
import { withdrawal } from './facts.ts'
import { objectOf } from './object.ts'
import { isRetracted } from './views.ts'
import type { Claims } from './views.ts'

/** Built-in source of what people say. */
const USER_SOURCE = 2

/** What the claim of a pin without an end says of it. */
const KEPT = 'kept'

export interface PinBody {
  attribute: string
  value?: unknown
  /** Pins what this source says now. */
  source_id?: string
  expires?: string | null
  reason: string
}

/** Pins a value, in place of an earlier pin of the attribute. @throws 404, 409, 422 */
export async function pin(
  store: Store,
  request: WriteRequest,
  text: string,
  body: PinBody,
): Promise<Answered> {
  const { resource, id } = objectOf(store.registry, text)
  const state = async (tx: Tx): Promise<Answer> => {
    const subject = await subjectOf(store, tx, request.org_id, resource, id)
    const { attribute, reason } = body
    const found = pinned(subject, body)
    if (found.issues.length > 0) throw invalid(found.issues)
    const at = Math.max(Date.now(), Date.parse(subject.row['updated_at'] as string))
    const until = body.expires === UNTIL_SOURCE_CHANGES
    const claim: Claim = {
      valid_from: at,
      valid_to: until ? null : expiryOf(body.expires ?? null, at),
      attrs: { [found.key]: found.value, [PIN]: until ? UNTIL_SOURCE_CHANGES : KEPT },
      retracts: null,
    }
    const after = await makeClaims(tx, request, subject, {
      source_id: USER_SOURCE,
      confidence: 1_000,
      claims: [
        ...withdrawals(subject, found.key).filter((c) => c.valid_from !== at || c.member),
        claim,
      ],
      reason,
      action: 'value.pinned',
      details: { attribute, expires: body.expires ?? null },
    })
    const view = pinViews(after, found.key)[0]
    return { status: 201, headers: {}, body: JSON.stringify(view) }
  }
  return await retried(async () => await once(store, request, state))
}

/** The value given, or the one that the source claims, which is in the form of facts already. */
function pinned(subject: Subject, body: PinBody): Claimed {
  const { attribute, source_id } = body
  const { resource } = subject
  if (source_id === undefined)
    return valueFor(resource, attribute, pinnedValue(subject, body, attribute), 'value')
  const key = factKey(resource.extensions, attribute) ?? attribute
  const value = pinnedValue(subject, body, key)
  if (key !== attribute) return { key, value, issues: [] }
  return valueFor(resource, attribute, value, 'attribute')
}

/** @param key name under which facts hold the attribute. */
function pinnedValue({ known, sources, resource }: Subject, body: PinBody, key: string): unknown {
  const { attribute, value, source_id } = body
  if ((value === undefined) === (source_id === undefined)) {
    const code = value === undefined ? 'required' : 'conflicting'
    throw invalid([{ field: 'value', code, message: 'is needed: one of value and source_id' }])
  }
  if (source_id === undefined) return value
  const id = idDigits('src', source_id)
  const held = liveClaims(known, Date.now()).get(key) ?? []
  const claim = held.find((one) => one.source_id === id)
  if (claim) return claim.attrs[key] ?? null
  const name = (id !== null && sources.get(id)?.name) || source_id
  const message = `${name} says nothing of ${attribute} of this ${resource.title.toLowerCase()}`
  throw invalid([{ field: 'source_id', code: 'not_found', message }])
}

function expiryOf(text: string | null, at: number): number | null {
  if (text === null) return null
  const time = instant(text)
  const issue = { field: 'expires', code: 'invalid_format' }
  if (time === null)
    throw invalid([{ ...issue, message: `must be ${UNTIL_SOURCE_CHANGES} or a time with a zone` }])
  if (Date.parse(time) <= at)
    throw invalid([{ field: 'expires', code: 'out_of_range', message: 'must lie in the future' }])
  return Date.parse(time)
}

/** Takes every pin of the attribute back. */
function withdrawals({ known }: Subject, attribute: string): StatedClaim[] {
  const pins = pinsIn(known).filter((claim) => attribute in claim.attrs)
  const starts = Map.groupBy(pins, ({ valid_from, member }) => `${valid_from} ${member}`)
  return [...starts.values()].flatMap(([first]) =>
    first ? [withdrawal(first.valid_from, first.member, [attribute])] : [],
  )
}

/** Pins that were not taken back. */
function pinsIn(known: readonly Known[]): Known[] {
  return known.filter(
    (claim) =>
      PIN in claim.attrs &&
      Object.keys(claim.attrs).some((name) => name !== PIN && !isRetracted(claim, name, known)),
  )
}

/** Takes a pin back: the sources decide again. @throws 404 when the attribute is not pinned. */
export async function unpin(
  store: Store,
  request: WriteRequest,
  text: string,
  attribute: string,
): Promise<void> {
  const { resource, id } = objectOf(store.registry, text)
  const withdraw = async (tx: Tx): Promise<void> => {
    const subject = await subjectOf(store, tx, request.org_id, resource, id)
    const key = factKey(subject.resource.extensions, attribute)
    const claims = key === null ? [] : withdrawals(subject, key)
    if (claims.length === 0) throw notFound(`A pin of ${attribute} on ${text}`)
    await makeClaims(tx, request, subject, {
      source_id: USER_SOURCE,
      confidence: 1_000,
      claims,
      reason: 'unpinned',
      action: 'value.unpinned',
      details: { attribute },
    })
  }
  await retried(async () => await store.db.transaction(request.org_id, withdraw))
}

/** Pins of an object: those that hold, and those that ended by themselves. */
export function pinViews({ known, sources, resource }: Claims, attribute: string | null): Row[] {
  const now = Date.now()
  const { winners } = fold(known, now, sources, resource.name)
  const { extensions } = resource
  return pinsIn(known).flatMap((claim) =>
    Object.keys(claim.attrs)
      .filter((name) => name !== PIN && (attribute === null || name === attribute))
      .map((name) => ({
        object: 'pin',
        attribute: claimName(extensions, name),
        value: shownClaim(extensions, name, { value: claim.attrs[name] ?? null })['value'],
        expires:
          claim.attrs[PIN] === UNTIL_SOURCE_CHANGES
            ? UNTIL_SOURCE_CHANGES
            : claim.valid_to && new Date(claim.valid_to).toISOString(),
        state: winners.get(name) === claim ? 'holds' : 'ended',
        reason: claim.reason,
        pinned_at: new Date(claim.recorded_at).toISOString(),
        actor: { type: claim.actor_type, id: claim.actor_id, name: claim.actor_name },
        transaction: publicId('tx', claim.tx_id),
      })),
  )
}
