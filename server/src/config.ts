/** Settings from the environment: read once, checked, frozen. `.env.example` is made from this table. */
import { isNetwork } from './kit/networks.ts'
import { PLANS, SANDBOX } from './kit/plans.ts'

import { isIP } from 'node:net'

interface Setting<T> {
  description: string
  /** Shown in `.env.example`; the value in force when the variable is not set. */
  fallback: string
  parse: (text: string, name: string) => T
}

const text = (value: string): string => value
const optional = (value: string): string | null => (value === '' ? null : value)
const several = (value: string): string[] => (value === '' ? [] : value.split(','))

function whole(min: number, max: number): (value: string, name: string) => number {
  return (value, name) => {
    const number = Number(value)
    if (value !== '' && Number.isInteger(number) && number >= min && number <= max) return number
    throw new Error(`${name} must be a whole number from ${min} to ${max}, got '${value}'`)
  }
}

function wholeOrNone(min: number, max: number): Setting<number | null>['parse'] {
  const parse = whole(min, max)
  return (value, name) => (value === '' ? null : parse(value, name))
}

/** Addresses of proxies, separated by commas. */
function networks(value: string, name: string): string | null {
  const wrong = value.split(',').find((part) => value !== '' && !isNetwork(part.trim()))
  if (wrong === undefined) return value === '' ? null : value
  throw new Error(`${name} must be addresses such as 10.0.0.0/8, got '${wrong}'`)
}

/** An age; 0 keeps for ever. */
function age(least: number, most: number): (value: string, name: string) => number {
  const parse = whole(least, most)
  return (value, name) => (value === '0' ? 0 : parse(value, name))
}

function oneOf<const V extends string>(...values: V[]): (value: string, name: string) => V {
  return (value, name) => {
    const found = values.find((v) => v === value)
    if (found) return found
    throw new Error(`${name} must be one of ${values.join(', ')}, got '${value}'`)
  }
}

/** Seconds, separated by commas: at most four delays, so that there are never more than five attempts. */
function delays(value: string, name: string): readonly number[] {
  const list = value.split(',').map(Number)
  if (list.length <= 4 && list.every((s) => s >= 0 && s <= 604_800)) return list
  throw new Error(`${name} must be one to four delays in seconds, such as 30,300, got '${value}'`)
}

/** Networks in CIDR notation, separated by commas. */
function cidrs(value: string, name: string): readonly string[] {
  const list = value.split(',').filter((part) => part !== '')
  for (const network of list) {
    const [address = '', bits = ''] = network.split('/')
    const max = { 4: 32, 6: 128 }[isIP(address)] ?? -1
    if (!/^[0-9]{1,3}$/.test(bits) || Number(bits) > max)
      throw new Error(`${name} must be networks such as 10.1.0.0/16, got '${network}'`)
  }
  return list
}

function setting<T>(description: string, fallback: string, parse: Setting<T>['parse']): Setting<T> {
  return { description, fallback, parse }
}

/** Overrides the plan; the limit of the organization changes in proportion. */
function limit(of: string, plan: number): Setting<number | null> {
  const description = `Requests per minute and key ${of}; ${plan} when empty.`
  return setting(description, '', wholeOrNone(1, 10_000_000))
}

