/** Files of the repository that follow from the code. `npm run generate` writes them, a test compares them. */
import { buildApp } from './app.ts'
import { envExample, readConfig } from './config.ts'
import type { Db } from './db/db.ts'
import { catalogue } from './events/catalogue.ts'
import { ERRORS } from './kit/errors.ts'
import type { Field, Fields } from './kit/field.ts'
import { allFields } from './kit/resource.ts'
import type { Resource } from './kit/resource.ts'
import { PLAN_SCOPES, SCOPES } from './kit/scopes.ts'
import type { Scope } from './kit/scopes.ts'
import { resources } from './resources.ts'

/** The text of each generated file, by its path from the root of the repository. */
export async function generatedFiles(): Promise<ReadonlyMap<string, string>> {
  return new Map([
    ['openapi.json', `${await openapiText()}\n`],
    ['.env.example', envExample()],
    ['docs/reference/errors.md', errorsPage()],
    ['docs/reference/scopes.md', scopesPage()],
    ['docs/reference/fields.md', fieldsPage()],
    ['docs/reference/events.md', eventsPage()],
  ])
}

/** The OpenAPI document. Routes are only declared, so no database is needed. */
export async function openapiText(): Promise<string> {
  const nothing = { flyControl: async () => [] } as unknown as Db
  const app = await buildApp(readConfig({ GRID_LOG: 'error' }), nothing)
  const text = app.openapi()
  await app.close()
  return text
}

const NOTICE = '<!-- Made by npm run generate; edit the code instead. -->'

function page(title: string, ...parts: string[]): string {
  return `${[NOTICE, `# ${title}`, ...parts].join('\n\n')}\n`
}

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell) => cell.replaceAll('|', '\\|')).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}

function errorsPage(): string {
  const rows = Object.entries(ERRORS).map(([code, [status, title, advice]]) => [
    `\`${code}\``,
    String(status),
    title,
    advice,
  ])
  return page(
    'Errors',
    'Every answer with a status from 400 on is a problem (RFC 9457, `application/problem+json`). `type` is the path `/errors/{code}` on the same host, which says what the table says. `detail` speaks of the request at hand. A 422 lists every failing field in `errors`, each with `field`, `pointer`, `code`, `message` and, where it helps, `allowed` and `suggestion`. Codes are stable; texts may change.',
    table(['code', 'status', 'title', 'what to do'], rows),
  )
}

function scopesPage(): string {
  const rows = Object.entries(SCOPES).map(([scope, text]) => [
    `\`${scope}\``,
    text,
    PLAN_SCOPES[scope as Scope] ?? '',
  ])
  return page(
    'Scopes',
    'A key holds a list of scopes. A request that needs another one answers 403 `insufficient_scope` with `required_scope`. Some scopes also need a plan; without it the answer is 403 `plan_required`.',
    table(['scope', 'allows', 'plan'], rows),
  )
}

function eventsPage(): string {
  const rows = catalogue.map(({ type, title, description }) => [`\`${type}\``, title, description])
  return page(
    'Events',
    'Every type of event. [The guide](../guide/events.md) says how to follow them. `GET /events/types` serves this list with a JSON Schema and an example of each.',
    table(['type', 'title', 'meaning'], rows),
  )
}

function fieldsPage(): string {
  return page(
    'Fields',
    `Fields of every resource. A field without a value is null in answers. Fields marked *read only* are refused in bodies, *required* ones must be in a create. Lists and objects show their own fields below them. Every object also has the [common fields](#common-fields).`,
    ...resources.flatMap((resource) => [
      `## ${resource.title}`,
      `${resource.description} \`/${resource.path}\`, ids \`${resource.prefix}_...\`.`,
      ...lifecycle(resource),
      table(HEAD, fieldRows(resource.fields)),
    ]),
    '## Common fields',
    table(HEAD, fieldRows(commonFields())),
  )
}

const HEAD = ['field', 'type', 'meaning']

function lifecycle({ lifecycle: cycle }: Resource): string[] {
  if (!cycle) return []
  const moves = Object.entries(cycle.transitions).map(([from, to]) =>
    to.length > 0 ? `${from} → ${to.join(', ')}` : `${from} is final`,
  )
  return [`Moves of \`${cycle.field}\`, from \`${cycle.initial}\`: ${moves.join('; ')}.`]
}

function commonFields(): Fields {
  const [first] = resources as [Resource]
  const own = new Set(Object.keys(first.fields))
  return Object.fromEntries(Object.entries(allFields(first)).filter(([name]) => !own.has(name)))
}

function fieldRows(fields: Fields, path = ''): string[][] {
  return Object.entries(fields).flatMap(([name, field]) => [
    [`\`${path}${name}\``, fieldType(field), fieldMeaning(field)],
    ...(field.items
      ? fieldRows(field.items, `${path}${name}${field.kind === 'list' ? '[]' : ''}.`)
      : []),
  ])
}

function fieldType({ kind, target }: Field): string {
  if (kind === 'list' && target) return `ids of ${target}`
  return target ? `id of ${target}` : kind === 'texts' ? 'list of text' : kind
}

function fieldMeaning({ schema, required, readOnly, writeOnly, kind }: Field): string {
  const { description, enum: values } = schema as { description: string; enum?: string[] }
  const marks = [
    ...(required ? ['required'] : []),
    ...(readOnly ? ['read only'] : []),
    ...(writeOnly ? ['write only'] : []),
  ]
  const words = kind === 'choice' && values ? ` One of ${values.join(', ')}.` : ''
  return `${description}${words}${marks.length > 0 ? ` *${marks.join(', ')}*` : ''}`
}
