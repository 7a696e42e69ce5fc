/** Signals inside a process, so that work begins at once; other processes find it when they next look. */

/** Something that happens now and then, and that loops wait for. */
export class Signal {
  /** How often it has happened. */
  count = 0
  private readonly waiting = new Set<() => void>()

  wake(): void {
    this.count++
    for (const resume of this.waiting) resume()
  }

  /**
   * Waits for `ms` milliseconds, until the signal is given, or until `stopping`.
   * @param seen the count when the caller last looked for work; what was signalled since ends the wait at once.
   */
  async asleep(ms: number, stopping: AbortSignal, seen = this.count): Promise<void> {
    if (stopping.aborted || seen !== this.count) return
    await new Promise<void>((resolve) => {
      const resume = (): void => {
        clearTimeout(timer)
        this.waiting.delete(resume)
        stopping.removeEventListener('abort', resume)
        resolve()
      }
      const timer = setTimeout(resume, ms)
      this.waiting.add(resume)
      stopping.addEventListener('abort', resume)
    })
  }
}

/** A request of this process has written. */
export const written = new Signal()

/** The sequencer of this process is placing events: what asks behind it on its connection finds them in the feed. */
export const placing = new Signal()

/** Never given: for plain waits. */
export const never = new Signal()
