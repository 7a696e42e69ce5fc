/**
 * PostgreSQL's own parser, in a thread of its own: it is native code in a sandbox, which a statement nested without end
 * breaks, and which keeps a little of every text it cannot read. A thread can be thrown away, and the next one is as new.
 */
import { Worker } from 'node:worker_threads'
import type { Verdict } from './fence.ts'

/** `broken` is how a parser ends that cannot go on. */
export type Judged = { verdict: Verdict } | { syntax: string } | { broken: string }

/** Statements that one thread reads; each that cannot be read leaves some 20 kB behind. */
const STATEMENTS_MAX = 1_000

/** Statements of the longest length take some milliseconds; a machine that is busy takes longer. */
const PARSE_TIMEOUT_MS = 10_000

const LIMITS = { maxOldGenerationSizeMb: 128 }

export class SqlParser {
  private readonly readable: { views: string[]; columns: string[] }
  private worker: Worker | null = null
  private asked = 0
  private last: Promise<unknown> = Promise.resolve()

  /** @param readable names of the views and of their columns. */
  constructor(readable: { views: string[]; columns: string[] }) {
    this.readable = readable
  }

  /** What the statement is, and whether it may be run. One behind the other, so that one that breaks hurts no other. */
  async read(sql: string): Promise<Judged> {
    const judged = this.last.then(async () => await this.one(sql))
    this.last = judged.catch(() => {})
    return await judged
  }

  /** Ends the thread. */
  async close(): Promise<void> {
    await this.last
    await this.drop()
  }

  private async one(sql: string): Promise<Judged> {
    this.worker ??= await this.start()
    const judged = await answerOf(this.worker, sql)
    if ('broken' in judged || ++this.asked === STATEMENTS_MAX) await this.drop()
    return judged
  }

  /** A thread that has loaded the parser. */
  private async start(): Promise<Worker> {
    const entry = new URL('./parser-thread.ts', import.meta.url)
    const worker = new Worker(entry, { workerData: this.readable, resourceLimits: LIMITS })
    worker.unref()
    this.asked = 0
    await new Promise((resolve, reject) => {
      worker.once('message', resolve)
      worker.once('error', reject)
    })
    return worker
  }

  private async drop(): Promise<void> {
    const { worker } = this
    this.worker = null
    await worker?.terminate()
  }
}

async function answerOf(worker: Worker, sql: string): Promise<Judged> {
  return await new Promise((resolve) => {
    const settle = (judged: Judged): void => {
      clearTimeout(late)
      worker.off('message', settle)
      worker.off('error', failed)
      worker.off('exit', ended)
      resolve(judged)
    }
    const failed = (error: unknown): void => settle({ broken: (error as Error).message })
    const ended = (): void => settle({ broken: 'its thread ended' })
    const late = setTimeout(() => settle({ broken: 'it takes too long to read' }), PARSE_TIMEOUT_MS)
    worker.on('message', settle)
    worker.on('error', failed)
    worker.on('exit', ended)
    // A thread is no window: there is no other origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage(sql)
  })
}
