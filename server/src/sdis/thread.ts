/**
 * A thread for jobs: requests are answered while a file is read, and what a load takes in memory is given back after it.
 * It starts with the first job and ends when there has been none for a while.
 */
import { Worker } from 'node:worker_threads'
import type { ClientConfig } from 'pg'
import type { JobLimits } from './limits.ts'
import type { PullSettings } from './pull/fetch.ts'
import { Stopped } from './running.ts'
import type { Claim, Runner } from './work.ts'

/** What the thread is started with. */
export interface ThreadData {
  database: ClientConfig
  data_dir: string
  settings: PullSettings
  limits: JobLimits
}

/** What it is told: run a job, or come to an end. */
export type Order = { run: Claim } | { stop: true }

/** How a job ended in it. */
export type Answer = { outcome: 'done' | 'stopped' } | { outcome: 'failed'; message: string }

/** How long the thread is kept without work, in milliseconds. */
const KEPT_MS = 10_000

/** Loads need little; what they leave behind is collected the more often, the less room there is for it. */
const LIMITS = { maxYoungGenerationSizeMb: 12, maxOldGenerationSizeMb: 512 }

export class JobThread {
  private readonly data: ThreadData
  private worker: Worker | null = null
  private ending: NodeJS.Timeout | undefined

  constructor(data: ThreadData) {
    this.data = data
  }

  readonly run: Runner = async (claim, stopping) => {
    clearTimeout(this.ending)
    this.worker ??= this.start()
    const { worker } = this
    const stop = (): void => order(worker, { stop: true })
    stopping.addEventListener('abort', stop, { once: true })
    if (stopping.aborted) stop()
    try {
      order(worker, { run: claim })
      const answer = await answerOf(worker)
      if (answer.outcome === 'stopped') throw new Stopped('the worker is about to end')
      if (answer.outcome === 'failed') throw new Error(answer.message)
    } finally {
      stopping.removeEventListener('abort', stop)
      this.ending = setTimeout(() => void this.end(), KEPT_MS)
      this.ending.unref()
    }
  }

  /** Ends the thread; call it when no job runs. */
  async end(): Promise<void> {
    clearTimeout(this.ending)
    const { worker } = this
    this.worker = null
    await worker?.terminate()
  }

  private start(): Worker {
    const entry = new URL('./thread-entry.ts', import.meta.url)
    const worker = new Worker(entry, { workerData: this.data, resourceLimits: LIMITS })
    worker.unref()
    // Out of memory, or a fault of ours: the job under way hears of it, the next one gets a new thread.
    worker.on('error', () => {})
    worker.on('exit', () => {
      if (this.worker === worker) this.worker = null
    })
    return worker
  }
}

function order(worker: Worker, given: Order): void {
  // A thread is no window: there is no other origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  worker.postMessage(given)
}

async function answerOf(worker: Worker): Promise<Answer> {
  return await new Promise((resolve) => {
    const settle = (answer: Answer): void => {
      worker.off('message', settle)
      worker.off('error', failed)
      worker.off('exit', ended)
      resolve(answer)
    }
    const failed = (error: unknown): void =>
      settle({ outcome: 'failed', message: (error as Error).message })
    const ended = (): void => settle({ outcome: 'failed', message: 'its thread ended' })
    worker.on('message', settle)
    worker.on('error', failed)
    worker.on('exit', ended)
  })
}
