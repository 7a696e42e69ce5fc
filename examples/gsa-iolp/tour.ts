/**
 * `npm run example:gsa`: loads two monthly releases of a real inventory and asks what changed between them.
 *
 * Uses nothing but the API. It loads into the sandbox; `--live` loads into the organization of the live key.
 */
import { openAsBlob } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'

const FOLDER = import.meta.dirname
const DATA_DIR = process.env['GRID_DATA_DIR'] ?? '.grid'

const RELEASES = [
  { name: 'May 2025', month: '2025-05', day: '2025-05-23' },
  { name: 'June 2025', month: '2025-06', day: '2025-06-20' },
] as const

interface Job {
  id: string
  state: string
  progress_pct: number
  counts: Record<string, number>
  changed_fields: Record<string, number>
  error: unknown
}

interface List {
  data: Record<string, unknown>[]
  next_cursor: string | null
  total_count?: number
}

const { base, key } = await access()

async function access(): Promise<{ base: string; key: string }> {
  const file = join(DATA_DIR, 'keys.json')
  const text = await readFile(file, 'utf8').catch(() => null)
  if (text === null) stop(`${file} is not there. Start the product first: npm start`)
  const keys = JSON.parse(text) as { base_url: string; live: string; sandbox: string }
  const live = process.argv.includes('--live')
  const found = {
    base: process.env['GRID_BASE_URL'] ?? keys.base_url,
    key: live ? keys.live : keys.sandbox,
  }
  const answer = await fetch(`${found.base}/organizations`, {
    headers: { 'x-api-key': found.key },
  }).catch(() => null)
  if (!answer) stop(`${found.base} does not answer. Start the product first: npm start`)
  return found
}

function stop(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(1)
}

/** One request; waits when the sandbox's 100 requests a minute are used up. */
async function request(path: string, init: RequestInit = {}): Promise<Response> {
  while (true) {
    const answer = await fetch(base + path, { ...init, headers: { 'x-api-key': key } })
    if (answer.status !== 429) return answer
    const seconds = Number(answer.headers.get('retry-after') ?? 5)
    line(`the limit of requests is reached, going on in ${seconds} s`)
    await new Promise((resolve) => setTimeout(resolve, seconds * 1_000))
  }
}

/** A question to the API, shown as the curl that asks it. */
async function ask(path: string): Promise<List> {
  say(`\n  curl -g -H "X-API-Key: $KEY" "${base}${path}"`)
  const answer = await request(path)
  const body = (await answer.json()) as List
  if (!answer.ok) stop(JSON.stringify(body))
  return body
}

async function load(
  kind: 'buildings' | 'leases',
  release: (typeof RELEASES)[number],
): Promise<Job> {
  const form = new FormData()
  form.set('adapter', await readFile(join(FOLDER, `${kind}.yaml`), 'utf8'))
  form.set('as_of', release.day)
  const file = `iolp-${kind}-${release.month}.xlsx`
  form.set('file', await openAsBlob(join(FOLDER, 'data', file)), file)
  const sent = await request('/sdis/jobs', { method: 'POST', body: form })
  let job = (await sent.json()) as Job
  if (sent.status !== 202) stop(JSON.stringify(job))
  const started = performance.now()
  while (['queued', 'validating', 'running'].includes(job.state)) {
    await new Promise((resolve) => setTimeout(resolve, 700))
    job = (await (await request(`/sdis/jobs/${job.id}`)).json()) as Job
    const rows = job.counts['rows_read'] ?? 0
    const seconds = (performance.now() - started) / 1_000
    line(
      `${release.name}, ${kind}: ${job.progress_pct} %, ${rows} rows, ${Math.round(rows / seconds)} rows/s`,
    )
  }
  line('')
  if (!job.state.startsWith('completed')) stop(`${file}: ${job.state} ${JSON.stringify(job.error)}`)
  report(`${release.name}, ${kind} (${job.id})`, job)
  return job
}

