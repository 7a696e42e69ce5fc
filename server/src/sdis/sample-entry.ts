/** The sampling thread itself: one sample at a time. */
import { parentPort } from 'node:worker_threads'
import { registry } from '../resources.ts'
import { FileError } from './readers/types.ts'
import type { SampleAnswer, SampleOrder } from './sample.ts'
import { readColumns, readEffectiveDay, readSample } from './sampling.ts'

parentPort?.on('message', (order: SampleOrder) => {
  take(order).then(
    (value) => answer({ value }),
    (error: unknown) => answer(failure(error)),
  )
})

async function take(order: SampleOrder): Promise<unknown> {
  if ('dated' in order) return await readEffectiveDay(order.file, order.dated, registry)
  return 'adapter' in order
    ? await readSample(order.file, order.adapter, order.rows, registry)
    : await readColumns(order.file, order.source, order.rows)
}

function failure(error: unknown): SampleAnswer {
  if (!(error instanceof FileError)) return { fault: (error as Error).message }
  const { code, message, details } = error
  return { refused: { code, message, details } }
}

function answer(given: SampleAnswer): void {
  // A thread is no window: there is no other origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(given)
}
