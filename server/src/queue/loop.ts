/** A loop that does one thing again and again, with back-off when it fails. */
import { never } from '../events/wake.ts'

/**
 * One step of a loop.
 * @param stopping says that the process is about to end, for steps that take long.
 * @returns how long to wait before the next, in milliseconds.
 */
export type Step = (stopping: AbortSignal) => Promise<number>

const FAILED_FIRST_MS = 1_000
const FAILED_MAX_MS = 60_000

/** Runs a step until stopped. */
export function loop(
  name: string,
  log: (message: string) => void,
  step: Step,
): () => Promise<void> {
  const stopping = new AbortController()
  const run = async (): Promise<void> => {
    let failures = 0
    while (!stopping.signal.aborted) {
      let wait: number
      try {
        wait = await step(stopping.signal)
        failures = 0
      } catch (error) {
        wait = Math.min(FAILED_FIRST_MS * 2 ** failures++, FAILED_MAX_MS)
        log(`${name} failed, trying again in ${wait / 1_000} s: ${(error as Error).message}`)
      }
      if (wait > 0) await never.asleep(wait, stopping.signal)
    }
  }
  const done = run()
  return async () => {
    stopping.abort()
    await done
  }
}
