/** Small loads for tests: an adapter from a few parts, a file from a text. */
import { newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished, sendJob } from '../../test/jobs.ts'

type Part = Record<string, unknown>

/** Buildings by code, from a CSV file. @param more beside the stream: locale, mode, guards, source. */
export function adapterOf(stream: Part = {}, more: Part = {}): string {
  const map = { name: 'row.Name', code: 'row.Code', rentable_area: 'row.Area' }
  const { source, guards, ...rest } = more
  return JSON.stringify({
    adapter: 'buildings',
    source: { name: 'Test', kind: 'csv', ...(source as Part | undefined) },
    // A handful of rows is soon half wrong.
    guards: { max_error_pct: 100, ...(guards as Part | undefined) },
    streams: [{ name: 'buildings', type: 'building', key: 'row.Code', map, ...stream }],
    ...rest,
  })
}

/** Bytes of a file, by its text. */
export function fileOf(
  text: string,
  name = 'table.csv',
): { name: string; bytes: Uint8Array<ArrayBuffer> } {
  return { name, bytes: new TextEncoder().encode(text) }
}

/** Loads a text and answers the job's report. */
export async function load(
  client: TestClient,
  adapter: string,
  file: string | { name: string; bytes: Uint8Array<ArrayBuffer> },
  as_of?: string,
): Promise<Answer['body']> {
  const sent = await sendJob(client, adapter, typeof file === 'string' ? fileOf(file) : file, as_of)
  if (sent.status !== 202) throw new Error(JSON.stringify(sent.body))
  return await finished(client, sent.body.id)
}

/** Sends a file with more fields of the form; objects go as JSON. */
export async function sendWith(
  client: TestClient,
  adapter: string,
  file: string | { name: string; bytes: Uint8Array<ArrayBuffer> },
  more: Readonly<Record<string, unknown>>,
): Promise<Answer> {
  const { name, bytes } = typeof file === 'string' ? fileOf(file) : file
  const form = new FormData()
  form.set('adapter', adapter)
  for (const [field, value] of Object.entries(more))
    form.set(field, typeof value === 'string' ? value : JSON.stringify(value))
  form.set('file', new Blob([bytes]), name)
  return await client.post('/sdis/jobs', form)
}

/** Errors of a job, each as its row, field and code. */
export async function errorsOf(client: TestClient, job: { id: string }): Promise<unknown[][]> {
  const { body } = await client.get(`/sdis/jobs/${job.id}/errors?limit=200`)
  return body.data.map((error: Part) => [error['row'], error['field'], error['code']])
}

/** Buildings of the organization by code, each with the fields asked for. */
export async function buildings(
  client: TestClient,
  fields: string,
  query = '',
): Promise<Record<string, Part>> {
  const { body } = await client.get(`/buildings?limit=200&fields=code,${fields}${query}`)
  return Object.fromEntries(body.data.map(({ id: _id, code, ...rest }: Part) => [code, rest]))
}

/** In a database of one's own, ids that no other file of the test run has: uploads of all of them lie in one folder. */
export async function ownIds(): Promise<void> {
  const client = await owner()
  await client.query(
    `select setval('app.id_seq', 1001 + 1000 * (1000000 + floor(random() * 1000000))::bigint)`,
  )
  await client.end()
}

/** Tables that loads write. How a job ended is told beside what it loads, and not counted. */
const WRITTEN = {
  tx: `not exists (select from audit_entry a where a.org_id = t.org_id and a.tx_id = t.tx_id and a.object_type = 'job')`,
  assertion: 'true',
  event: `t.object_type <> 'job'`,
  audit_entry: `t.object_type <> 'job'`,
  source_record: 'true',
  source_blank: 'true',
}

/** Rows of the tables that loads write, for one organization. */
export async function written(org_id: number): Promise<Record<string, number>> {
  const client = await owner()
  const counts: Record<string, number> = {}
  for (const [table, counted] of Object.entries(WRITTEN)) {
    const { rows } = await client.query<{ n: string }>(
      `select count(*) as n from ${table} t where t.org_id = $1 and ${counted}`,
      [org_id],
    )
    counts[table] = Number(rows[0]?.n)
  }
  await client.end()
  return counts
}

/**
 * An organization whose jobs of the source `Test` wait until `release`: one of them seems to be running. The tests of
 * other files take jobs from the same queue.
 */
export async function blocked(): Promise<{ client: TestClient; release: () => Promise<void> }> {
  const client = await newOrganization()
  const direct = await owner()
  const id = 9_000_000_000 + client.org_id
  await direct.query(
    `insert into job (id, org_id, state, adapter, adapter_hash, source_name, as_of, valid_from, file_name, file_key, file_bytes,
       file_sha256, actor_type, actor_name, created_at, locked_until)
     values ($1, $2, 'running', '{"streams":[{}]}', '', 'Test', current_date, now(), '', '', 0, '', 'system', '', now(), 'infinity')`,
    [id, client.org_id],
  )
  const release = async (): Promise<void> => {
    await direct.query(`update job set state = 'completed' where id = $1`, [id])
    await direct.end()
  }
  return { client, release }
}
