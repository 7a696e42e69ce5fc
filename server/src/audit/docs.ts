/** Documentation of the audit endpoints. */
import type { JsonSchema } from '../kit/field.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { listSchema } from '../kit/schemas.ts'

type QueryDocs = RouteDocs & { schema: { querystring: JsonSchema } }
type Parameters = Record<string, { description: string; schema: JsonSchema }>

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

const textOrNull = (description: string, example: string): JsonSchema => ({
  ...text(description, example),
  type: ['string', 'null'],
})

const position = (description: string): JsonSchema => ({
  type: ['integer', 'null'],
  description,
  examples: [4711],
})

const time = (description: string): JsonSchema => ({
  type: 'string',
  format: 'date-time',
  description,
  examples: ['2026-05-12T08:00:00.000Z'],
})

const values = (description: string, example: object): JsonSchema => ({
  type: 'object',
  additionalProperties: true,
  description,
  examples: [example],
})

const HASH = '6c1e0f3b1d8a4f52a7c3f0b9e2d4c6a81b3d5f7092846a1c3e5d7f9b0a2c4e6f'
const KEY = 'GbFB6s0QzKzqx7l2s1Xn8oRj0p2QwL5t9eYvU3hTcKA='
const SIGNATURE = 'dGhlIHNpZ25hdHVyZSBvZiBhIGNoZWNrcG9pbnQ='

const ACTOR: JsonSchema = {
  type: 'object',
  description: 'Who did it.',
  properties: {
    type: text('api_key, job or system.', 'api_key'),
    id: textOrNull('Id of the key or job.', 'key_7'),
    name: text('Its name.', 'First key'),
  },
  required: ['type', 'id', 'name'],
}

export const entrySchema: JsonSchema = {
  title: 'AuditEntry',
  type: 'object',
  description: 'Something that was done in the organization, sealed into its chain.',
  properties: {
    id: text('Id of the entry; its digits are those of the event.', 'aud_1200000'),
    object: { type: 'string', const: 'audit_entry', description: 'Always audit_entry.' },
    organization_id: text('The organization.', 'org_1'),
    position: {
      type: 'integer',
      description: 'Place in the chain, from 1 on, without gaps.',
      examples: [4711],
    },
    at: time('When it was done.'),
    action: text('What was done; see the catalogue of actions.', 'lease.updated'),
    object_type: text('Type of the object it was done to.', 'lease'),
    object_id: text('The object.', 'le_1042'),
    object_version: {
      type: ['integer', 'null'],
      description: 'Version of the object after it, when it has versions.',
      examples: [3],
    },
    actor: ACTOR,
    request_id: textOrNull('Request that did it.', 'req_5f1c000001'),
    job_id: textOrNull('Job that did it.', 'job_1001'),
    changed: {
      type: 'array',
      items: { type: 'string' },
      description: 'Fields whose value changed.',
      examples: [['expiration_date']],
    },
    before: values('Their values before.', { expiration_date: '2030-12-31' }),
    after: values('Their values after; after an import, as the file claimed them.', {
      expiration_date: '2031-12-31',
    }),
    details: {
      type: ['object', 'null'],
      additionalProperties: true,
      description: 'What else it was about.',
      examples: [{ format: 'ndjson' }],
    },
    erased_by: text(
      'Entry that tells of the erasure of values of this one; there only when some were.',
      'aud_1300000',
    ),
    hash: text('SHA-256 of the hash before and the canonical JSON of the other fields.', HASH),
  },
  required: ['id', 'object', 'organization_id', 'position', 'at', 'action', 'object_type'].concat([
    'object_id',
    'object_version',
    'actor',
    'request_id',
    'job_id',
    'changed',
    'before',
    'after',
    'details',
    'hash',
  ]),
}

const checkpointSchema: JsonSchema = {
  title: 'AuditCheckpoint',
  type: 'object',
  description: 'A signed statement: at this position the chain had this hash.',
  properties: {
    object: { type: 'string', const: 'audit_checkpoint', description: 'Always audit_checkpoint.' },
    organization_id: text('The organization.', 'org_1'),
    position: { type: 'integer', description: 'Position in the chain.', examples: [4000] },
    hash: text('Hash of the entry there.', HASH),
    at: time('When it was signed.'),
    key_id: text('Short name of the public key.', '8f3a1c0d2b4e6f70'),
    public_key: text('The ed25519 public key, 32 bytes in base64.', KEY),
    signature: text('Of the canonical JSON of all other fields, in base64.', SIGNATURE),
  },
  required: ['object', 'organization_id', 'position', 'hash', 'at', 'key_id', 'public_key'].concat([
    'signature',
  ]),
}

