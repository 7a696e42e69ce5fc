/** What happens by itself: dates that objects name come, and are told or change the objects, once each. */
import type { Db } from '../db/db.ts'
import { instant, isDate } from '../kit/dates.ts'
import { ApiError } from '../kit/errors.ts'
import { startOfDay } from '../kit/query.ts'
import { record } from '../kit/record.ts'
import type { Happening } from '../kit/record.ts'
import type { Due, Resource, Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { OrgDb, Tx } from '../kit/types.ts'
import { update } from '../kit/write.ts'
import { bareStore, SYSTEM } from '../organizations/service.ts'
import { resources } from '../resources.ts'
import {
  objectsOf,
  organizationsDue,
  saveAgenda,
  saveScan,
  scannedAt,
  settleDue,
  takeDue,
  writtenSince,
} from './queries.ts'
import type { Entry, Found, Organization } from './queries.ts'

/** What was due longer ago when an object is first seen is not told: old data must not flood those who listen. */
const OLDEST_MS = 7 * 24 * 60 * 60 * 1_000

/** A write may be seen this long after its time, in milliseconds; chunks of loads take less than a second. */
const OPEN_MS = 30_000

/** Objects read at once: parsing them must not hold up requests. */
const SCAN_BATCH = 100
const DUE_BATCH = 200

/** When a change is tried again that another write came before, and one that the object's rules refuse. */
const RETRY_CONFLICT_MS = 60_000
const RETRY_REFUSED_MS = 24 * 60 * 60 * 1_000

const SCHEDULED = resources.filter(({ agenda }) => agenda !== null)

/** How agendas are tended. */
export interface Tending {
  /** The clock by which dates come; an organization may have its own. */
  now: Date
  log: (message: string) => void
  /** The process is about to end; what is not done waits for the next. */
  stopping: AbortSignal
}

/** Does what is due in all organizations. Several processes may do so at once, and each may be killed at any point. */
export async function tendAgendas(db: Db, tending: Tending): Promise<void> {
  const store = bareStore(db)
  for (const organization of await organizationsDue(db, tending.now)) {
    try {
      const now = aheadBy(tending.now, organization.ahead_days ?? 0)
      await tendAgenda(store, organization, { ...tending, now })
    } catch (error) {
      // One organization's trouble is not the others'.
      tending.log(`agenda of org_${organization.org_id} failed: ${(error as Error).message}`)
    }
  }
}

/** The time on a clock that is some days ahead. */
export function aheadBy(now: Date, days: number): Date {
  return new Date(now.getTime() + days * 86_400_000)
}

/** Does what is due in one organization. */
export async function tendAgenda(
  store: Store,
  organization: Organization,
  tending: Tending,
): Promise<void> {
  for (const resource of SCHEDULED) {
    await look(store.db, organization, resource, tending)
    while (!tending.stopping.aborted && (await happen(store, organization, resource, tending)));
  }
}

/** Brings the agenda up to date with what was written since the last look. */
async function look(
  db: OrgDb,
  organization: Organization,
  resource: Resource,
  { now, stopping }: Tending,
): Promise<void> {
  const { org_id, time_zone } = organization
  const begun = new Date(Date.now() - OPEN_MS)
  const since = await scannedAt(db, org_id, resource.name)
  const oldest = new Date(now.getTime() - OLDEST_MS)
  let after = 0
  for (;;) {
    if (stopping.aborted) return
    const objects = await writtenSince(db, org_id, resource, since, after, SCAN_BATCH)
    if (objects.length > 0) {
      const entries = objects.flatMap((object) => entriesOf(resource, object, time_zone))
      const ids = objects.map(({ id }) => id)
      await saveAgenda(db, org_id, resource.name, ids, entries, oldest)
    }
    if (objects.length < SCAN_BATCH) break
    after = objects.at(-1)?.id as number
  }
  await saveScan(db, org_id, resource.name, begun)
}

function duesOf({ agenda }: Resource, row: Row): Due[] {
  return agenda === null || row['deleted_at'] || row['archived_at'] ? [] : agenda(row)
}

function entriesOf(resource: Resource, { id, row }: Found, time_zone: string): Entry[] {
  const byMark = new Map<string, Entry>()
  for (const { mark, at } of duesOf(resource, row)) {
    const due_at = isDate(at) ? startOfDay(at, time_zone) : Date.parse(instant(at) ?? '')
    if (!Number.isNaN(due_at)) byMark.set(mark, { object_id: id, mark, due_at: new Date(due_at) })
  }
  return [...byMark.values()]
}

interface PatchDue {
  entry: Entry
  object: Found
  patch: Row
}

/** Does a batch of what is due. @returns whether there may be more. */
async function happen(
  store: Store,
  { org_id }: Organization,
  resource: Resource,
  tending: Tending,
): Promise<boolean> {
  const { now } = tending
  const { taken, patches } = await store.db.transaction(org_id, async (tx) => {
    const entries = await takeDue(tx, org_id, resource.name, now, DUE_BATCH)
    return { taken: entries.length, patches: await tell(tx, org_id, resource, entries, now) }
  })
  for (const due of patches) await change(store, org_id, resource, due, tending)
  return taken === DUE_BATCH
}

/** Tells those of the entries that are events, in the transaction that notes them as done. @returns the others. */
async function tell(
  tx: Tx,
  org_id: number,
  resource: Resource,
  entries: readonly Entry[],
  now: Date,
): Promise<PatchDue[]> {
  if (entries.length === 0) return []
  const ids = [...new Set(entries.map(({ object_id }) => object_id))]
  const objects = await objectsOf(tx, org_id, resource, ids)
  const happenings: Happening[] = []
  const patches: PatchDue[] = []
  for (const entry of entries) {
    const object = objects.get(entry.object_id)
    // What the object no longer says is passed over.
    const due = object && duesOf(resource, object.row).find(({ mark }) => mark === entry.mark)
    if (!due) continue
    if ('patch' in due) patches.push({ entry, object, patch: due.patch })
    else happenings.push(happening(resource, object, due))
  }
  if (happenings.length > 0) await record(tx, org_id, SYSTEM, happenings)
  const waiting = new Set(patches.map(({ entry }) => entry))
  await settleDue(
    tx,
    org_id,
    entries.filter((entry) => !waiting.has(entry)),
    now,
  )
  return patches
}

function happening(
  { name }: Resource,
  { id, version, row }: Found,
  { type, about }: { type: string; about: Row },
): Happening {
  return { type, object_type: name, object_id: id, object: row, version, about }
}

/** Writes a change that is due through the write door; the version keeps it from being written twice. */
async function change(
  store: Store,
  org_id: number,
  resource: Resource,
  { entry, object, patch }: PatchDue,
  { now, log }: Tending,
): Promise<void> {
  const settle = async (retry_ms: number | null): Promise<void> => {
    const later = retry_ms === null ? entry.due_at : new Date(now.getTime() + retry_ms)
    await store.db.transaction(org_id, (tx) =>
      settleDue(tx, org_id, [{ ...entry, due_at: later }], retry_ms === null ? now : null),
    )
  }
  try {
    const request = { org_id, actor: SYSTEM, defaults: {} }
    await update(store, resource, request, object.id, patch, object.version)
    await settle(null)
  } catch (error) {
    if (!(error instanceof ApiError)) throw error
    if (error.code === 'version_conflict') return await settle(RETRY_CONFLICT_MS)
    log(`${resource.prefix}_${object.id} (${entry.mark}): ${error.message}`)
    await settle(RETRY_REFUSED_MS)
  }
}
