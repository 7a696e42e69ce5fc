/** Jobs in tests: sent through the API, run by this very process. */
import { openAsBlob } from 'node:fs'
import { basename } from 'node:path'
import { inject } from 'vitest'
import { STANDARD_LIMITS } from '../src/sdis/limits.ts'
import { pullingOf } from '../src/sdis/pull/fetch.ts'
import { workOnJob } from '../src/sdis/work.ts'
import { grid } from './grid.ts'
import type { Answer, TestClient } from './grid.ts'

/** Sends a file with its adapter document. */
export async function sendJob(
  client: TestClient,
  adapter: string,
  file: string | { name: string; bytes: Uint8Array<ArrayBuffer> },
  as_of?: string,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const form = new FormData()
  form.set('adapter', adapter)
  if (as_of) form.set('as_of', as_of)
  if (typeof file === 'string') form.set('file', await openAsBlob(file), basename(file))
  else form.set('file', new Blob([file.bytes]), file.name)
  return await client.post('/sdis/jobs', form, headers)
}

const OPEN = new Set(['queued', 'validating', 'running', 'cancelling'])

/** Works until the job has ended or waits for a person. @returns the job. */
export async function finished(client: TestClient, id: string): Promise<Answer['body']> {
  const { db, app } = await grid()
  const pulling = pullingOf(app.config)
  while (true) {
    const { body } = await client.get(`/sdis/jobs/${id}`)
    if (!OPEN.has(body.state)) return body
    const problems: string[] = []
    const stopping = new AbortController().signal
    await workOnJob(
      db,
      inject('files'),
      (message) => problems.push(message),
      stopping,
      STANDARD_LIMITS,
      pulling,
    )
    if (problems.length > 0) throw new Error(problems.join('; '))
  }
}

/** Loads a file and answers its report. */
export async function runJob(
  client: TestClient,
  adapter: string,
  file: Parameters<typeof sendJob>[2],
  as_of?: string,
): Promise<Answer['body']> {
  const sent = await sendJob(client, adapter, file, as_of)
  if (sent.status !== 202) throw new Error(JSON.stringify(sent.body))
  return await finished(client, sent.body.id)
}
