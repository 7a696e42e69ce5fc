/** What `grid` can do. Each command reads the settings, opens what it needs and closes it again. */
import { writeFile } from 'node:fs/promises'
import type { ParseArgsConfig } from 'node:util'
import { auditKey, keyId } from './audit/key.ts'
import { verifyFile } from './audit/verify-file.ts'
import { appsIn, moveApp } from './apps/review.ts'
import { APP_STATUSES } from './apps/apps.ts'
import type { AppStatus } from './apps/apps.ts'
import { boot } from './boot.ts'
import type { Booted } from './boot.ts'
import { readConfig } from './config.ts'
import type { Config } from './config.ts'
import { DEMO_SEED, demoStart, seedDemo } from './demo/seed.ts'
import { isSize } from './demo/sites.ts'
import { leaseCounts, summarise, summaryTable } from './demo/summary.ts'
import { storageOf } from './documents/storage.ts'
import { readKeys } from './first-start.ts'
import { openapiText } from './generated.ts'
import {
  createKey,
  environmentOf,
  listKeys,
  revokeKey,
  rotateForOperator,
  stateOf,
} from './keys/service.ts'
import { idDigits, publicId } from './kit/ids.ts'
import { ALL_SCOPES, isScope } from './kit/scopes.ts'
import { bareStore } from './organizations/service.ts'
import { registry } from './resources.ts'
import { addMasterKey, secretsOf } from './secrets.ts'
import { serve } from './serve.ts'
import { rewrapConnections } from './sdis/pull/connections.ts'
import { rewrapSecrets } from './webhooks/service.ts'

type Values = Record<string, string | boolean | (string | boolean)[] | undefined>

export interface Command {
  summary: string
  usage: string
  options: NonNullable<ParseArgsConfig['options']>
  run: (values: Values, positionals: string[]) => Promise<number>
}

export const commands: Record<string, Command> = {
  serve: {
    summary: 'Serve the API; with --work also run background work.',
    usage: '[--work]',
    options: { work: { type: 'boolean' } },
    run: async (values) => await serve(settings(), { api: true, work: values['work'] === true }),
  },
  work: {
    summary: 'Run background work only: data-integration jobs, sequencing, upkeep.',
    usage: '',
    options: {},
    run: async () => await serve(settings(), { api: false, work: true }),
  },
  migrate: {
    summary: 'Bring the database up to this version.',
    usage: '   (with another server than the embedded one: DATABASE_URL and DATABASE_OWNER_URL)',
    options: {},
    run: async () =>
      await withDatabase(async () => {
        print('The database is up to date.')
      }),
  },
  'keys create': {
    summary: 'Create an API key and print it once.',
    usage: '--name NAME [--org org_1] [--scopes read:leases,write:leases] [--expires 2027-01-31]',
    options: {
      name: { type: 'string' },
      org: { type: 'string' },
      scopes: { type: 'string' },
      expires: { type: 'string' },
    },
    run: async (values) => await withDatabase(async (booted) => await keysCreate(booted, values)),
  },
  'keys list': {
    summary: 'List the API keys of an organization.',
    usage: '[--org org_1]',
    options: { org: { type: 'string' } },
    run: async (values) =>
      await withDatabase(async (booted) => {
        for (const key of await listKeys(booted.db, await orgOf(booted, values))) {
          const { name, hint, scopes } = key
          const state = stateOf(key).padEnd(8)
          print(`${publicId('key', key.id)}  ${state} ${hint}  ${name}  ${scopes.length} scopes`)
        }
      }),
  },
  'keys rotate': {
    summary: 'Give an API key a new text and print it once; the old one stays good for a while.',
    usage: 'KEY_ID [--overlap-hours 24] [--org org_1]',
    options: { org: { type: 'string' }, 'overlap-hours': { type: 'string' } },
    run: async (values, [text = '']) =>
      await withDatabase(async (booted) => await keysRotate(booted, values, text)),
  },
  'keys revoke': {
    summary: 'Revoke an API key; every process refuses it within a second.',
    usage: 'KEY_ID [--org org_1]',
    options: { org: { type: 'string' } },
    run: async (values, [text = '']) =>
      await withDatabase(async (booted) => {
        const done = await revokeKey(booted.db, await orgOf(booted, values), keyNumber(text))
        if (!done) throw new Error(`${text} is not an active key of this organization`)
        print(`${text} is revoked.`)
      }),
  },
  'apps list': {
    summary: 'List apps of every organization, or those that stand somewhere.',
    usage: '[--status submitted]',
    options: { status: { type: 'string' } },
    run: async (values) => await withDatabase(async (booted) => await appsList(booted, values)),
  },
  'apps review': moveCommand('Take up the review of a submitted app.', 'in_review'),
  'apps approve': moveCommand('Let the owner of an app publish it.', 'approved'),
  'apps reject': moveCommand('Send an app back to its owner.', 'rejected'),
  'apps suspend': moveCommand('Stop an app: its tokens end at once, everywhere.', 'suspended'),
  'apps restore': moveCommand('Let a suspended app go on.', 'published'),
  'secrets rotate': {
    summary: 'Seal stored secrets with a new master key.',
    usage:
      '   (with GRID_MASTER_KEY: put the new key before the old one first, and remove the old one after)',
    options: {},
    run: async () => await withDatabase(async (booted) => await secretsRotate(booted)),
  },
  seed: {
    summary: 'Write the demo portfolio into an organization that has no property yet.',
    usage: '[--size s|m|l] [--seed 10] [--org org_1]',
    options: { size: { type: 'string' }, seed: { type: 'string' }, org: { type: 'string' } },
    run: async (values) => withDatabase(async (booted) => seed(booted, values)),
  },
  'audit verify': {
    summary: 'Verify an export of the audit log (ndjson); needs no database.',
    usage: 'FILE [--key PUBLIC_KEY[,PUBLIC_KEY]]',
    options: { key: { type: 'string' } },
    run: async (values, [file]) => await auditVerify(values, file),
  },
  'audit key': {
    summary: 'Print the public key that signs the audit log, to be kept elsewhere.',
    usage: '',
    options: {},
    run: async () => {
      print((await auditKey(settings())).public)
      return 0
    },
  },
  openapi: {
    summary: 'Write the OpenAPI document to a file or standard output.',
    usage: '[FILE]',
    options: {},
    run: async (_values, [file]) => {
      const text = `${await openapiText()}\n`
      if (file) await writeFile(file, text)
      else process.stdout.write(text)
      return 0
    },
  },
}

