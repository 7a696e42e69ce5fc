/** The worker's side of sandboxes: take a task, do it, tell what came of it. */
import type { Db } from '../db/db.ts'
import { demoStart, seedDemo } from '../demo/seed.ts'
import type { Storage } from '../documents/storage.ts'
import { removeFiles } from '../exports/service.ts'
import { written } from '../events/wake.ts'
import { record } from '../kit/record.ts'
import type { Row } from '../kit/resource.ts'
import { bareStore } from '../organizations/service.ts'
import { actorOf, takeWork } from '../queue/held.ts'
import type { Held, Work } from '../queue/held.ts'
import { moveClock } from './clock.ts'
import { ended } from './events.ts'
import {
  claimTask,
  emptySandbox,
  endTask,
  filesAfter,
  findTask,
  releaseTask,
  renewTask,
  setAheadDays,
  timeZoneOf,
} from './queries.ts'
import { taskAsked } from './service.ts'
import type { Task, TaskArgs } from './tasks.ts'

const IDLE_MS = 1_000

/** Documents whose files are removed at once. */
const FILES_BATCH = 200

/** What tasks are done with. */
export interface SandboxWork {
  db: Db
  storage: Storage
  /** Seals what the organization has done so far: an entry of the audit log is made of the events that a reset removes. */
  seal: (org_id: number, stopping: AbortSignal) => Promise<void>
  log: (message: string) => void
  stopping: AbortSignal
}

/** A task at work, and how it is held. */
interface Running extends SandboxWork {
  held: Held
  task: Task
}

/** Takes the oldest waiting task, if any, and does it. @returns how long to wait before looking again. */
export async function takeTask(work: SandboxWork): Promise<number> {
  const seen = taskAsked.count
  if (await takeWork(work, tasksOf(work))) return 0
  await taskAsked.asleep(IDLE_MS, work.stopping, seen)
  return 0
}

function tasksOf(work: SandboxWork): Work<Task> {
  const { db } = work
  return {
    noun: 'task',
    prefix: 'sbt',
    claim: async (lease_id, pid) => await claimTask(db, lease_id, pid),
    find: async ({ org_id, id }) => await findTask(db, org_id, id),
    renew: async (held) => await renewTask(db, held),
    release: async (held, how) => await releaseTask(db, held, how),
    run: async (held, task) =>
      await finish(work, held, await DOING[task.kind]({ ...work, held, task }), null),
    fail: async (held, error) => await finish(work, held, null, error),
  }
}

async function finish(
  { db }: SandboxWork,
  held: Held,
  result: Row | null,
  error: Task['error'],
): Promise<void> {
  await db.transaction(held.org_id, async (tx) => {
    const state = error ? 'failed' : 'completed'
    const task = await endTask(tx, held, { state, result, error })
    if (task && !error) await record(tx, held.org_id, actorOf(task), [ended(task)])
  })
  written.wake()
}

const DOING: Readonly<Record<Task['kind'], (running: Running) => Promise<Row>>> = {
  reset: async (running) => ({ deleted: await empty(running) }),
  seed: async (running) => {
    const { portfolio, size, seed } = running.task.args as TaskArgs['seed']
    // Empties what an attempt cut short has left, and what the caller wanted replaced.
    await empty(running)
    if (portfolio === 'empty') return { created: {} }
    const { db, storage, held } = running
    const start = demoStart(await timeZoneOf(db, held.org_id))
    return {
      created: await seedDemo(bareStore(db), storage, held.org_id, { seed, size, start }),
    }
  },
  clock: async ({ db, log, stopping, held, task }) =>
    await moveClock(bareStore(db), held.org_id, task as Task<'clock'>, { log, stopping }),
}

/**
 * Removes everything: the files first, as the documents say where they are, then all rows in one transaction, with which
 * the clock goes back. @returns how many objects there were.
 */
async function empty({ db, storage, seal, stopping, held }: Running): Promise<number> {
  const { org_id } = held
  for (let after = 0; ;) {
    const page = await filesAfter(db, org_id, after, FILES_BATCH)
    if (!page) break
    await Promise.all(page.files.map(async (key) => await storage.remove(key)))
    after = page.last
  }
  await removeFiles(db, storage, org_id)
  await seal(org_id, stopping)
  return await db.transaction(org_id, async (tx) => {
    await setAheadDays(tx, org_id, 0)
    return await emptySandbox(tx)
  })
}
