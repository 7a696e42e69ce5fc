/**
 * Work that is asked for by a row, and that one process has at a time: it takes the row, renews its hold while it works, and
 * ends it or gives it back. Of a process that is lost the hold runs out.
 */
import type { Db } from '../db/db.ts'
import { ApiError } from '../kit/errors.ts'
import type { Actor } from '../kit/types.ts'

/** A hold runs out after a minute. */
const RENEW_MS = 15_000

/** Times work is begun before it is given up. */
const ATTEMPTS_MAX = 3

/** Work as a worker has it. */
export interface Held {
  org_id: number
  id: number
  lease_id: number
}

/** Why work failed, as its caller sees it. */
export interface Failure {
  code: string
  message: string
}

/** How work is given back, to be begun again. */
export interface Release {
  /** Before that nobody takes it. */
  pause_s: number
  /** Whether it was an attempt: what the end of a process cuts short is none. */
  tried: boolean
}

/** One kind of such work. */
export interface Work<T> {
  /** What it is called in sentences. */
  noun: string
  /** Prefix of its ids. */
  prefix: string
  claim: (lease_id: number, pid: number) => Promise<Pick<Held, 'org_id' | 'id'> | undefined>
  find: (held: Held) => Promise<T | undefined>
  renew: (held: Held) => Promise<unknown>
  release: (held: Held, how: Release) => Promise<void>
  /** Does it and ends it well. */
  run: (held: Held, work: T) => Promise<void>
  fail: (held: Held, error: Failure) => Promise<void>
}

/** Where work is done. */
export interface Workplace {
  db: Db
  log: (message: string) => void
  stopping: AbortSignal
}

/** Takes the oldest waiting work of a kind and does it. @returns whether there was any. */
export async function takeWork<T extends { attempts: number }>(
  place: Workplace,
  kind: Work<T>,
): Promise<boolean> {
  const { db } = place
  const session = await db.session()
  try {
    const [lease_id = 0] = await db.ids(1)
    const claimed = await kind.claim(lease_id, session.pid)
    if (!claimed) return false
    const held = { ...claimed, lease_id }
    const work = await kind.find(held)
    if (work) await hold(place, kind, held, work)
    return true
  } finally {
    session.release()
  }
}

/** What fails is tried again after a pause; what a caller did wrong is not, nor what ends the process each time. */
async function hold<T extends { attempts: number }>(
  { log, stopping }: Workplace,
  kind: Work<T>,
  held: Held,
  work: T,
): Promise<void> {
  const { attempts } = work
  if (attempts > ATTEMPTS_MAX) return await kind.fail(held, failureOf(kind, null))
  const renewing = setInterval(() => void kind.renew(held).catch(() => {}), RENEW_MS)
  try {
    await kind.run(held, work)
  } catch (error) {
    if (stopping.aborted) return await kind.release(held, { pause_s: 0, tried: false })
    log(`${kind.prefix}_${held.id} failed: ${(error as Error).message}`)
    const final = error instanceof ApiError && error.status < 500
    if (!final && attempts < ATTEMPTS_MAX)
      return await kind.release(held, { pause_s: 5 ** attempts, tried: true })
    await kind.fail(held, failureOf(kind, error))
  } finally {
    clearInterval(renewing)
  }
}

function failureOf({ noun }: Pick<Work<unknown>, 'noun'>, error: unknown): Failure {
  if (error instanceof ApiError) return { code: error.code, message: error.message }
  return { code: 'internal', message: `The ${noun} failed on our side.` }
}

/** Who asked for it, as its row says. */
interface Asked {
  actor_type: string
  actor_id: string | null
  actor_name: string
  request_id: string | null
}

export function actorOf({ actor_type, actor_id, actor_name, request_id }: Asked): Actor {
  return { type: actor_type as Actor['type'], id: actor_id, name: actor_name, request_id }
}
