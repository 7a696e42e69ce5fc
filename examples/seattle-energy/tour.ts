/**
 * `npm run example:seattle`: from a file that nobody has described to buildings with energy figures.
 *
 * Uses nothing but the API. It works in the sandbox; `--live` works in the organization of the live key.
 */
import { openAsBlob } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { basename, join } from 'node:path'

const FILE = join(import.meta.dirname, 'data', 'seattle-energy-2016.csv')
const DATA_DIR = process.env['GRID_DATA_DIR'] ?? '.grid'
const NAME = 'seattle-energy'

type Row = Record<string, unknown>

interface Job {
  id: string
  state: string
  counts: Record<string, number>
  diff_hash: string | null
  error: unknown
}

const { base, key } = await access()

async function access(): Promise<{ base: string; key: string }> {
  const file = join(DATA_DIR, 'keys.json')
  const text = await readFile(file, 'utf8').catch(() => null)
  if (text === null) stop(`${file} is not there. Start the product first: npm start`)
  const keys = JSON.parse(text) as { base_url: string; live: string; sandbox: string }
  const live = process.argv.includes('--live')
  return {
    base: process.env['GRID_BASE_URL'] ?? keys.base_url,
    key: live ? keys.live : keys.sandbox,
  }
}

function stop(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** One request; waits when the requests of the minute are used up. Ends the tour when it is refused. */
async function call<T = Row>(method: string, path: string, body?: FormData | Row): Promise<T> {
  const json = body !== undefined && !(body instanceof FormData)
  const init = {
    method,
    headers: { 'x-api-key': key, ...(json ? { 'content-type': 'application/json' } : {}) },
    ...(body === undefined ? {} : { body: json ? JSON.stringify(body) : body }),
  }
  while (true) {
    const answer = await fetch(base + path, init).catch(() => null)
    if (!answer) stop(`${base} does not answer. Start the product first: npm start`)
    if (answer.status === 429) {
      const seconds = Number(answer.headers.get('retry-after') ?? 5)
      await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
      continue
    }
    const text = await answer.text()
    if (!answer.ok) stop(`${method} ${path}: ${text}`)
    return JSON.parse(text) as T
  }
}

async function form(fields: Record<string, string>): Promise<FormData> {
  const data = new FormData()
  for (const [name, value] of Object.entries(fields)) data.set(name, value)
  data.set('file', await openAsBlob(FILE), basename(FILE))
  return data
}

/** Sends the file to a job and waits for its end. */
async function job(fields: Record<string, string>): Promise<Job> {
  let found = await call<Job>('POST', '/sdis/jobs', await form(fields))
  while (['queued', 'validating', 'running'].includes(found.state)) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    found = await call<Job>('GET', `/sdis/jobs/${found.id}`)
  }
  if (!found.state.startsWith('completed'))
    stop(`${found.id}: ${found.state} ${JSON.stringify(found.error)}`)
  return found
}

async function propose(): Promise<Row> {
  say('\n1. What is in this file? POST /sdis/adapters/infer')
  const fields = { name: NAME, source: 'Seattle benchmarking' }
  const proposal = await call('POST', '/sdis/adapters/infer', await form(fields))
  const { value, confidence } = proposal['type'] as { value: string; confidence: number }
  const { expression } = proposal['key'] as { expression: string }
  say(`  rows are objects of the type ${value} (${confidence}), told apart by ${expression}`)
  for (const { field, column, confidence: sure } of proposal['mapping'] as Row[])
    say(
      `  ${String(field).padEnd(22)} ${String(column ?? 'a fixed value').padEnd(24)} ${String(sure)}`,
    )
  return proposal['document'] as Row
}

/** Keeps the adapter, tries it and makes it live. */
async function goLive(): Promise<void> {
  const document = await propose()
  say('\n2. Keep it as a draft: POST /sdis/adapters')
  const { id } = await call('POST', '/sdis/adapters', { document })
  const path = `/sdis/adapters/${String(id)}`
  say(`  ${String(id)}, version 1`)

  say(`\n3. How do the first rows read? POST ${path}/preview`)
  const { counts, took_ms } = await call('POST', `${path}/preview`, await form({}))
  say(`  ${JSON.stringify(counts)} in ${String(took_ms)} ms`)
  await call('POST', `${path}/versions/1/test`, {})

  say('\n4. What would it change? A job with mode=dry_run, which writes nothing')
  const dry = await job({ adapter: String(id), version: '1', mode: 'dry_run', as_of: '2016-12-31' })
  say(`  ${dry.id}: ${dry.counts['created'] ?? 0} buildings would be made`)

  say(`\n5. Make it live: POST ${path}/promote`)
  const promotion = { version: 1, job_id: dry.id, diff_hash: dry.diff_hash }
  const { live_version } = await call('POST', `${path}/promote`, promotion)
  say(`  version ${String(live_version)} is live`)
}

const { data: kept } = await call<{ data: Row[] }>('GET', '/sdis/adapters?limit=200')
const before = kept.find(({ name }) => name === NAME)
if (before?.['live_version']) say(`The adapter ${NAME} is live already.`)
else if (before) stop(`An adapter ${NAME} is kept but not live. Delete it to start over.`)
else await goLive()

say(`\n6. Load the file: POST /sdis/jobs with adapter=${NAME}`)
const loaded = await job({ adapter: NAME, as_of: '2016-12-31' })
const { rows_read = 0, created = 0, unchanged = 0, facts = 0, warnings = 0 } = loaded.counts
say(`  ${loaded.id}: ${rows_read} rows, ${created} buildings made, ${unchanged} as they were,`)
say(`  ${facts} facts, ${warnings} rows with a cell left out`)

say('\nWhich hotels use most energy per square foot?')
const fields = 'name,gross_area,site_eui,energy_star_score'
const question = `/buildings?primary_use=hospitality&sort=-site_eui&limit=5&fields=${fields}`
say(`  curl -H "X-API-Key: $KEY" "${base}${question}"`)
const { data: hotels } = await call<{ data: Row[] }>('GET', question)
for (const { name, site_eui, energy_star_score } of hotels)
  say(
    `  ${String(name).padEnd(36)} ${String(site_eui)} kBtu/sqft, score ${String(energy_star_score)}`,
  )
