/** What the API documents about the endpoints of documents that the kit does not make. */
import type { JsonSchema } from '../kit/field.ts'
import { nullable } from '../kit/field.ts'
import { IDEMPOTENCY, IF_MATCH, pathParameter } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { writableFields } from '../kit/resource.ts'
import { createDocs, listSchema, PAGE_PARAMETERS, rowSchema } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { document } from './resource.ts'

const FILE: JsonSchema = {
  type: 'string',
  contentMediaType: 'application/octet-stream',
  description: 'The file, as a part with a filename.',
}

const METADATA: JsonSchema = {
  type: 'object',
  contentMediaType: 'application/json',
  description: 'The fields as one JSON object, instead of or beside the single fields.',
  additionalProperties: true,
}

/** Bodies by media type; OpenAPI shows each. */
function bodies(content: Record<string, JsonSchema>): JsonSchema {
  return {
    content: Object.fromEntries(
      Object.entries(content).map(([type, schema]) => [type, { schema }]),
    ),
  }
}

const upload: JsonSchema = {
  title: 'DocumentUpload',
  type: 'object',
  description:
    'A document with its file. Lists and objects are sent as JSON text; the title is the name of the file unless one is given.',
  properties: {
    file: FILE,
    metadata: METADATA,
    ...Object.fromEntries(
      Object.entries(writableFields(document)).map(([name, field]) => [name, field.schema]),
    ),
  },
  required: ['file'],
}

const versionUpload: JsonSchema = {
  title: 'DocumentVersionUpload',
  type: 'object',
  description: 'A new version of the file.',
  properties: {
    file: FILE,
    note: {
      type: 'string',
      maxLength: 2_000,
      description: 'What changed in this version.',
      examples: ['Countersigned copy'],
    },
  },
  required: ['file'],
}

const plain = createDocs(document)

/** POST /documents: with a file as a form, or without one as JSON. */
export const createDocumentDocs: RouteDocs = {
  config: plain.config,
  schema: {
    ...plain.schema,
    description:
      'Send a form with a file, and the document is available with its 201; or send JSON, and it waits as pending_upload for its first version. Files may be large: they are streamed, and a form that is cut off or too large stores nothing.',
    body: bodies({
      'multipart/form-data': upload,
      'application/json': plain.schema.body as JsonSchema,
    }),
    problems: [...plain.schema.problems, 503],
  },
}

export const addVersionDocs: RouteDocs = {
  config: { scope: 'write:documents' },
  schema: {
    operationId: 'addDocumentVersion',
    summary: 'Upload a new version of a document',
    description:
      'The new file becomes the current version and the document available; earlier versions stay readable. Answers the document as it now is.',
    tags: ['documents'],
    body: bodies({ 'multipart/form-data': versionUpload }),
    response: { 201: rowSchema(document) },
    parameters: [pathParameter(document), IF_MATCH, IDEMPOTENCY],
    problems: [400, 404, 409, 412, 413, 415, 422, 503],
  },
}

const versionItem: JsonSchema = {
  title: 'DocumentVersion',
  type: 'object',
  description: 'One version of the file of a document.',
  properties: Object.fromEntries(
    Object.entries(document.fields.versions.items ?? {}).map(([name, field]) => [
      name,
      field.required ? field.schema : nullable(field.schema),
    ]),
  ),
  required: ['id', 'number', 'sha256', 'byte_size', 'uploaded_at'],
}

export const listVersionsDocs: RouteDocs = {
  config: { scope: 'read:documents' },
  schema: {
    operationId: 'listDocumentVersions',
    summary: 'List the versions of a document',
    description: 'Every version of the file that was uploaded, oldest first.',
    tags: ['documents'],
    response: { 200: listSchema(versionItem, 'DocumentVersionList') },
    parameters: [pathParameter(document), ...PAGE_PARAMETERS],
    problems: [404, 422],
  },
}

const CONTENT_PARAMETERS: Parameter[] = [
  {
    name: 'version',
    in: 'query',
    description: 'The number of an older version; the current one when left out.',
    schema: { type: 'integer', minimum: 1, examples: [1] },
  },
  {
    name: 'disposition',
    in: 'query',
    description:
      'inline lets a browser show PDF, PNG, JPEG and plain text; everything else is always an attachment.',
    schema: { type: 'string', enum: ['attachment', 'inline'], default: 'attachment' },
  },
  {
    name: 'Range',
    in: 'header',
    description: 'One range of bytes; answered 206, or 416 when it lies outside of the file.',
    schema: { type: 'string', examples: ['bytes=0-1023'] },
  },
  {
    name: 'If-Range',
    in: 'header',
    description: 'The range counts only while the file still has this ETag.',
    schema: { type: 'string' },
  },
  {
    name: 'If-None-Match',
    in: 'header',
    description: 'Answers 304 when the file still has this ETag.',
    schema: { type: 'string' },
  },
]

const bytes = (description: string): JsonSchema => ({
  type: 'string',
  contentEncoding: 'binary',
  description,
  'x-content-type': 'application/octet-stream',
})

export const contentDocs: RouteDocs = {
  config: { scope: 'read:documents' },
  schema: {
    operationId: 'getDocumentContent',
    summary: 'Download the file of a document',
    description:
      'The bytes of the current or an older version. The ETag is their SHA-256. Large files can be read in ranges and a broken download resumed with Range and If-Range; HEAD tells the size.',
    tags: ['documents'],
    response: {
      200: bytes('The whole file.'),
      206: bytes('The range that was asked for.'),
      304: { type: 'null', description: 'The file is the one named by If-None-Match.' },
    },
    parameters: [pathParameter(document), ...CONTENT_PARAMETERS],
    problems: [404, 416, 422, 503],
  },
}
