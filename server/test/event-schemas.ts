/** Events held against the schemas of the catalogue, as a receiver would who has the OpenAPI document at hand. */
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { Client } from 'pg'
import { eventType, referringSchema } from '../src/events/catalogue.ts'
import type { EventType } from '../src/events/catalogue.ts'
import { FEED_COLUMNS, feedEvent } from '../src/events/feed.ts'
import type { FeedRow } from '../src/events/feed.ts'
import { renderEvents } from '../src/events/payload.ts'
import { openapiText } from '../src/generated.ts'
import type { Row } from '../src/kit/resource.ts'
import type { OrgDb } from '../src/kit/types.ts'

const ajv = new Ajv2020({ strict: false, allErrors: true })
addFormats.default(ajv)
ajv.addSchema(JSON.parse(await openapiText()) as Row, '/openapi.json')

/** Compiled when first needed: most tests see few types. */
const validators = new Map<string, ValidateFunction>()

function validatorOf(entry: EventType): ValidateFunction {
  const found = validators.get(entry.type) ?? ajv.compile(referringSchema(entry))
  validators.set(entry.type, found)
  return found
}

/** Where an event is not what its type promises; empty when all is well. */
export function eventFaults(event: Row): string[] {
  const type = String(event['type'])
  const entry = eventType(type)
  if (!entry) return [`${type} is not in the catalogue`]
  const validate = validatorOf(entry)
  if (validate(event)) return []
  return (validate.errors ?? []).map(
    (e) =>
      `${String(event['id'])} ${type}${e.instancePath} ${e.message} ${JSON.stringify(e.params)}`,
  )
}

/** Events looked at, at most; of more, every so manieth. */
const SAMPLE = 500

/** Where an organization's events are not what their types promise, placed or not. */
export async function contractFaults(client: Client, db: OrgDb, org_id: number): Promise<string[]> {
  const { rows } = await client.query<FeedRow>(
    `select ${FEED_COLUMNS} from tx t join event e on e.org_id = t.org_id and e.tx_id = t.tx_id and e.at = t.at
     where t.org_id = $1 order by t.tx_id, e.n`,
    [org_id],
  )
  const step = Math.ceil(rows.length / SAMPLE)
  const events = rows.filter((_, i) => i % step === 0).map(feedEvent)
  const payloads = await renderEvents({ db }, org_id, events)
  return payloads.flatMap((text) => eventFaults(JSON.parse(text) as Row))
}
