/** Kept adapters in tests: made, tried, made live. */
import { expect } from 'vitest'
import type { Answer, TestClient } from '../../../test/grid.ts'
import { finished } from '../../../test/jobs.ts'
import { adapterOf } from '../load-fixture.ts'

export type Part = Record<string, unknown>

export const CSV = 'Code,Name,Area\nA,Alpha,100\nB,Beta,200\n'

/** A document of the given name. @param more beside the stream, as `adapterOf` takes it. */
export function document(adapter = 'buildings', more: Part = {}): Part {
  return JSON.parse(adapterOf({}, { adapter, ...more })) as Part
}

/** Keeps a document. @returns the id of the adapter. */
export async function created(
  client: TestClient,
  adapter?: string,
  more: Part = {},
): Promise<string> {
  const answer = await client.post('/sdis/adapters', { document: document(adapter), ...more })
  expect(answer.status).toBe(201)
  return answer.body.id as string
}

/** A preview of CSV text with the newest version. */
export async function previewed(client: TestClient, id: string, inline = CSV): Promise<Answer> {
  return await client.post(`/sdis/adapters/${id}/preview`, { inline })
}

export async function tested(client: TestClient, id: string, version = 1): Promise<void> {
  expect((await previewed(client, id)).status).toBe(200)
  const answer = await client.post(`/sdis/adapters/${id}/versions/${version}/test`, {})
  expect(answer).toMatchObject({ status: 200, body: { state: 'tested' } })
}

/** A completed dry run: of a document, or of a version of a kept adapter. */
export async function dryRun(
  client: TestClient,
  adapter: string | Part,
  more: { version?: string; file?: Blob } = {},
): Promise<{ job_id: string; diff_hash: string }> {
  const { version, file = new Blob([CSV]) } = more
  const form = new FormData()
  form.set('adapter', typeof adapter === 'string' ? adapter : JSON.stringify(adapter))
  form.set('mode', 'dry_run')
  if (version) form.set('version', version)
  form.set('file', file, 'table.csv')
  const sent = await client.post('/sdis/jobs', form)
  expect(sent.status).toBe(202)
  const job = await finished(client, sent.body.id)
  expect(job).toMatchObject({ state: 'completed', diff_hash: expect.any(String) })
  return { job_id: job.id, diff_hash: job.diff_hash }
}

/** Makes a version live. */
export async function promoted(client: TestClient, id: string, version: number): Promise<Answer> {
  const diff = await dryRun(client, id, { version: String(version) })
  return await client.post(`/sdis/adapters/${id}/promote`, { version, ...diff })
}

/** Sends a file to be read by a kept adapter. */
export async function sendTo(
  client: TestClient,
  adapter: string,
  fields: Record<string, string> = {},
  text = CSV,
): Promise<Answer> {
  const form = new FormData()
  for (const [name, value] of Object.entries({ adapter, ...fields })) form.set(name, value)
  form.set('file', new Blob([text]), 'table.csv')
  return await client.post('/sdis/jobs', form)
}
