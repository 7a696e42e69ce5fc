/** The first start of an installation: two organizations, their keys, and the file that holds them. */
import { readFile, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Config } from './config.ts'
import type { Db } from './db/db.ts'
import { DEMO_SEED, demoStart, seedDemo } from './demo/seed.ts'
import { storageOf } from './documents/storage.ts'
import { createKey } from './keys/service.ts'
import { publicId } from './kit/ids.ts'
import { ALL_SCOPES } from './kit/scopes.ts'
import { bareStore, createOrganization, SYSTEM } from './organizations/service.ts'

/** What `keys.json` holds. */
export interface KeysFile {
  base_url: string
  organization_id: string
  live: string
  sandbox: string
}

const DEFAULTS = {
  default_currency: 'USD',
  default_area_unit: 'sqft',
  time_zone: 'America/New_York',
  locale: 'en-US',
}

export function keysPath(data_dir: string): string {
  return join(data_dir, 'keys.json')
}

export async function readKeys(data_dir: string): Promise<KeysFile | null> {
  try {
    return JSON.parse(await readFile(keysPath(data_dir), 'utf8')) as KeysFile
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new Error(`${keysPath(data_dir)} cannot be read: ${(error as Error).message}`, {
      cause: error,
    })
  }
}

/**
 * Creates the demo organization, its sandbox, what is in them and a key for each, unless keys were written before. The
 * file is written last and by rename: a start that is killed midway leaves no file, and the next start makes new
 * organizations.
 */
export async function firstStart(
  config: Config,
  db: Db,
  data_dir: string,
  base_url: string,
  tell: (line: string) => void,
): Promise<KeysFile | null> {
  if (await readKeys(data_dir)) return null
  const store = bareStore(db)
  const request = { actor: SYSTEM, defaults: {} }
  const name = config.GRID_DEMO === 'none' ? 'My organization' : 'Meridian Real Assets'
  const production = await createOrganization(
    store,
    request,
    { ...DEFAULTS, name, slug: 'meridian', kind: 'owner' },
    { plan: 'enterprise', environment: 'production', parent_organization_id: null },
  )
  const parent = publicId('org', production.id)
  const sandbox = await createOrganization(
    store,
    request,
    { ...DEFAULTS, name: `${name} (sandbox)`, slug: 'meridian-sandbox', kind: 'owner' },
    { plan: 'enterprise', environment: 'sandbox', parent_organization_id: parent },
  )
  if (config.GRID_DEMO !== 'none') tell('first start: making the demo portfolio')
  await seedBoth(config, db, production.id, sandbox.id)
  const live = await createKey(db, production.id, {
    name: 'First key',
    scopes: ALL_SCOPES,
    environment: 'production',
  })
  const sbx = await createKey(db, sandbox.id, {
    name: 'First sandbox key',
    scopes: ALL_SCOPES,
    environment: 'sandbox',
  })
  const keys = { base_url, organization_id: parent, live: live.text, sandbox: sbx.text }
  await writeFile(`${keysPath(data_dir)}.new`, `${JSON.stringify(keys, null, 2)}\n`, {
    mode: 0o600,
  })
  await rename(`${keysPath(data_dir)}.new`, keysPath(data_dir))
  return keys
}

/** The demo portfolio for the live organization, and a small one to try things out on for its sandbox. */
async function seedBoth(config: Config, db: Db, live: number, sandbox: number): Promise<void> {
  if (config.GRID_DEMO === 'none') return
  const storage = storageOf(config)
  const start = demoStart(DEFAULTS.time_zone)
  try {
    const store = bareStore(db)
    await Promise.all([
      seedDemo(store, storage, live, { seed: DEMO_SEED, size: config.GRID_DEMO, start }),
      seedDemo(store, storage, sandbox, { seed: DEMO_SEED + 1, size: 's', start }),
    ])
  } finally {
    await storage.close()
  }
}
