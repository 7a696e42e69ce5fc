/** References that waited for their object: once it has arrived, the records that named it are filled. */
import { flightsIn } from '../db/db.ts'
import type { Reference } from '../kit/door.ts'
import { idDigits } from '../kit/ids.ts'
import { rowsIn } from '../kit/once.ts'
import type { Resource } from '../kit/resource.ts'
import type { Tx } from '../kit/types.ts'
import { saveChunk, saveProgress } from './job-queries.ts'
import { withCounts } from './jobs.ts'
import type { JobCounts } from './jobs.ts'
import { doorWrites, prepare, write } from './load.ts'
import type { Load, LoadItem } from './load.ts'
import { isConflict } from './pass.ts'
import { noteFilled, pendingAfter } from './pending-queries.ts'
import type { Waiting } from './pending-queries.ts'
import { lockRows, runAfter } from './record-queries.ts'
import { findObjects } from './resolve.ts'
import { announce, goOn } from './running.ts'
import type { Running } from './running.ts'

/** Chunk numbers of filled references follow those of endings at a distance no job reaches. */
const FIRST_CHUNK = 2_000_000_000

/** References looked at, and records filled, at once. */
const BATCH = 500

const TRIES = 10

/** A waiting reference with the id it was waiting for. */
interface Arrived {
  waiting: Waiting
  id: string
}

/** Fills what waited for objects of the type that the job loaded. What still waits goes on waiting. */
export async function fillPending(running: Running): Promise<void> {
  const { done } = running
  const load = loadSeeing(running)
  const written = [...done].filter(([no]) => no >= FIRST_CHUNK)
  for (const [, part] of written) running.counts = withCounts(running.counts, part)
  let no = FIRST_CHUNK + written.length
  let last: Waiting | undefined
  while (true) {
    const { store, org_id, resource } = load
    const batch = await pendingAfter(store.db, org_id, resource.name, last, BATCH)
    const arrived = await arrivedOf(load, batch)
    // Records of one stream and time are written together, field by field.
    const groups = Map.groupBy(arrived, ({ waiting: { source_id, stream, field, valid_from } }) =>
      JSON.stringify([source_id, stream, field, valid_from]),
    )
    for (const group of groups.values()) await fill(running, await groupOf(load, group), no++)
    if (batch.length < BATCH) return
    last = batch.at(-1)
  }
}

/** The load, which sees what the one transaction of a whole job has made so far. */
function loadSeeing({ load, whole }: Running): Load {
  if (!whole) return load
  const seeing = { ...rowsIn(whole), ...flightsIn(whole) }
  const db = Object.assign(Object.create(load.store.db) as Load['store']['db'], seeing)
  return { ...load, store: { ...load.store, db } }
}

async function arrivedOf(load: Load, batch: readonly Waiting[]): Promise<Arrived[]> {
  const groups = Map.groupBy(batch, ({ source_id, lookup }) => JSON.stringify([source_id, lookup]))
  const found: Arrived[] = []
  for (const group of groups.values()) {
    const [{ source_id, lookup }] = group as [Waiting]
    const { store, org_id } = load
    const values = group.map(({ value }) => value)
    const objects = await findObjects({ store, org_id, source_id }, lookup, values)
    for (const waiting of group) {
      const id = objects.get(waiting.value)
      if (typeof id === 'string') found.push({ waiting, id })
    }
  }
  return found
}

/** Records of one stream and time, one field of which is filled. */
interface Group {
  load: Load
  items: LoadItem[]
  references: Reference[]
  filled: Waiting[]
}

async function groupOf(load: Load, group: readonly Arrived[]): Promise<Group> {
  const [{ waiting }] = group as [Arrived]
  const target = load.resource
  return {
    load: await loadOf(load, waiting),
    items: group.map(({ waiting: { key, field, object_id }, id }): LoadItem => {
      return { key, row: null, hash: '0', object_id, stated: { [field]: id } }
    }),
    references: group.map(({ id }) => ({
      target: target.name,
      id: idDigits(target.prefix, id) as number,
    })),
    filled: group.map((one) => one.waiting),
  }
}

async function fill(running: Running, group: Group, no: number): Promise<void> {
  const { session, job, lease_id, whole } = running
  if (whole) {
    await lockGroup(whole, group)
    running.counts = withCounts(running.counts, await fillOnce(whole, job.id, group))
    return await announce(running, 'writing')
  }
  for (let attempt = 1; ; attempt++) {
    try {
      let part: Partial<JobCounts> = {}
      const state = await session.transaction(job.org_id, async (tx) => {
        const state = await saveProgress(tx, job, lease_id, 'writing', running.counts)
        if (attempt > 1) await lockGroup(tx, group)
        part = await fillOnce(tx, job.id, group)
        await saveChunk(tx, job, no, part)
        return state
      })
      running.counts = withCounts(running.counts, part)
      goOn(running, state)
      return
    } catch (error) {
      if (!isConflict(error) || attempt === TRIES) throw error
    }
  }
}

async function lockGroup(tx: Tx, { load, items }: Group): Promise<void> {
  const ids = items.map(({ object_id }) => object_id as number)
  await lockRows(tx, load.org_id, load.resource.name, ids)
}

/** Writes the field as the source of the records stated it then. */
async function fillOnce(
  tx: Tx,
  job_id: number,
  { load, items, references, filled }: Group,
): Promise<Partial<JobCounts>> {
  const prepared = await prepare(load, items)
  // The rows of the records are as they were: their hashes stay.
  const records = { ...prepared, records: [] }
  await write(load, tx, records, doorWrites(load, records, references))
  await noteFilled(tx, load, job_id, filled)
  return { facts: prepared.counts.facts }
}

/** The load by which a record came, for one of its fields. */
async function loadOf(load: Load, waiting: Waiting): Promise<Load> {
  const { source_id, stream, field, object_type, valid_from } = waiting
  const at = valid_from.getTime()
  return {
    ...load,
    source_id,
    stream,
    resource: load.store.registry.get(object_type) as Resource,
    names: new Set([field]),
    parts: new Map(),
    at,
    next: await runAfter(load.store.db, { org_id: load.org_id, source_id, stream }, at),
  }
}
