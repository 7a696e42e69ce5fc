/** Large files as users have them: a workbook that is loaded, and a file of which a hundred rows are looked at. */
import { createReadStream, createWriteStream, openAsBlob } from 'node:fs'
import { stat } from 'node:fs/promises'
import { createInterface } from 'node:readline'
import { pipeline } from 'node:stream/promises'
import { parse } from 'yaml'
import type { Row } from '../server/src/kit/resource.ts'
import type { TableColumn } from '../server/src/kit/tables/columns.ts'
import { workbook } from '../server/src/kit/tables/xlsx.ts'
import { ADAPTER, COLUMNS, FACTS_PER_ROW, measure, writeCsv } from './imports.ts'
import type { ImportResult } from './imports.ts'
import type { Server } from './server.ts'

const WORKBOOK_ROWS = 200_000

/** Rows of a CSV of some 100 MB. */
const PREVIEW_ROWS = 760_000
const PREVIEWS = 5

/** Columns of text in the CSV; the others hold numbers. */
const TEXTS = new Set(
  'Code,Name,Line1,City,State,Zip,Class,Use,Construction,Hvac,Sprinklers'.split(','),
)

export interface FilesResult {
  workbook: ImportResult
  preview: { megabytes: number; p50_ms: number; max_ms: number }
}

export async function benchFiles(server: Server): Promise<FilesResult> {
  const preview = await benchPreview(server)
  const file = await writeWorkbook(server.data_dir, WORKBOOK_ROWS)
  const adapter = ADAPTER.replace('kind: csv', 'kind: xlsx')
  const name = `buildings-${WORKBOOK_ROWS}.xlsx`
  return {
    preview,
    workbook: await measure(server, name, adapter, file, '2026-01-31', FACTS_PER_ROW),
  }
}

/** The rows of the CSV as a workbook. */
async function writeWorkbook(folder: string, rows: number): Promise<string> {
  const csv = await writeCsv(folder, rows)
  const path = csv.replace('.csv', '.xlsx')
  const columns = COLUMNS.map((name): TableColumn => ({
    name,
    path: [name],
    kind: TEXTS.has(name) ? 'text' : 'integer',
    digits: null,
  }))
  await pipeline(workbook(columns, pagesOf(csv)), createWriteStream(path))
  return path
}

async function* pagesOf(csv: string): AsyncGenerator<Row[]> {
  let page: Row[] = []
  let header = true
  for await (const line of createInterface({ input: createReadStream(csv) })) {
    const cells = line.split(',')
    if (!header)
      page.push(
        Object.fromEntries(
          COLUMNS.map((name, i) => [name, TEXTS.has(name) ? cells[i] : Number(cells[i])]),
        ),
      )
    header = false
    if (page.length < 1_000) continue
    yield page
    page = []
  }
  yield page
}

/** From the first byte sent to the hundred rows, raw and mapped. */
async function benchPreview(server: Server): Promise<FilesResult['preview']> {
  const path = await writeCsv(server.data_dir, PREVIEW_ROWS)
  const document: unknown = parse(ADAPTER)
  const made = await fetch(`${server.base}/sdis/adapters`, {
    method: 'POST',
    headers: { 'x-api-key': server.key, 'content-type': 'application/json' },
    body: JSON.stringify({ document }),
  })
  if (made.status !== 201) throw new Error(await made.text())
  const { id } = (await made.json()) as { id: string }
  const times: number[] = []
  for (let i = 0; i < PREVIEWS; i++) {
    const form = new FormData()
    form.set('file', await openAsBlob(path), 'buildings.csv')
    const started = performance.now()
    const answer = await fetch(`${server.base}/sdis/adapters/${id}/preview`, {
      method: 'POST',
      headers: { 'x-api-key': server.key },
      body: form,
    })
    const { counts } = (await answer.json()) as { counts?: { rows_read?: number } }
    if (!answer.ok || !counts) throw new Error(`the preview answered ${answer.status}`)
    times.push(Math.round(performance.now() - started))
  }
  times.sort((a, b) => a - b)
  const megabytes = Math.round((await stat(path)).size / 1e6)
  const [p50_ms = 0, max_ms = 0] = [times[Math.floor(PREVIEWS / 2)], times.at(-1)]
  process.stdout.write(`preview of ${megabytes} MB: p50 ${p50_ms} ms, longest ${max_ms} ms\n`)
  return { megabytes, p50_ms, max_ms }
}
