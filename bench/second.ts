/** A second source that contradicts the first on the same objects: every row is weighed by rank, and then by a rule. */
import { createReadStream, createWriteStream } from 'node:fs'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { Client } from 'pg'
import { ADAPTER, FACTS_PER_ROW, measure, writeCsv } from './imports.ts'
import type { ImportResult } from './imports.ts'
import type { Server } from './server.ts'

/** Columns in which the second source says something else, by their place in the file. */
const CONTRADICTED = [12, 13, 14, 15, 16, 18, 19, 20]

/** @param rows of the file; each states as many facts as the first source does. */
export async function benchSecond(server: Server, rows: number): Promise<ImportResult[]> {
  const first = await writeCsv(server.data_dir, rows)
  const second = await contradicting(first)
  const results = [
    await measure(server, 'first source', ADAPTER, first, '2026-01-31', FACTS_PER_ROW),
  ]
  for (const [name, rank] of [
    ['Loser', 60],
    ['Winner', 40],
  ] as const) {
    await know(server, name, rank)
    const adapter = ADAPTER.replace('name: Bench', `name: ${name}, rank: ${rank}`)
    results.push(
      await measure(
        server,
        `second source, rank ${rank}`,
        adapter,
        second,
        '2026-02-28',
        FACTS_PER_ROW,
      ),
    )
  }
  await rule(server)
  await know(server, 'Third', 50)
  const third = ADAPTER.replace('name: Bench', 'name: Third')
  results.push(await measure(server, 'by a rule', third, second, '2026-03-31', FACTS_PER_ROW))
  return results
}

/** The same buildings with other figures. */
async function contradicting(path: string): Promise<string> {
  const target = path.replace('.csv', '-second.csv')
  const out = createWriteStream(target)
  let header = true
  for await (const line of createInterface({ input: createReadStream(path) })) {
    const cells = line.split(',')
    if (!header) for (const i of CONTRADICTED) cells[i] = String(Number(cells[i]) + 1)
    header = false
    if (!out.write(`${cells.join(',')}\n`)) await once(out, 'drain')
  }
  out.end()
  await once(out, 'finish')
  return target
}

/** Makes the buildings of the first source known to another one by the same keys. */
async function know({ socket_dir }: Server, name: string, rank: number): Promise<void> {
  const client = new Client({
    host: socket_dir,
    port: 5432,
    user: 'postgres',
    database: 'postgres',
  })
  await client.connect()
  await client.query(
    `insert into source (org_id, id, kind, name, rank, created_at)
     select org_id, nextval('app.id_seq'), 'adapter', $1, $2, now() from source where name = 'Bench'`,
    [name, rank],
  )
  await client.query(
    `insert into source_record (org_id, source_id, stream, ext_key, object_id, row_hash, first_tx, last_tx)
     select r.org_id, n.id, r.stream, r.ext_key, r.object_id, 0, 0, 0
     from source_record r join source s on s.org_id = r.org_id and s.id = r.source_id and s.name = 'Bench'
     join source n on n.org_id = r.org_id and n.name = $1`,
    [name],
  )
  await client.end()
}

async function rule(server: Server): Promise<void> {
  const answer = await fetch(`${server.base}/grid/v2/survivorship`, {
    method: 'POST',
    headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
    body: JSON.stringify({ type: 'building', strategy: 'most_recent' }),
  })
  if (answer.status !== 201) throw new Error(await answer.text())
  const { change_id } = (await answer.json()) as { change_id: string }
  const headers = { 'x-api-key': server.key }
  const started = performance.now()
  for (;;) {
    const got = await fetch(`${server.base}/grid/v2/survivorship/changes/${change_id}`, { headers })
    const change = (await got.json()) as {
      state: string
      checked_objects: number
      changed_objects: number
    }
    if (change.state === 'completed') {
      const seconds = Math.round(performance.now() - started) / 1_000
      process.stdout.write(
        `a new rule: ${change.checked_objects} objects weighed, ${change.changed_objects} rewritten in ${seconds} s\n`,
      )
      return
    }
    await new Promise((resolve) => setTimeout(resolve, 100))
  }
}
