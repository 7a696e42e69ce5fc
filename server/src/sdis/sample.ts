/**
 * Samples of files within a time budget. They are taken in threads of their own: whatever a file or an expression takes,
 * requests are answered meanwhile, and a thread that is over its time or memory is ended.
 */
import { Worker } from 'node:worker_threads'
import type { Adapter } from './adapter.ts'
import { FileError } from './readers/types.ts'
import type { FileErrorCode, TableSource } from './readers/types.ts'
import type { Columns, Sample } from './sampling.ts'

export type { Columns, ColumnSample, Sample, SampleRecord } from './sampling.ts'

/** What a thread is asked for. */
export type SampleOrder =
  | { file: string; adapter: Adapter | null; rows: number }
  | { file: string; source: TableSource | null; rows: number }
  | { file: string; dated: Adapter }

/** What it answers: the sample, why the file is refused, or that something is broken. */
export type SampleAnswer =
  | { value: unknown }
  | { refused: { code: FileErrorCode; message: string; details: Record<string, unknown> } }
  | { fault: string }

/** How long a sample may take unless told, in milliseconds. */
const BUDGET_MS = 5_000

/** Threads at work at once; further samples wait for their turn. */
const THREADS = 2

/** How long an idle thread is kept, in milliseconds. */
const KEPT_MS = 10_000

const LIMITS = { maxYoungGenerationSizeMb: 12, maxOldGenerationSizeMb: 256 }

/**
 * The first rows of a file, raw and mapped.
 * @param adapter null for the raw rows alone; kind and header are then guessed.
 * @param rows how many at most.
 * @param budget_ms how long it may take, the wait for a free thread left out.
 * @throws FileError saying what is wrong with the file; `time_budget` when it takes too long.
 */
export async function sample(
  file: string,
  adapter: Adapter | null,
  rows: number,
  budget_ms = BUDGET_MS,
): Promise<Sample> {
  return (await inThread({ file, adapter, rows }, budget_ms)) as Sample
}

/**
 * The columns of a file with the values that its first rows give.
 * @param source how to read it; guessed when null.
 * @throws FileError as `sample` does.
 */
export async function columnsOf(
  file: string,
  source: TableSource | null,
  rows = 1_000,
  budget_ms = BUDGET_MS,
): Promise<Columns> {
  return (await inThread({ file, source, rows }, budget_ms)) as Columns
}

/** The header of a large workbook may stand behind all its texts. */
const DATE_BUDGET_MS = 20_000

/**
 * The day on which a file was true, as `effective.from` of its adapter reads it above the header.
 * @returns null when the adapter has none, or the file names no day and that of the job holds.
 * @throws FileError as `sample` does; `no_effective_date` when what the file names is no date.
 */
export async function effectiveDay(file: string, adapter: Adapter): Promise<string | null> {
  if (!adapter.effective.from) return null
  return (await inThread({ file, dated: adapter }, DATE_BUDGET_MS)) as string | null
}

const idle: { worker: Worker; ending: NodeJS.Timeout }[] = []
const waiting: (() => void)[] = []
let busy = 0

async function inThread(order: SampleOrder, budget_ms: number): Promise<unknown> {
  if (busy >= THREADS) await new Promise<void>((resolve) => waiting.push(resolve))
  else busy++
  const worker = taken()
  let sound = false
  try {
    const answer = await answerOf(worker, order, budget_ms)
    sound = true
    if ('value' in answer) return answer.value
    if ('fault' in answer) throw new Error(answer.fault)
    throw new FileError(answer.refused.code, answer.refused.message, answer.refused.details)
  } finally {
    if (sound) keep(worker)
    else await worker.terminate()
    const next = waiting.shift()
    if (next) next()
    else busy--
  }
}

function taken(): Worker {
  const kept = idle.pop()
  if (kept) {
    clearTimeout(kept.ending)
    return kept.worker
  }
  const entry = new URL('./sample-entry.ts', import.meta.url)
  const worker = new Worker(entry, { resourceLimits: LIMITS })
  worker.unref()
  return worker
}

function keep(worker: Worker): void {
  const ending = setTimeout(() => {
    const at = idle.findIndex((one) => one.worker === worker)
    if (at < 0) return
    idle.splice(at, 1)
    void worker.terminate()
  }, KEPT_MS)
  ending.unref()
  idle.push({ worker, ending })
}

async function answerOf(
  worker: Worker,
  order: SampleOrder,
  budget_ms: number,
): Promise<SampleAnswer> {
  return await new Promise((resolve, reject) => {
    const settle = (act: () => void): void => {
      clearTimeout(timer)
      worker.off('message', answered)
      worker.off('error', failed)
      worker.off('exit', ended)
      act()
    }
    const answered = (answer: SampleAnswer): void => settle(() => resolve(answer))
    const failed = (error: unknown): void => settle(() => reject(error))
    const ended = (): void => settle(() => reject(new Error('The sampling thread ended.')))
    const timer = setTimeout(() => {
      const message = `The first rows could not be read and mapped within ${budget_ms} ms.`
      settle(() => reject(new FileError('time_budget', message, { budget_ms })))
    }, budget_ms)
    worker.on('message', answered)
    worker.on('error', failed)
    worker.on('exit', ended)
    // A thread is no window: there is no other origin.
    // oxlint-disable-next-line unicorn/require-post-message-target-origin
    worker.postMessage(order)
  })
}
