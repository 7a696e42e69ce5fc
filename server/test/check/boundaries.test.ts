import { describe, expect, it } from 'vitest'
import { files, importsOf, linesWith } from './repository.ts'
import type { SourceFile } from './repository.ts'

const isTest = ({ path }: SourceFile): boolean => /(\.test|-fixture|-fixtures)\.ts$/.test(path)

const sources = files(['server/src'], '.ts')
  .filter((file) => !isTest(file))
  .map((file) => ({ ...file, path: file.path.replace('server/src/', '') }))
  .map((file) => ({
    ...file,
    imports: importsOf({ ...file, path: `server/src/${file.path}` }).map((target) =>
      target.replace('server/src/', ''),
    ),
  }))

/** Folders that are no feature. */
const GROUND = new Set(['kit', 'db', 'http', 'queue'])

/** Files of the top level put the parts together; only these are for everyone. */
const SHARED_TOP = new Set([
  'config.ts',
  'resources.ts',
  'egress.ts',
  'addresses.ts',
  'places.ts',
  'secrets.ts',
])

const folderOf = (path: string): string =>
  path.includes('/') ? (path.split('/')[0] as string) : ''
const isOurs = (target: string): boolean => target.endsWith('.ts')

/** What other features may see of a feature. */
const PUBLIC = /^[^/]+\/(resource|service|index|events|rollups)\.ts$/

/** Files that one feature keeps for others. */
const NAMED_PUBLIC = [
  // The one text a value has, for whoever hashes.
  'audit/canonical.ts',
  // Where files lie, and how they are answered: documents, data-integration jobs, exports.
  'documents/content.ts',
  'documents/files.ts',
  'documents/spool.ts',
  'documents/storage.ts',
  'documents/upload.ts',
  // Pages for people are made of escaped templates.
  'reference/html.ts',
  // The feed of events, what they mean, and when it has grown.
  'events/catalogue.ts',
  'events/declared.ts',
  'events/feed.ts',
  'events/payload.ts',
  'events/places.ts',
  'events/platform.ts',
  'events/sequencer.ts',
  'events/wake.ts',
  // The model as data: types and what each of their fields can do.
  'grid/schema.ts',
  // What is taken from a sandbox.
  'sdis/adapters/copies.ts',
  // The portfolio that sandboxes are filled with.
  'demo/seed.ts',
  // The times to keep, which the demo portfolio plans by.
  'work-orders/rules.ts',
]

/** Imports that break a rule, as `file imports target`. */
function offences(
  from: (path: string) => boolean,
  allowed: (target: string, path: string) => boolean,
): string[] {
  return sources
    .filter(({ path }) => from(path))
    .flatMap(({ path, imports }) =>
      imports
        .filter((target) => isOurs(target) && !allowed(target, path))
        .map((target) => `${path} imports ${target}`),
    )
}

describe('imports', () => {
  it('are found at all', () => {
    expect(sources.length).toBeGreaterThan(50)
    expect(sources.find(({ path }) => path === 'app.ts')?.imports).toContain('features.ts')
  })

  it('of the kit stay in the kit, but for the forms in which rows arrive', () => {
    const fine = (target: string): boolean =>
      folderOf(target) === 'kit' || target === 'db/pipeline.ts' || target === 'db/types.ts'
    expect(offences((path) => folderOf(path) === 'kit', fine)).toEqual([])
  })

  it('of the database know no feature', () => {
    const fine = (target: string): boolean =>
      folderOf(target) === 'db' || target === 'kit/types.ts' || target === 'kit/restriction.ts'
    expect(offences((path) => folderOf(path) === 'db', fine)).toEqual([])
  })

  it('of the HTTP pipeline know no feature', () => {
    const fine = (target: string): boolean =>
      ['http', 'kit', 'db'].includes(folderOf(target)) || SHARED_TOP.has(target)
    expect(offences((path) => folderOf(path) === 'http', fine)).toEqual([])
  })

  it('of a feature reach other features by their public files, and never the top', () => {
    const isFeature = (path: string): boolean =>
      folderOf(path) !== '' && !GROUND.has(folderOf(path))
    const fine = (target: string, path: string): boolean =>
      folderOf(target) === folderOf(path) ||
      GROUND.has(folderOf(target)) ||
      SHARED_TOP.has(target) ||
      PUBLIC.test(target) ||
      NAMED_PUBLIC.includes(target)
    expect(offences(isFeature, fine)).toEqual([])
  })

  it('of fastify stand in the pipeline and in routes', () => {
    const allowed = /^(app|features|serve)\.ts$|^http\/|^kit\/(routes|schemas)\.ts$|routes\.ts$/
    const users = sources.filter(({ imports }) => imports.some((target) => /fastify/.test(target)))
    expect(users.map(({ path }) => path).filter((path) => !allowed.test(path))).toEqual([])
  })
})