export const SETTINGS = {
  GRID_PORT: setting('Port of the API.', '4400', whole(0, 65_535)),
  GRID_HOST: setting('Address the API listens on.', '127.0.0.1', text),
  GRID_BASE_URL: setting('Public base URL, when the API stands behind a proxy.', '', optional),
  GRID_OPS_PORT: setting(
    'Port of the operator endpoint /health/metrics; 0 turns it off.',
    '0',
    whole(0, 65_535),
  ),
  GRID_DATA_DIR: setting(
    'Where the embedded database, uploaded files and first keys are kept.',
    '.grid',
    text,
  ),
  DATABASE_URL: setting(
    'A PostgreSQL 18 server to use instead of the embedded one; an app role that owns nothing.',
    '',
    optional,
  ),
  DATABASE_OWNER_URL: setting(
    'The same database as the owner of its tables, for migrations.',
    '',
    optional,
  ),
  GRID_PIPELINED: setting('Pipelined database connections for requests.', '4', whole(1, 64)),
  GRID_POOLED: setting('Database connections for jobs and slow reads.', '8', whole(2, 200)),
  GRID_DEMO: setting(
    'Portfolio made on the first start: s, m, l or none.',
    'm',
    oneOf('s', 'm', 'l', 'none'),
  ),
  GRID_TRUST_PROXY: setting(
    'Addresses of the proxies whose X-Forwarded-For is believed, separated by commas; none when empty.',
    '',
    networks,
  ),
  GRID_LIMIT_SANDBOX: limit('of a sandbox', SANDBOX.per_key),
  GRID_LIMIT_COMMUNITY: limit('on the community plan', PLANS.community.per_key),
  GRID_LIMIT_PROFESSIONAL: limit('on the professional plan', PLANS.professional.per_key),
  GRID_LIMIT_ENTERPRISE: limit('on the enterprise plan', PLANS.enterprise.per_key),
  GRID_LIMIT_FAILED_KEYS: setting(
    'Keys and client secrets that are not known, per minute and address, before the address is refused.',
    '60',
    whole(1, 1_000_000),
  ),
  GRID_UPLOAD_MAX_MB: setting('Largest file of a document, in megabytes.', '100', whole(1, 10_000)),
  GRID_IMPORT_MAX_MB: setting(
    'Largest file of a data-integration job, in megabytes.',
    '512',
    whole(1, 10_000),
  ),
  GRID_JOB_INLINE_MAX_MB: setting(
    'Most data that a job may carry in its request, in megabytes.',
    '10',
    whole(1, 100),
  ),
  GRID_JOB_MAX_ROWS: setting('Most rows in the file of a job.', '5000000', whole(1, 100_000_000)),
  GRID_JOB_MAX_COLUMNS: setting('Most columns in the file of a job.', '500', whole(1, 16_384)),
  GRID_JOB_MAX_CELL_KB: setting(
    'Longest cell in the file of a job, in thousands of characters.',
    '64',
    whole(1, 1_024),
  ),
  GRID_JOB_UNZIPPED_MAX_MB: setting(
    'Most that a workbook may unpack to, in megabytes.',
    '1024',
    whole(1, 100_000),
  ),
  GRID_JOB_ATOMIC_ROWS: setting(
    'Most rows in the file of a job that is written as one transaction.',
    '200000',
    whole(1, 5_000_000),
  ),
  GRID_JOB_RUNNING: setting('Jobs of an organization that run at once.', '2', whole(1, 100)),
  GRID_JOB_QUEUED: setting('Jobs of an organization that may wait.', '100', whole(1, 100_000)),
  GRID_JOB_ERROR_ROWS: setting(
    'Errors of a job that are kept; more are counted only.',
    '10000',
    whole(1, 1_000_000),
  ),
  GRID_JOB_DIFF_ROWS: setting(
    'Objects of a dry run that are kept, for each thing that may happen to them; more are counted only.',
    '50000',
    whole(20, 1_000_000),
  ),
  GRID_JOB_HOURS: setting('Hours a job may run.', '4', whole(1, 168)),
  GRID_JOB_RESULT_DAYS: setting(
    'Days the errors and dry-run rows of a job are kept.',
    '90',
    whole(1, 36_500),
  ),
  GRID_OPENLINEAGE_URL: setting(
    'Where OpenLineage run events of jobs are sent; nowhere when empty.',
    '',
    optional,
  ),
  GRID_LIST_MAX_ROWS: setting(
    'Rows that a list of objects may have when it is sent as one CSV, NDJSON or XLSX file.',
    '250000',
    whole(1, 10_000_000),
  ),
  GRID_EXPORT_MAX_MB: setting(
    'Largest file of an export, in megabytes.',
    '4096',
    whole(1, 100_000),
  ),
  GRID_S3_ENDPOINT: setting(
    'S3-compatible storage for documents; local disk when empty.',
    '',
    optional,
  ),
  GRID_S3_BUCKET: setting('Bucket of the documents.', '', optional),
  GRID_S3_REGION: setting('Region of the bucket.', 'us-east-1', text),
  GRID_S3_ACCESS_KEY_ID: setting('Access key of the storage.', '', optional),
  GRID_S3_SECRET_ACCESS_KEY: setting('Secret key of the storage.', '', optional),
  GRID_AUDIT_KEY: setting(
    'Key that signs the audit log, as audit.key in the data directory holds it. Needed where several machines run.',
    '',
    optional,
  ),
  GRID_AUDIT_KEYS_BEFORE: setting(
    'Public keys that signed the audit log earlier and are still trusted, in base64, separated by commas.',
    '',
    several,
  ),
  GRID_RETENTION_REQUEST_LOG_DAYS: setting(
    'Days the request log is kept; 0 keeps it for ever.',
    '30',
    age(1, 36_500),
  ),
  GRID_RETENTION_EVENTS_DAYS: setting(
    'Days events are kept, dropped by the month; 0 keeps them for ever.',
    '30',
    age(1, 36_500),
  ),
  GRID_RETENTION_DELIVERIES_DAYS: setting(
    'Days deliveries to webhooks are kept; 0 keeps them for ever.',
    '30',
    age(1, 36_500),
  ),
  GRID_RETENTION_ATTEMPT_BODIES_DAYS: setting(
    'Days the answers of webhooks are kept; 0 keeps them for ever.',
    '7',
    age(1, 36_500),
  ),
  GRID_RETENTION_AUDIT_DAYS: setting(
    'Days the audit log is kept, at least 30, dropped by the month; 0 keeps it for ever.',
    '400',
    age(30, 36_500),
  ),
  GRID_RETENTION_IDEMPOTENCY_HOURS: setting(
    'Hours the answers of idempotent requests are kept; 0 keeps them for ever.',
    '24',
    age(1, 8_760),
  ),
  GRID_QUERY_COST_MAX: setting(
    'What a query may be thought to cost before it is refused, in the units of the database: about one for each page read in order.',
    '1000000',
    whole(1_000, 1_000_000_000),
  ),
  GRID_SQL_CONSOLE: setting(
    'Whose keys may run SQL with the scope console:sql: sandbox, all or none.',
    'sandbox',
    oneOf('sandbox', 'all', 'none'),
  ),
  GRID_RETENTION_EXPORTS_HOURS: setting(
    'Hours the file of an export is kept; 0 keeps it until it is deleted.',
    '168',
    age(1, 8_760),
  ),
  GRID_ENV: setting(
    'development lets webhooks have http addresses.',
    'production',
    oneOf('production', 'development'),
  ),
  GRID_MASTER_KEY: setting(
    'Seals the secrets that must be recovered: 32 bytes in base64, or several with the newest first. When empty, master.key in the data directory. Processes that share a database need the same key.',
    '',
    optional,
  ),
  GRID_WEBHOOK_ALLOW_CIDRS: setting(
    'Networks that webhooks may reach although they are not public, separated by commas.',
    '',
    cidrs,
  ),
  GRID_SOURCE_ALLOW_CIDRS: setting(
    'Networks that connections to sources may reach although they are not public, separated by commas.',
    '',
    cidrs,
  ),
  GRID_DROP_DIR: setting(
    'Folder whose files are loaded as they appear: <folder>/<organization id>/<adapter>/<file>. None when empty.',
    '',
    optional,
  ),
  GRID_WEBHOOK_RETRY_S: setting(
    'Seconds before the second to fifth attempt of a delivery, each varied by a fifth.',
    '30,300,3000,30000',
    delays,
  ),
  GRID_WEBHOOK_RETRY_SANDBOX_S: setting('The same for sandboxes.', '2,10,60,300', delays),
  GRID_WEBHOOK_TIMEOUT_S: setting(
    'Longest that one attempt may take, the body of the answer included.',
    '20',
    whole(1, 25),
  ),
  GRID_LOG: setting(
    'What is written to the log: error, warn, info or debug.',
    'info',
    oneOf('error', 'warn', 'info', 'debug'),
  ),
} satisfies Record<string, Setting<unknown>>

