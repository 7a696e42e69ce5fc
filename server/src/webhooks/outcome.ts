/** What an attempt means for its delivery: is it done, tried again and when, or given up. */
import type { Attempt } from './attempt.ts'

export const ATTEMPTS_MAX = 5

/** Delays are varied by up to this share, so that failures of one moment do not come back together. */
const JITTER = 0.2

/** An answer may ask for patience, up to this many times the delay it would have had. */
const PATIENCE = 4

export interface Outcome {
  outcome: 'succeeded' | 'failed' | 'cancelled' | 'retry'
  /** Why it ended without success. */
  reason: string | null
  /** Until the next attempt, in seconds. */
  wait_s: number
  /** The receiver asks to be sent less. */
  slow: boolean
}

/**
 * @param made attempts made before this one.
 * @param delays_s seconds before the second and later attempts.
 * @param random from 0 to 1, in place of chance.
 */
export function outcomeOf(
  attempt: Pick<Attempt, 'status' | 'error' | 'retry_after_s'>,
  made: number,
  delays_s: readonly number[],
  random = Math.random(),
): Outcome {
  const { status, error, retry_after_s } = attempt
  const ended = { wait_s: 0, slow: false }
  if (error === null) return { outcome: 'succeeded', reason: null, ...ended }
  if (status === 410) return { outcome: 'cancelled', reason: 'gone', ...ended }
  const delay = delays_s[made]
  if (delay === undefined || made + 1 >= ATTEMPTS_MAX)
    return { outcome: 'failed', reason: 'exhausted', ...ended }
  const step = delay * (1 - JITTER + 2 * JITTER * random)
  const asked = (status === 429 || status === 503) && retry_after_s !== null
  const wait_s = asked ? Math.min(Math.max(step, retry_after_s), PATIENCE * step) : step
  return { outcome: 'retry', reason: null, wait_s, slow: asked }
}
