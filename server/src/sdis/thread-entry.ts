/** The job thread itself: connections of its own, one job at a time. */
import { parentPort, workerData } from 'node:worker_threads'
import { Db } from '../db/db.ts'
import { pullingOf } from './pull/fetch.ts'
import { Stopped } from './running.ts'
import type { Answer, Order, ThreadData } from './thread.ts'
import { CONNECTIONS, runner } from './work.ts'

const { database, data_dir, limits, settings } = workerData as ThreadData
const stopping = new AbortController()
const run = runner(new Db(database, CONNECTIONS), data_dir, limits, pullingOf(settings))

parentPort?.on('message', (order: Order) => {
  if ('stop' in order) stopping.abort()
  else
    run(order.run, stopping.signal).then(
      () => answer({ outcome: 'done' }),
      (error: unknown) =>
        answer(
          error instanceof Stopped
            ? { outcome: 'stopped' }
            : { outcome: 'failed', message: (error as Error).message },
        ),
    )
})

function answer(given: Answer): void {
  // A thread is no window: there is no other origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(given)
}