/** Where SQL may be written, and why there. */
const SQL_FILES = [
  /^db\//, // the database itself
  /^queue\//, // claiming
  /^kit\/(store|filter|history|door|bulk|bulk-[a-z]+|idempotency|needs|record)\.ts$/, // reads, facts and the one write door
  /^kit\/(extended|extension-(column|index|limits|sort))\.ts$/, // fields of organizations' own, read and indexed beside the rows
  /^http\/(auth|ledger|request-log)\.ts$/, // one statement each, before an organization is known
  /\/(queries|rollups)\.ts$/, // what the generic store cannot express
  /\/[a-z-]+-(queries|rollups)\.ts$/,
  /^places\.ts$/, // what lies where, asked by the write door
  /^keys\/service\.ts$/,
  /^events\/(feed|sequencer)\.ts$/, // the feed that everyone reads, and what numbers it
  /^sdis\/(jobs|run|service|work)\.ts$/, // a job's own rows, beside the step that changes them
  /^demo\/(seed|summary)\.ts$/, // counts of what was made
  /^query\/(compile|facts|run|sources|times)\.ts$/, // questions become SQL here and nowhere else
  /^query\/sql\/docs\.ts$/, // an example of what callers send
  /^grid\/objects\.ts$/, // one look-up of what refers to an object
  /^(app|commands)\.ts$/, // one control statement each
]

const SQL =
  /\b(select\s[^.]*\sfrom\s|select app\.|insert into\s|delete from\s|update\s[a-z_]+(\s[a-z])?\sset\s)/

/** The file with comments blanked out; templates and strings stay. */
function code({ text }: SourceFile): string {
  return text.replaceAll(/\/\*[\s\S]*?\*\//g, '').replaceAll(/(^|\s)\/\/.*$/gm, '')
}

describe('SQL', () => {
  it('stands in queries, in the store and behind the write door', () => {
    const writers = sources.filter((file) => SQL.test(code(file))).map(({ path }) => path)
    expect(writers.length).toBeGreaterThan(5)
    const stray = writers.filter((path) => !SQL_FILES.some((pattern) => pattern.test(path)))
    expect(stray).toEqual([])
  })

  it('sets the organization and its properties through app.set_org and app.set_scope alone', () => {
    const migrations = files(['server/migrations'], '.sql').map(({ path, text }) => ({
      path,
      text: text.replaceAll(/--.*$/gm, ''),
    }))
    const code = files(['server/src'], '.ts').filter((file) => !isTest(file))
    const users = [...code, ...migrations].flatMap((file) =>
      linesWith(file, /\bset_config\s*\(|\bset (local|session)\b/i),
    )
    expect([...new Set(users.map((line) => line.split(':')[0]))]).toEqual([
      // How long a statement may run, and the token of a console.
      'server/src/query/session-queries.ts',
      'server/migrations/0001_platform.sql',
      'server/migrations/0014_keys.sql',
      // Who may set at all.
      'server/migrations/0027_query.sql',
      // Whether a commit waits for the disk.
      'server/migrations/0030_feed.sql',
    ])
  })
})