const verificationSchema: JsonSchema = {
  title: 'AuditVerification',
  type: 'object',
  description: 'Whether the chain is as it was sealed.',
  properties: {
    object: { type: 'string', const: 'audit_verification', description: 'Always so.' },
    ok: { type: 'boolean', description: 'Nothing was found to be wrong.', examples: [true] },
    entries: { type: 'integer', description: 'Entries verified.', examples: [4711] },
    erased: {
      type: 'integer',
      description:
        'Of them those of which values were erased; each is named by an entry that tells of the erasure.',
      examples: [0],
    },
    first_position: position('First entry verified.'),
    last_position: position('Last entry verified.'),
    checkpoints: { type: 'integer', description: 'Signatures verified.', examples: [4] },
    public_key: text('The key that signs now, 32 bytes in base64. Note it elsewhere.', KEY),
    fault: {
      type: ['object', 'null'],
      description: 'The first thing that is wrong.',
      properties: {
        position: { type: 'integer', description: 'Where.', examples: [4712] },
        reason: text('What, for programs.', 'changed'),
        message: text('What, for people.', 'The entry was changed after it was sealed.'),
      },
      required: ['position', 'reason', 'message'],
    },
  },
  required: ['object', 'ok', 'entries', 'first_position', 'last_position', 'checkpoints', 'fault'],
}

const actionSchema: JsonSchema = {
  title: 'AuditAction',
  type: 'object',
  description: 'Something that the audit log can say.',
  properties: {
    action: text('Name of the action.', 'lease.updated'),
    object_type: text('Type of the objects it is done to.', 'lease'),
    description: text('What it means.', 'Lease: updated.'),
    schema: values('JSON Schema 2020-12 of its entries.', { type: 'object' }),
  },
  required: ['action', 'object_type', 'description', 'schema'],
}

const TIMES: Parameters = {
  since: { description: 'From this time on.', schema: text('A time.', '2026-05-12T08:00:00Z') },
  until: { description: 'Before this time.', schema: text('A time.', '2026-05-13T08:00:00Z') },
}

const PAGE: Parameters = {
  limit: {
    description: `Entries per page, 1 to ${LIMIT_MAX}.`,
    schema: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  },
  cursor: {
    description: 'Where to go on: next_cursor of the page before.',
    schema: { type: 'string' },
  },
}

function docs(
  operationId: string,
  summary: string,
  description: string,
  response: JsonSchema,
  query: Parameters,
): QueryDocs {
  const named = Object.entries(query)
  return {
    config: { scope: 'read:audit' },
    schema: {
      operationId,
      summary,
      description,
      tags: ['audit'],
      response: { 200: response },
      parameters: named.map(([name, rest]) => ({ name, in: 'query' as const, ...rest })),
      problems: [422],
      querystring: {
        type: 'object',
        additionalProperties: false,
        properties: Object.fromEntries(named.map(([name, { schema }]) => [name, schema])),
      },
    },
  }
}

export const listAudit = docs(
  'listAuditLogs',
  'List audit entries',
  'The audit log of the organization, newest first. An entry is there within a second of what it tells of, once it is sealed.',
  listSchema(entrySchema, 'AuditEntryList'),
  {
    ...PAGE,
    action: {
      description: 'Only these actions, separated by commas; lease.* is every action on leases.',
      schema: text('Patterns.', 'lease.*,audit.exported'),
    },
    object_id: { description: 'Only this object.', schema: text('Its id.', 'le_1042') },
    actor: { description: 'Only this key or job.', schema: text('Its id.', 'key_7') },
    request_id: { description: 'Only this request.', schema: text('Its id.', 'req_5f1c000001') },
    ...TIMES,
  },
)

export const getAudit: RouteDocs = {
  config: { scope: 'read:audit' },
  schema: {
    operationId: 'getAuditLog',
    summary: 'Get an audit entry',
    description: 'One entry of the audit log.',
    tags: ['audit'],
    response: { 200: entrySchema },
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Id of the entry.',
        schema: { type: 'string', pattern: '^aud_[0-9]+$', examples: ['aud_1200000'] },
      },
    ],
    problems: [404, 422],
  },
}

export const verifyAudit = docs(
  'verifyAuditLogs',
  'Verify the audit log',
  'Computes the hashes of the chain anew, compares each entry with the row it was made from and checks the signatures. Says that all is well, or the first position that is wrong and why. Verify long logs in ranges of positions.',
  verificationSchema,
  {
    from: {
      description: 'First position; the oldest kept when absent.',
      schema: { type: 'integer', minimum: 1 },
    },
    to: {
      description: 'Last position; the newest when absent.',
      schema: { type: 'integer', minimum: 1 },
    },
  },
)

export const checkpoints = docs(
  'listAuditCheckpoints',
  'List checkpoints',
  'Signed hashes of the chain, newest first: one per 1,000 entries, and within an hour of the last entry. Keep copies elsewhere: whoever rewrites the database cannot rewrite them.',
  listSchema(checkpointSchema, 'AuditCheckpointList'),
  PAGE,
)

export const actions = docs(
  'listAuditActions',
  'List actions',
  'Every action that the audit log can tell of, each with the JSON Schema of its entries.',
  listSchema(actionSchema, 'AuditActionList'),
  {},
)

export const exportAudit = docs(
  'exportAuditLogs',
  'Export the audit log',
  'The entries sealed between two times, oldest first, as a file that `grid audit verify` can check without a database. The form ndjson starts with a signed head; both end with checkpoints. The export is itself an entry of the log.',
  {
    type: 'string',
    description: 'The file, one entry a line.',
    'x-content-type': ['application/x-ndjson', 'text/csv'],
  },
  {
    format: {
      description: 'Form of the file; only ndjson can be verified.',
      schema: { type: 'string', enum: ['ndjson', 'csv'], default: 'ndjson' },
    },
    ...TIMES,
  },
)
