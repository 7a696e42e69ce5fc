/** Documents of the portfolio: leases, amendments, certificates of insurance, appraisals, nearly all with their file. */
import type { Row } from '../kit/resource.ts'
import { addDays, addMonths, earlier, instantOf, later, monthEnd, yearOf } from './calendar.ts'
import { amendmentKey, documentKey, hasDocuments } from './document-keys.ts'
import {
  amendmentPages,
  appraisalPages,
  certificatePages,
  estoppelPages,
  expirationClause,
  leasePages,
} from './lease-texts.ts'
import { isRunning, ref } from './model.ts'
import type { Calendar, Draft, LeasePlan } from './model.ts'
import { displayName } from './names.ts'
import type { Planted } from './planted.ts'
import { Random } from './random.ts'
import { acquiredOn } from './sites.ts'
import type { Site } from './sites.ts'

/** Share of the documents that wait for their file. */
const AWAITED = 0.03
/** Share of the tenants in place that have handed in a certificate of insurance. */
const CERTIFIED = 0.8

export function documentDrafts(
  leases: readonly LeasePlan[],
  sites: readonly Site[],
  planted: Planted,
  calendar: Calendar,
  random: Random,
): Draft[] {
  const kept = leases.filter(hasDocuments)
  const conflicts = new Map(planted.conflicts.map((conflict) => [conflict.lease, conflict]))
  const estoppel = kept.find(({ isCliff }) => isCliff) ?? kept[0]
  return [
    ...kept.flatMap((lease) => [
      leaseDocument(lease, conflicts.get(lease.key)?.expiration_date, calendar),
      ...amendmentDocuments(lease, calendar),
    ]),
    ...certificates(kept, calendar, random.fork('certificates')),
    ...(estoppel ? [estoppelDocument(estoppel, calendar)] : []),
    ...sites.flatMap((site) => appraisals(site, calendar, random.fork(site.code))),
  ]
}

/** A few papers are announced, and their files have not come in yet. */
function isFiled(key: string): boolean {
  return !new Random(`${key}/filed`).chance(AWAITED)
}

function linkTo(type: string, key: string, role: string): Row {
  return { object_type: type, object_id: ref(key), role }
}

function draftOf(
  key: string,
  body: Row,
  signed: string,
  since: string,
  pages?: readonly (readonly string[])[],
): Draft {
  const draft: Draft = { key, body, valid_from: instantOf(later(signed, since)) }
  return pages ? { ...draft, pages } : draft
}

function leaseDocument(lease: LeasePlan, otherEnd: string | undefined, calendar: Calendar): Draft {
  const first = lease.terms[0]
  const signed = first?.executed ?? calendar.base
  const body: Row = {
    title: `Lease ${lease.number}, ${displayName(lease.tenant.legal_name)}`,
    document_type: 'lease',
    links: [
      linkTo('lease', lease.key, 'source'),
      linkTo('property', `prop:${lease.site.code}`, 'attachment'),
    ],
    effective_date: first?.from,
    expires_date: otherEnd ?? first?.to ?? null,
    signed_date: signed,
    counterparty_party_id: ref(lease.tenant.key),
    confidentiality: 'confidential',
    ...(otherEnd ? { text_status: 'extracted', extractions: [reading(otherEnd)] } : {}),
  }
  const key = documentKey(lease, 'lease')
  const hasFile = otherEnd !== undefined || lease.isCliff === true || isFiled(key)
  const pages = hasFile ? leasePages(lease, otherEnd ?? null, calendar.start) : undefined
  return draftOf(key, body, signed, acquiredOn(lease.site, calendar), pages)
}

/** What was read from the paper and not taken over, because the record comes from a better source. */
function reading(expiration: string): Row {
  return {
    field: 'expiration_date',
    value: expiration,
    page: 1,
    quote: expirationClause(expiration),
    confidence_pct: 90,
    status: 'proposed',
  }
}

function amendmentDocuments(lease: LeasePlan, calendar: Calendar): Draft[] {
  return lease.amendments.flatMap(({ effective, executed }, i) => {
    const key = amendmentKey(lease, i)
    if (!key) return []
    const body: Row = {
      title: `Amendment ${i + 1} to lease ${lease.number}`,
      document_type: 'amendment',
      links: [linkTo('lease', lease.key, 'source')],
      effective_date: effective,
      signed_date: executed,
      counterparty_party_id: ref(lease.tenant.key),
      confidentiality: 'confidential',
    }
    const pages = isFiled(key) ? amendmentPages(lease, i + 1) : undefined
    return [draftOf(key, body, executed, acquiredOn(lease.site, calendar), pages)]
  })
}

/** Policies run for a year: 88 % are current, 7 % run out within a month, 5 % have run out. */
function certificates(leases: readonly LeasePlan[], calendar: Calendar, random: Random): Draft[] {
  const { start } = calendar
  const insured = leases.filter((lease) => isRunning(lease) && random.chance(CERTIFIED))
  return insured.map((lease) => {
    const days = random.weighted([
      [random.int(31, 350), 88],
      [random.int(2, 30), 7],
      [-random.int(1, 60), 5],
    ])
    const expires = addDays(start, days)
    const effective = addDays(addMonths(expires, -12), 1)
    const body: Row = {
      title: `Certificate of insurance, ${displayName(lease.tenant.legal_name)}`,
      document_type: 'coi',
      links: [
        linkTo('lease', lease.key, 'evidence'),
        linkTo('party', lease.tenant.key, 'evidence'),
      ],
      effective_date: effective,
      expires_date: expires,
      counterparty_party_id: ref(lease.tenant.key),
    }
    const key = documentKey(lease, 'coi')
    const pages = isFiled(key) ? certificatePages(lease, expires) : undefined
    return draftOf(key, body, effective, acquiredOn(lease.site, calendar), pages)
  })
}

function estoppelDocument(lease: LeasePlan, calendar: Calendar): Draft {
  const signed = addDays(calendar.start, -45)
  const body: Row = {
    title: `Estoppel certificate, ${displayName(lease.tenant.legal_name)}`,
    document_type: 'estoppel',
    links: [linkTo('lease', lease.key, 'evidence')],
    effective_date: signed,
    signed_date: signed,
    counterparty_party_id: ref(lease.tenant.key),
  }
  const key = documentKey(lease, 'estoppel')
  const since = acquiredOn(lease.site, calendar)
  return draftOf(key, body, signed, since, estoppelPages(lease, calendar.start))
}

/** One appraisal for each of the last two years. */
function appraisals(site: Site, calendar: Calendar, random: Random): Draft[] {
  return [1, 2].map((ago) => {
    const year = yearOf(calendar.start) - ago
    const signed = earlier(monthEnd(`${year}-12-01`, random.int(0, 1)), calendar.start)
    const body: Row = {
      title: `Appraisal ${year}, ${site.name}`,
      document_type: 'appraisal',
      links: [linkTo('property', `prop:${site.code}`, 'source')],
      effective_date: monthEnd(`${year}-12-01`),
      signed_date: signed,
      counterparty_party_id: ref('pty:appraiser'),
      confidentiality: 'confidential',
    }
    const key = `doc:${site.code}/appraisal-${year}`
    const pages = isFiled(key) ? appraisalPages(site, year, signed) : undefined
    return draftOf(key, body, signed, acquiredOn(site, calendar), pages)
  })
}
