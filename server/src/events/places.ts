/** What ids of objects begin with, and where the objects live below the base URL. */
import { registry } from '../resources.ts'

interface Place {
  prefix: string
  path: string
}

/** Of what is no resource. Sealed entries hold such ids for good: a type of object is listed before anything is told of it. */
const PLACES: Readonly<Record<string, Place>> = {
  job: { prefix: 'job', path: 'sdis/jobs' },
  adapter: { prefix: 'adp', path: 'sdis/adapters' },
  connection: { prefix: 'cnx', path: 'sdis/connections' },
  schedule: { prefix: 'sch', path: 'sdis/schedules' },
  api_key: { prefix: 'key', path: 'api-keys' },
  webhook: { prefix: 'wh', path: 'webhooks' },
  saved_query: { prefix: 'qry', path: 'grid/v2/queries' },
  schema_field: { prefix: 'fld', path: 'schema-fields' },
  schema_plan: { prefix: 'pln', path: 'schema-extensions' },
  source: { prefix: 'src', path: 'grid/v2/sources' },
  survivorship_rule: { prefix: 'sur', path: 'grid/v2/survivorship' },
  survivorship_change: { prefix: 'rch', path: 'grid/v2/survivorship/changes' },
  erasure: { prefix: 'ers', path: 'grid/v2/erasures' },
  app: { prefix: 'app', path: 'developer/apps' },
  app_installation: { prefix: 'inst', path: 'apps/installations' },
  sandbox_task: { prefix: 'sbt', path: 'sandbox/tasks' },
  export: { prefix: 'xpt', path: 'exports' },
  merge: { prefix: 'mrg', path: 'grid/v2/merges' },
  do_not_link: { prefix: 'dnl', path: 'grid/v2/do-not-link' },
}

/** Undefined for a type that has none. */
export function knownPlace(object_type: string): Place | undefined {
  return registry.get(object_type) ?? PLACES[object_type]
}

export function placeOf(object_type: string): Place {
  return knownPlace(object_type) ?? { prefix: 'obj', path: 'objects' }
}