function report(title: string, { counts, changed_fields }: Job): void {
  const shown = ['rows_read', 'created', 'changed', 'unchanged', 'ended', 'quarantined', 'facts']
  say(
    `${title}: ${shown.map((name) => `${counts[name] ?? 0} ${name.replace('_', ' ')}`).join(', ')}`,
  )
  const fields = Object.entries(changed_fields).map(([name, count]) => `${name} of ${count}`)
  if (fields.length > 0) say(`  changed: ${fields.join(', ')}`)
}

function say(text: string): void {
  process.stdout.write(`${text}\n`)
}

/** Overwrites the line the cursor is in. */
function line(text: string): void {
  if (process.stdout.isTTY) process.stdout.write(`\r\u001b[K${text}`)
}

function table(rows: readonly Record<string, unknown>[], columns: readonly string[]): void {
  const cells = rows.map((row) => columns.map((column) => String(row[column] ?? '')))
  const widths = columns.map((column, i) =>
    Math.max(column.length, ...cells.map((row) => (row[i] as string).length)),
  )
  for (const row of [columns, ...cells]) {
    say(`  ${row.map((cell, i) => cell.padEnd(widths[i] as number)).join('  ')}`)
  }
}

async function questions(before: string, june: Job): Promise<void> {
  const which = process.argv.includes('--live') ? 'live' : 'sandbox'
  say(
    `\n  KEY=$(node -p "JSON.parse(require('fs').readFileSync('${DATA_DIR}/keys.json')).${which}")`,
  )
  say('\nHow many leases are there now, and how many were known before June was loaded?')
  const now = await ask('/leases?limit=1&include=total_count')
  const then = await ask(`/leases?limit=1&include=total_count&known_at=${before}`)
  say(
    `  now ${now.total_count}, before ${then.total_count}, with those that were there before the tour`,
  )

  say('\nWhich leases ended between the releases?')
  const ended = await ask(
    '/leases?include=archived&archived_at[is_null]=false&limit=5&fields=id,lease_number,name,expiration_date',
  )
  table(ended.data, ['id', 'lease_number', 'name', 'expiration_date'])
  say(`  ... ${june.counts['ended'] ?? 0} in this load`)

  say('\nWhich buildings does lease LTX17098 cover?')
  const texas = await ask('/leases?lease_number=LTX17098&fields=id,rentable_area,premises')
  table((texas.data[0]?.['premises'] ?? []) as Record<string, unknown>[], ['building_id', 'label'])

  say('\nWhat did June say anew?')
  const facts = await ask(`/sdis/jobs/${june.id}/facts?limit=200`)
  const created = new Set(
    facts.data.filter((fact) => fact['field'] === 'lease_number').map((fact) => fact['object_id']),
  )
  const moved = facts.data.find(
    (fact) => fact['field'] === 'expiration_date' && !created.has(fact['object_id']),
  )
  if (!moved) say('  nothing: June was loaded before')
  else {
    table([moved], ['object_id', 'field', 'value', 'valid_from', 'recorded_at'])
    say('\nHow did that expiration date come about, and who says so?')
    const timeline = await ask(
      `/grid/v2/objects/${String(moved['object_id'])}/timeline?field=expiration_date`,
    )
    const spans = timeline.data.map((span) => {
      const source = span['source'] as Record<string, unknown>
      return {
        ...span,
        source: `${String(source['name'])}, ${String(source['job_id'])}, row ${String(source['row'])}`,
      }
    })
    table(spans, ['value', 'from', 'to', 'source'])
  }

  say('\nWhich of the largest leases run out from today to the end of 2027?')
  const today = new Date().toISOString().slice(0, 10)
  const large = await ask(
    `/leases?expiration_date[gte]=${today}&expiration_date[lte]=2027-12-31&sort=-rentable_area&limit=5&expand=building&fields=lease_number,expiration_date,rentable_area,building.name`,
  )
  const rows = large.data.map((row) => ({
    ...row,
    building: (row['building'] as Record<string, unknown> | null)?.['name'],
  }))
  table(rows, ['lease_number', 'expiration_date', 'rentable_area', 'building'])
}

const [may, june] = RELEASES
await load('buildings', may)
await load('leases', may)
const before = new Date().toISOString()
await load('buildings', june)
const last = await load('leases', june)
await questions(before, last)
