/** The thread of the parser: reads statements and judges them. */
import { parentPort, workerData } from 'node:worker_threads'
import { loadModule, parseSync, SqlError } from 'libpg-query'
import { judge } from './fence.ts'
import type { Readable } from './fence.ts'
import type { Judged } from './parser.ts'

const { views, columns } = workerData as { views: string[]; columns: string[] }
const readable: Readable = { views: new Set(views), columns: new Set(columns) }

await loadModule()
parentPort?.on('message', (sql: string) => answer(judged(sql)))
answer('ready')

function judged(sql: string): Judged {
  try {
    return { verdict: judge(parseSync(sql), readable) }
  } catch (error) {
    const { message } = error as Error
    if (error instanceof SqlError) return { syntax: message }
    return message === 'Query cannot be empty'
      ? { syntax: 'there is no statement' }
      : { broken: message }
  }
}

function answer(given: Judged | 'ready'): void {
  // A thread is no window: there is no other origin.
  // oxlint-disable-next-line unicorn/require-post-message-target-origin
  parentPort?.postMessage(given)
}
