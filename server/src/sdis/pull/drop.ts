/**
 * Drop folders: files that appear under `<folder>/<organization id>/<adapter>/` are loaded through that adapter. A file is
 * taken when it has stayed as it is between two looks, so one that is still being written is left alone; what is taken is
 * moved to `done`, what cannot be to `failed` with a text beside it that says why. Between these it stands in `taking`: what a
 * worker that died left there is taken up again.
 */
import { createReadStream } from 'node:fs'
import { mkdir, readdir, rename, stat, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { idDigits } from '../../kit/ids.ts'
import { fingerprintOf } from '../../kit/idempotency.ts'
import type { Store } from '../../kit/store.ts'
import type { Actor } from '../../kit/types.ts'
import type { Adapter } from '../adapter.ts'
import { adapterFor, requireLive } from '../adapters/service.ts'
import type { JobLimits } from '../limits.ts'
import { dayOfFile } from '../request.ts'
import { settingOf } from './pull-queries.ts'
import { enqueue, importSpool, jobFileKey, requireReferences } from '../service.ts'

/** Looked at this often, in milliseconds; a file must stay as it is for so long. */
export const LOOK_MS = 5_000

/** Files that programs are still writing, and those of the folder itself. */
const UNFINISHED = /^\.|~$|\.(part|partial|tmp|crdownload|filepart)$/i

/** What stands in `taking` for so long was left there by a worker that died, in milliseconds. */
const LEFT_MS = 60_000

/** What a file was like at the last look. */
export type Seen = Map<string, string>

export interface Dropped {
  store: Store
  folder: string
  data_dir: string
  limits: JobLimits
  log: (message: string) => void
}

/** Looks once. @param seen what the last look saw; changed to what this one does. @returns how many files were taken. */
export async function lookForFiles(dropped: Dropped, seen: Seen): Promise<number> {
  const before = new Map(seen)
  seen.clear()
  let taken = 0
  for (const org of await namesIn(dropped.folder)) {
    const org_id = idDigits('org', org)
    if (org_id === null) continue
    for (const adapter of await namesIn(join(dropped.folder, org))) {
      const folder = join(dropped.folder, org, adapter)
      const file = { org_id, adapter, folder }
      for (const name of await leftBehind(join(folder, 'taking')))
        if (await load(dropped, { ...file, name })) taken++
      for (const name of await namesIn(folder)) {
        const path = join(folder, name)
        const like = await likeness(path, name)
        if (like === null) continue
        if (before.get(path) !== like) seen.set(path, like)
        else if (await take(dropped, file, name)) taken++
      }
    }
  }
  return taken
}

async function namesIn(folder: string): Promise<string[]> {
  const names = await readdir(folder).catch(() => [])
  return names.toSorted((a, b) => (a < b ? -1 : 1))
}

/** Size and time of a file; null for what is no file to take. */
async function likeness(path: string, name: string): Promise<string | null> {
  if (UNFINISHED.test(name)) return null
  const found = await stat(path).catch(() => null)
  return found?.isFile() && found.size > 0 ? `${found.size} ${found.mtimeMs}` : null
}

/** Files that a worker took and did not come to an end with. */
async function leftBehind(folder: string): Promise<string[]> {
  const left: string[] = []
  for (const name of await namesIn(folder)) {
    const found = await stat(join(folder, name)).catch(() => null)
    if (found && Date.now() - found.ctimeMs > LEFT_MS) left.push(name)
  }
  return left
}

/** A file in `taking`. */
interface File {
  org_id: number
  adapter: string
  folder: string
  name: string
}

/** Moving it decides which of several workers has it. */
async function take(dropped: Dropped, file: Omit<File, 'name'>, name: string): Promise<boolean> {
  const { folder } = file
  const stamped = `${new Date().toISOString().replaceAll(':', '').slice(0, 17)}-${name}`
  try {
    await move(join(folder, name), folder, 'taking', stamped)
  } catch {
    return false
  }
  return await load(dropped, { ...file, name: stamped })
}

async function load(dropped: Dropped, file: File): Promise<boolean> {
  const { folder, name } = file
  const path = join(folder, 'taking', name)
  try {
    await start(dropped, file, path)
    await move(path, folder, 'done', name)
    return true
  } catch (error) {
    const reason = (error as Error).message
    const failed = await move(path, folder, 'failed', name)
    await writeFile(`${failed}.txt`, `${reason}\n`)
    dropped.log(`${path} was not loaded: ${reason}`)
    return false
  }
}

async function move(
  path: string,
  folder: string,
  sub: 'taking' | 'done' | 'failed',
  name: string,
): Promise<string> {
  await mkdir(join(folder, sub), { recursive: true })
  const target = join(folder, sub, name)
  await rename(path, target)
  return target
}

async function start(
  dropped: Dropped,
  { org_id, adapter: named, name }: File,
  path: string,
): Promise<void> {
  const { store, data_dir, limits } = dropped
  const organization = await settingOf(store.db, org_id)
  if (!organization) throw new Error(`there is no organization org_${org_id}`)
  const adapter = await adapterFor(store, org_id, named)
  requireLive(adapter, organization.environment)
  await requireReferences(store, org_id, adapter)
  const time_zone = adapter.locale.timezone ?? organization.time_zone
  const [id] = (await store.db.ids(1)) as [number]
  const spool = importSpool(data_dir)
  const key = jobFileKey(org_id, id)
  const file = await spool.take(key, createReadStream(path), limits.file_bytes)
  try {
    const as_of = await dayOf(file.path, adapter, time_zone)
    const actor: Actor = { type: 'system', id: null, name: 'Drop folder', request_id: null }
    // A worker that died behind this left the file in its place: the job is not queued twice.
    const idempotency = {
      key: `drop ${path}`.slice(-200),
      route: 'DROP /sdis/jobs',
      fingerprint: fingerprintOf([named, as_of, file.sha256]),
    }
    const wanted = { id, adapter, as_of, dry_run: false, options: {}, file: { name, ...file } }
    await enqueue(store, { org_id, actor, idempotency }, { time_zone }, wanted, limits)
  } catch (error) {
    await spool.drop(key)
    throw error
  }
}

/** The day the file was true: as it says itself, else the adapter, else today. @throws 422 for one after today. */
async function dayOf(path: string, adapter: Adapter, time_zone: string): Promise<string> {
  const named = await dayOfFile(path, adapter, { time_zone })
  const today = new Intl.DateTimeFormat('en-CA', { timeZone: time_zone }).format(new Date())
  return named ?? adapter.effective.date ?? today
}