/** A command that moves an app, as the operator may. */
function moveCommand(summary: string, status: AppStatus): Command {
  return {
    summary,
    usage: 'APP_ID [--reason TEXT]',
    options: { reason: { type: 'string' } },
    run: async (values, [text = '']) =>
      await withDatabase(async ({ db }) => {
        const id = idDigits('app', text)
        if (id === null) throw new Error(`an app id looks like app_1042, got '${text}'`)
        const reason = typeof values['reason'] === 'string' ? values['reason'] : null
        const secrets = secretsOf(settings())
        const app = await moveApp({ db, secrets }, id, status, reason)
        print(`${text} ${app.client_name} is ${app.status}.`)
      }),
  }
}

async function appsList({ db }: Booted, values: Values): Promise<void> {
  const { status = null } = values
  if (status !== null && !APP_STATUSES.some((known) => known === status))
    throw new Error(`--status takes ${APP_STATUSES.join(', ')}, got '${String(status)}'`)
  for (const app of await appsIn(db, status as AppStatus | null)) {
    const owner = `${app.organization_name} (org_${app.org_id})`
    print(
      `app_${app.id}  ${app.status.padEnd(10)} ${app.visibility.padEnd(7)}  ${app.client_name}, of ${owner}: ${app.scopes.join(' ')}`,
    )
  }
}

function settings(): Config {
  return readConfig(process.env)
}

async function withDatabase(run: (booted: Booted) => Promise<void>): Promise<number> {
  const booted = await boot(settings(), (message) => print(message))
  try {
    await run(booted)
    return 0
  } finally {
    await booted.stop()
  }
}

async function keysCreate(booted: Booted, values: Values): Promise<void> {
  const org_id = await orgOf(booted, values)
  const name = values['name']
  if (typeof name !== 'string') throw new Error('say what the key is for with --name')
  const scopes = typeof values['scopes'] === 'string' ? values['scopes'].split(',') : ALL_SCOPES
  const unknown = scopes.filter((scope) => !isScope(scope))
  if (unknown.length > 0)
    throw new Error(`unknown scopes ${unknown.join(', ')}; there are ${ALL_SCOPES.join(', ')}`)
  const expires_at = typeof values['expires'] === 'string' ? new Date(values['expires']) : null
  if (expires_at && Number.isNaN(expires_at.getTime()))
    throw new Error('--expires takes a date such as 2027-01-31')
  const environment = await environmentOf(booted.db, org_id)
  if (!environment) throw new Error(`organization org_${org_id} does not exist`)
  const key = await createKey(booted.db, org_id, {
    name,
    scopes: scopes.filter(isScope),
    environment,
    expires_at,
  })
  print(`${key.id}\n${key.text}`)
}

