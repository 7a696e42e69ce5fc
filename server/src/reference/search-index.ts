/** What the search of the reference looks through: endpoints, fields and errors, each with the place it leads to. */
import { errorEntries } from './errors-view.ts'
import { nameOf, schemasOf } from './model.ts'
import type { Reference, Schema } from './model.ts'

/** Kind, name, meaning, address. */
type Entry = [string, string, string, string]

export function searchIndex(reference: Reference): string {
  const endpoints = reference.groups.flatMap(({ slug, operations }) =>
    operations.map(({ id, method, path, summary }): Entry => [
      method,
      path,
      summary,
      `/docs/${slug}#${id}`,
    ]),
  )
  const errors = errorEntries().map(({ code, status, title }): Entry => [
    String(status),
    code,
    title,
    `/errors/${code}`,
  ])
  return JSON.stringify([...endpoints, ...fields(reference), ...errors])
}

/** The fields of the objects that groups answer; bodies and lists only repeat them. */
function fields(reference: Reference): Entry[] {
  const seen = new Set<string>()
  return reference.groups.flatMap(({ slug, operations }) => {
    const answered = operations.flatMap(({ responses }) =>
      responses.flatMap(({ bodies }) => bodies.flatMap(({ schema }) => nameOf(schema.$ref ?? ''))),
    )
    const own = schemasOf(reference, operations).filter(
      (name) => !seen.has(name) && (answered.includes(name) || answered.includes(`${name}List`)),
    )
    return own.flatMap((name) => {
      seen.add(name)
      const schema = reference.schemas[name] ?? {}
      return schema.properties?.['next_cursor']
        ? []
        : fieldsOf(schema, name, `/docs/${slug}#${name}`)
    })
  })
}

function fieldsOf({ properties = {} }: Schema, path: string, address: string): Entry[] {
  return Object.entries(properties).flatMap(([name, field]) => [
    ['field', `${path}.${name}`, field.description ?? '', `${address}.${name}`] as Entry,
    ...fieldsOf(field.items ?? field, `${path}.${name}`, `${address}.${name}`),
  ])
}
