/** Kept adapters in tests: made, tried, made live. */
import { expect } from 'vitest'
import { owner } from '../../../test/grid.ts'
import type { Answer, TestClient } from '../../../test/grid.ts'
import { finished, sendJob } from '../../../test/jobs.ts'
import { adapterOf, fileOf } from '../load-fixture.ts'

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

/** A completed dry run of a document. @returns its id. */
export async function dryRun(
  client: TestClient,
  text: Part,
  diff_hash: string,
  file: Parameters<typeof sendJob>[2] = fileOf(CSV),
): Promise<string> {
  const sent = await sendJob(client, JSON.stringify(text), file)
  const job = await finished(client, sent.body.id)
  const direct = await owner()
  await direct.query(
    `alter table job add column if not exists dry_run boolean not null default false`,
  )
  await direct.query(`alter table job add column if not exists diff_hash text`)
  await direct.query('update job set dry_run = true, diff_hash = $2 where id = $1', [
    String(job.id).slice(4),
    diff_hash,
  ])
  await direct.end()
  return job.id as string
}

/** Makes a version live. */
export async function promoted(client: TestClient, id: string, version: number): Promise<Answer> {
  const { body } = await client.get(`/sdis/adapters/${id}/versions/${version}`)
  const job_id = await dryRun(client, body.document, `hash ${version}`)
  const promotion = { version, job_id, diff_hash: `hash ${version}` }
  return await client.post(`/sdis/adapters/${id}/promote`, promotion)
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