export type Config = Readonly<{
  [K in keyof typeof SETTINGS]: ReturnType<(typeof SETTINGS)[K]['parse']>
}>

/** @throws naming every setting that cannot be used. */
export function readConfig(environment: Readonly<Record<string, string | undefined>>): Config {
  const problems: string[] = []
  const entries = Object.entries(SETTINGS).map(([name, { fallback, parse }]) => {
    const given = environment[name]
    try {
      return [name, parse(given === undefined || given === '' ? fallback : given, name)]
    } catch (error) {
      problems.push((error as Error).message)
      return [name, undefined]
    }
  })
  if (problems.length > 0) throw new Error(problems.join('; '))
  return Object.freeze(Object.fromEntries(entries) as Config)
}

/** The base URL of the API, as others reach it. @param port the one it listens on, where that is not the setting. */
export function baseUrl(config: Config, port = config.GRID_PORT): string {
  if (config.GRID_BASE_URL) return config.GRID_BASE_URL
  const anywhere = config.GRID_HOST === '0.0.0.0' || config.GRID_HOST === '::'
  const host = anywhere ? '127.0.0.1' : config.GRID_HOST
  return `http://${host.includes(':') ? `[${host}]` : host}:${port}/api/v1`
}

/** The text of `.env.example`. */
export function envExample(): string {
  const lines = Object.entries(SETTINGS).map(
    ([name, { description, fallback }]) => `# ${description}\n# ${name}=${fallback}\n`,
  )
  return `# Every setting with its default. Copy to .env and uncomment what you change.\n\n${lines.join('\n')}`
}
