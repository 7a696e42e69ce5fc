/** A thread that seals: hashing many entries keeps no request waiting, and what it leaves in memory stays small. */
import { Worker } from 'node:worker_threads'
import type { ClientConfig } from 'pg'
import type { AuditKey } from './key.ts'

/** What the thread is started with. */
export interface SealingData {
  database: ClientConfig
  /** The key that signs, as `GRID_AUDIT_KEY` holds it. */
  key: string
}

/** A batch is some megabytes; the less room there is for what it leaves behind, the sooner that is collected. */
const LIMITS = { maxYoungGenerationSizeMb: 8, maxOldGenerationSizeMb: 128 }

/** After the thread died by a fault, the next one starts this much later, in milliseconds. */
const AGAIN_MS = 1_000

export class SealingThread {
  private worker: Worker | null = null
  private again: NodeJS.Timeout | undefined
  private ended = false
  private readonly ready: Promise<SealingData>
  private readonly log: (message: string) => void

  constructor(database: ClientConfig, key: Promise<AuditKey>, log: (message: string) => void) {
    this.log = log
    this.ready = key.then(({ private: secret }) => ({
      database,
      key: secret.export({ format: 'der', type: 'pkcs8' }).toString('base64'),
    }))
    this.ready.then(
      (data) => this.start(data),
      (error: unknown) => log(`audit entries are not sealed: ${(error as Error).message}`),
    )
  }

  /** Lets the batch under way end. */
  async end(): Promise<void> {
    this.ended = true
    clearTimeout(this.again)
    const { worker } = this
    if (!worker) return
    const exit = new Promise((resolve) => worker.once('exit', resolve))
    // A thread is no window: there is no other origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage('stop')
    await exit
  }

  private start(data: SealingData): void {
    if (this.ended) return
    const entry = new URL('./thread-entry.ts', import.meta.url)
    const worker = new Worker(entry, { workerData: data, resourceLimits: LIMITS })
    this.worker = worker
    worker.on('message', (message: string) => this.log(message))
    worker.on('error', (error: unknown) =>
      this.log(`the thread of the audit log died: ${(error as Error).message}`),
    )
    worker.on('exit', () => {
      this.worker = null
      if (!this.ended) this.again = setTimeout(() => this.start(data), AGAIN_MS)
    })
  }
}
