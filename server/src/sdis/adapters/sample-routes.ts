import multipart from '@fastify/multipart'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { discardRest, FORM_LIMITS, receiveFrom } from '../../documents/index.ts'
import type { FormPart } from '../../documents/index.ts'
import { ApiError, invalid } from '../../kit/errors.ts'
import type { JsonSchema } from '../../kit/field.ts'
import { pathId } from '../../kit/ids.ts'
import type { Row } from '../../kit/resource.ts'
import { validate } from '../../kit/validate.ts'
import { jobFileKey } from '../service.ts'
import { inferAdapter, previewAdapter } from './sample-docs.ts'
import { infer } from './inference.ts'
import type { Known } from './inference.ts'
import { PREVIEW_ROWS, previewOf } from './preview.ts'
import { notePreview } from './queries.ts'
import { inferBodies, previewBodies } from './sample-schemas.ts'
import { sampleSpool, spooled } from './samples.ts'
import type { SampleFile } from './samples.ts'
import { readFor } from './read.ts'
import { getAdapter, getVersion } from './service.ts'

const MEGABYTE = 1024 * 1024

/** Routes that look at a file and keep nothing of it. */
export async function sampleRoutes(app: FastifyInstance): Promise<void> {
  await app.register(async (form) => {
    await form.register(multipart, { limits: FORM_LIMITS, throwFileSizeLimit: false })
    form.addHook('onError', (request, _reply, _error, done) => {
      discardRest(request.raw)
      done()
    })
    form.post<{ Params: { id: string } }>(
      '/sdis/adapters/:id/preview',
      previewAdapter,
      async (request) => await preview(app, request),
    )
    form.post('/sdis/adapters/infer', inferAdapter, async (request) => {
      const given = jsonOf(request, inferBodies.json)
      return await withSample(app, request, given, inferBodies.json, async (file, fields) => {
        const { type, name, source } = fields as Record<string, string>
        const known: Known = { type, name, source_name: source }
        return await infer(app.store.registry, file, known)
      })
    })
  })
}

async function preview(
  app: FastifyInstance,
  request: FastifyRequest<{ Params: { id: string } }>,
): Promise<Row> {
  const { org_id } = request.caller
  const given = jsonOf(request, previewBodies.json)
  const id = pathId('adp', request.params.id)
  const { latest_version } = await getAdapter(app.db, org_id, id)
  return await withSample(app, request, given, previewBodies.json, async (file, fields) => {
    const { version = latest_version, rows = PREVIEW_ROWS } = fields as Record<string, number>
    const kept = await getVersion(app.db, org_id, id, String(version))
    const { registry } = app.store
    const adapter = await readFor(app.store, org_id, kept.document)
    const { view, note } = await previewOf(registry, kept, adapter, file, rows)
    await notePreview(app.db, kept, note)
    return view
  })
}

/** The body of a JSON request, null for a form. @throws 415, 422 */
function jsonOf(request: FastifyRequest, schema: JsonSchema): Row | null {
  if (request.isMultipart()) return null
  if (request.body === undefined || request.body === null)
    throw new ApiError('unsupported_media_type', 'Send a form with the part file, or JSON.')
  const issues = validate(schema, request.body, 'body')
  if (issues.length > 0) throw invalid(issues)
  return request.body as Row
}

/** Receives the sample, runs what looks at it, and drops it. */
async function withSample(
  app: FastifyInstance,
  request: FastifyRequest,
  given: Row | null,
  schema: JsonSchema,
  run: (file: SampleFile, fields: Row) => Promise<Row>,
): Promise<Row> {
  const { org_id } = request.caller
  const data_dir = app.config.GRID_DATA_DIR
  if (given) {
    const { inline, ...fields } = given
    const { file, drop } = await spooled(app.store, data_dir, org_id, String(inline))
    try {
      return await run(file, fields)
    } finally {
      await drop()
    }
  }
  const [id] = (await app.db.ids(1)) as [number]
  const [key, spool] = [jobFileKey(org_id, id), sampleSpool(data_dir)]
  const max = app.config.GRID_IMPORT_MAX_MB * MEGABYTE
  const parts = request.parts() as AsyncIterable<FormPart>
  const form = await receiveFrom(request.raw, parts, spool, key, max)
  try {
    if (Object.keys(form.metadata).length > 0) form.fields.set('metadata', [''])
    const fields = fieldsOf(form.fields, schema)
    const { filename: name, path, byte_size, sha256 } = form.file
    return await run({ name, path, byte_size, sha256 }, fields)
  } finally {
    await spool.drop(key)
  }
}

/** The plain fields of a form as the values that JSON would have. @throws 422 naming every failing one. */
function fieldsOf(form: ReadonlyMap<string, readonly string[]>, schema: JsonSchema): Row {
  const { inline: _, ...properties } = schema['properties'] as Record<string, JsonSchema>
  const repeated = [...form].filter(([, values]) => values.length > 1)
  const fields: Row = {}
  for (const [name, [value = '']] of form) {
    if (value === '' && Object.hasOwn(properties, name)) continue
    const whole = properties[name]?.['type'] === 'integer' && /^-?[0-9]{1,9}$/.test(value)
    fields[name] = whole ? Number(value) : value
  }
  const issues = [
    ...validate({ ...schema, required: [], properties }, fields, 'body'),
    ...repeated.map(([field]) => ({ field, code: 'repeated', message: 'may be sent once' })),
  ]
  if (issues.length > 0) throw invalid(issues)
  return fields
}