function keyNumber(text: string): number {
  const id = idDigits('key', text)
  if (id === null) throw new Error(`a key id looks like key_7, got '${text}'`)
  return id
}

async function keysRotate(booted: Booted, values: Values, text: string): Promise<void> {
  const org_id = await orgOf(booted, values)
  const hours = Number(values['overlap-hours'] ?? 24)
  if (!Number.isInteger(hours) || hours < 0 || hours > 168)
    throw new Error('--overlap-hours takes a whole number from 0 to 168')
  print(await rotateForOperator(booted.db, org_id, keyNumber(text), hours))
}

async function auditVerify(values: Values, file: string | undefined): Promise<number> {
  if (!file) throw new Error('name the file to verify')
  const { key } = values
  const found = await verifyFile(file, typeof key === 'string' ? key.split(',') : null)
  const { ok, organization_id, entries, erased, checkpoints, fault } = found
  const { first_position, last_position } = found
  const redacted = erased > 0 ? ` (${erased} with erased values)` : ''
  for (const public_key of found.keys) print(`signed by ${public_key} (${keyId(public_key)})`)
  if (typeof key !== 'string')
    print('The key was taken from the file; give the one you noted with --key to be sure of it.')
  if (fault) print(`line ${fault.line}: ${fault.reason}: ${fault.message}`)
  const range = first_position === null ? 'none' : `${first_position} to ${last_position}`
  print(
    `${ok ? 'ok' : 'NOT OK'}: ${organization_id}, entries ${range}: ${entries} verified${redacted}, ${checkpoints} checkpoints`,
  )
  return ok ? 0 : 1
}

/** Running processes that read master.key keep the key they began with: stop them before, start them after. */
async function secretsRotate(booted: Booted): Promise<void> {
  const config = settings()
  const own = config.GRID_MASTER_KEY === null
  const forgetOld = own ? addMasterKey(config.GRID_DATA_DIR) : null
  const secrets = secretsOf(config)
  const count = await rewrapSecrets(booted.db, secrets)
  const connections = await rewrapConnections(booted.db, secrets)
  forgetOld?.()
  print(
    `${count} webhooks and ${connections} connections have secrets sealed anew; the master key is ${secrets.keyId}.`,
  )
}

async function seed(booted: Booted, values: Values): Promise<void> {
  const { db } = booted
  const org_id = await orgOf(booted, values)
  const { size = 'm', seed: text = String(DEMO_SEED) } = values
  if (!isSize(size)) throw new Error(`--size takes s, m or l, got '${String(size)}'`)
  const number = Number(text)
  if (!Number.isSafeInteger(number)) throw new Error('--seed takes a whole number')
  const [row] = await db.query<{ time_zone: string }>(
    org_id,
    'select time_zone from organization where org_id = $1 and id = $1',
    [org_id],
  )
  if (!row) throw new Error(`organization org_${org_id} does not exist`)
  const start = demoStart(row.time_zone)
  const storage = storageOf(settings())
  try {
    const began = performance.now()
    const written = await seedDemo(bareStore(db), storage, org_id, { seed: number, size, start })
    const seconds = ((performance.now() - began) / 1_000).toFixed(1)
    const counts = Object.entries(written).map(
      ([name, n]) => `${n} ${(registry.get(name)?.path ?? name).replaceAll('_', ' ')}`,
    )
    print(`wrote ${counts.join(', ')} in ${seconds} s\n`)
    print(summaryTable(await summarise(db, org_id, start)))
    const leases = await leaseCounts(db, org_id)
    print(`\nleases: ${leases.map(({ status, leases: n }) => `${n} ${status}`).join(', ')}`)
  } finally {
    await storage.close()
  }
}

/** The organization named by --org, else the one of keys.json. */
async function orgOf(booted: Booted, values: Values): Promise<number> {
  const text = values['org'] ?? (await readKeys(booted.data_dir))?.organization_id
  const id = typeof text === 'string' ? idDigits('org', text) : null
  if (id === null) throw new Error('name the organization with --org org_1')
  return id
}

function print(line: string): void {
  process.stdout.write(`${line}\n`)
}
