/** Resources as an organization extended them, remembered for less than a second. */
import type { Extension } from './extension.ts'
import type { Registry } from './query.ts'
import type { Resource } from './resource.ts'
import { unrestricted } from './restriction.ts'
import type { OrgDb } from './types.ts'

/** How long a schema is trusted: what another process deploys is known here within this time, in milliseconds. */
const FRESH_MS = 750

/** Organizations remembered by a process. */
const CACHE_MAX = 10_000

/** Types that an organization cannot extend: an organization is seen by its parent, which has another schema. */
export const NOT_EXTENSIBLE: ReadonlySet<string> = new Set(['organization'])

/** The types of an organization, with its own fields. */
export interface OwnSchema {
  registry: Registry
  /** Counts the deploys; 0 before the first. */
  version: number
  extensions: readonly Extension[]
}

interface Entry {
  schema: Promise<OwnSchema>
  fresh_until: number
}

/** What reads need of a store. */
export interface Schemas {
  db: Pick<OrgDb, 'fly'>
  registry: Registry
}

const caches = new WeakMap<object, Map<number, Entry>>()

function cacheOf(db: object): Map<number, Entry> {
  let cache = caches.get(db)
  if (!cache) caches.set(db, (cache = new Map()))
  return cache
}

/** The schema of an organization as it stands, at most 0.75 seconds old; never older than a deploy of this process. */
export async function ownSchema({ db, registry }: Schemas, org_id: number): Promise<OwnSchema> {
  const cache = cacheOf(db)
  const now = performance.now()
  const found = cache.get(org_id)
  if (found && found.fresh_until > now) return await found.schema
  const before = found ? await found.schema.catch(() => null) : null
  // Others that wait for the same schema share the query.
  const again = cache.get(org_id)
  if (again && again !== found && again.fresh_until > now) return await again.schema
  const entry = { schema: load({ db, registry }, org_id, before), fresh_until: now + FRESH_MS }
  if (cache.size >= CACHE_MAX) cache.clear()
  cache.set(org_id, entry)
  entry.schema.catch(() => cache.delete(org_id))
  return await entry.schema
}

/** The type as the organization extended it. */
export async function ownResource(
  schemas: Schemas,
  org_id: number,
  resource: Resource,
): Promise<Resource> {
  const { registry } = await ownSchema(schemas, org_id)
  return registry.get(resource.name) ?? resource
}

/** A store whose types are those of one organization, as its schema stands now. */
export async function ownStore<S extends Schemas>(store: S, org_id: number): Promise<S> {
  const { registry } = await ownSchema(store, org_id)
  return { ...store, registry }
}

/** Has the next read look again, after a deploy by this process. */
export function forgetSchema(db: object, org_id: number): void {
  caches.get(db)?.delete(org_id)
}

/** Columns of the organization's own for tables and exports, by type: `ext.green_share`, in the order they were added. */
export async function extColumns(
  schemas: Schemas,
  org_id: number,
): Promise<ReadonlyMap<string, readonly { name: string; extension: Extension }[]>> {
  const { registry } = await ownSchema(schemas, org_id)
  return new Map(
    [...registry].map(([type, { extensions }]) => [
      type,
      extensions
        .filter(({ state }) => state === 'deployed')
        .map((extension) => ({ name: `ext.${extension.name}`, extension })),
    ]),
  )
}

async function load(
  { db, registry }: Schemas,
  org_id: number,
  before: OwnSchema | null,
): Promise<OwnSchema> {
  const [rows = []] = await unrestricted(
    async () =>
      await db.fly(org_id, [
        {
          sql: `select coalesce((select max(version) from schema_version where org_id = $1::bigint), 0),
              (select json_agg(json_build_object('id', id, 'object_type', object_type, 'name', api_name, 'label', label,
                'description', description, 'type', type, 'settings', settings, 'options', options, 'aliases', aliases,
                'required', required, 'filterable', filterable, 'indexed', indexed, 'state', state) order by id)
                from schema_field where org_id = $1::bigint)`,
          params: [org_id],
        },
      ]),
  )
  const [version, fields] = rows[0] ?? []
  const extensions = fields ? (JSON.parse(fields.toString()) as Extension[]) : []
  return extend(registry, extensions, Number(version?.toString() ?? 0), before)
}

/** The registry with the organization's fields; what an earlier one had is kept while nothing changed. */
export function extend(
  registry: Registry,
  extensions: readonly Extension[],
  version: number,
  before: OwnSchema | null = null,
): OwnSchema {
  if (extensions.length === 0) return { registry, version, extensions }
  if (before && before.version === version && same(before.extensions, extensions)) return before
  const byType = Map.groupBy(extensions, ({ object_type }) => object_type)
  const own = [...registry].map(([name, resource]): [string, Resource] => {
    const list = byType.get(name) ?? []
    return [name, list.length === 0 ? resource : extended(resource, list, version)]
  })
  return { registry: new Map(own), version, extensions }
}

function same(a: readonly Extension[], b: readonly Extension[]): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

function extended(
  resource: Resource,
  extensions: readonly Extension[],
  schema_version: number,
): Resource {
  const targets = extensions.flatMap(({ settings }) => settings.target ?? [])
  return {
    ...resource,
    extensions,
    schema_version,
    targets: [...new Set([...resource.targets, ...targets])],
  }
}
