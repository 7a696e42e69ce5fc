/** Documentation of the endpoints for sandboxes of an organization. */
import type { JsonSchema } from '../kit/field.ts'
import { IDEMPOTENCY } from '../kit/parameters.ts'
import { ALL_SCOPES } from '../kit/scopes.ts'
import { listSchema, PAGE_PARAMETERS, rowSchema } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { organization } from '../organizations/resource.ts'
import { PAGE_QUERY } from './docs.ts'
import { PROMOTABLE } from './promotable.ts'
import { ACTIONS } from './promotion.ts'

const row = rowSchema(organization)

const created: JsonSchema = {
  ...row,
  title: 'SandboxCreated',
  description: 'The organization of a new sandbox, with its key.',
  properties: {
    ...(row['properties'] as Record<string, JsonSchema>),
    api_key: {
      type: 'object',
      description: 'The key of the sandbox; its text is shown this once.',
      properties: {
        id: { type: 'string', description: 'Id of the key.', examples: ['key_1043'] },
        name: { type: 'string', description: 'Its name.', examples: ['Lease imports key'] },
        scopes: {
          type: 'array',
          items: { type: 'string' },
          description: 'What it may do.',
          examples: [['read:leases']],
        },
        key: {
          type: ['string', 'null'],
          description: 'The text to send in X-API-Key; null in the answer to a repeat.',
        },
        key_shown: { type: 'boolean', description: 'Whether key holds it.', examples: [true] },
      },
      required: ['id', 'name', 'scopes', 'key', 'key_shown'],
    },
  },
}

export const listSandboxes: RouteDocs & { schema: { querystring: JsonSchema } } = {
  config: { scope: 'read:organizations' },
  schema: {
    operationId: 'listSandboxes',
    summary: 'List sandboxes',
    description: 'The sandboxes of the organization, oldest first.',
    tags: ['sandbox'],
    parameters: PAGE_PARAMETERS,
    querystring: PAGE_QUERY,
    response: { 200: listSchema(row, 'SandboxList') },
    problems: [422],
  },
}

export const createSandbox: RouteDocs = {
  config: { scope: 'write:sandbox' },
  schema: {
    operationId: 'createSandbox',
    summary: 'Create a sandbox',
    description:
      'A sandbox of the organization, with its currency, units and time zone, and a key that holds no more scopes than the one that calls. The community plan has 1, professional 5, enterprise 20. Live keys only.',
    tags: ['sandbox'],
    body: {
      title: 'SandboxCreate',
      type: 'object',
      description: 'A new sandbox.',
      additionalProperties: false,
      properties: {
        name: {
          type: 'string',
          minLength: 1,
          maxLength: 190,
          description: 'What it is for.',
          examples: ['Lease imports'],
        },
        slug: {
          type: 'string',
          pattern: '^[a-z0-9]+(-[a-z0-9]+)*$',
          maxLength: 63,
          description: 'Short name; made of the name when left out.',
          examples: ['lease-imports'],
        },
        scopes: {
          type: 'array',
          items: { type: 'string', enum: ALL_SCOPES },
          minItems: 1,
          uniqueItems: true,
          description: 'Scopes of its key; those of the calling key when left out.',
          examples: [['read:leases', 'write:leases', 'write:sandbox']],
        },
      },
      required: ['name'],
    },
    response: { 201: created },
    parameters: [IDEMPOTENCY],
    problems: [400, 403, 409, 413, 415, 422],
  },
}

export const deleteSandbox: RouteDocs = {
  config: { scope: 'write:sandbox' },
  schema: {
    operationId: 'deleteSandbox',
    summary: 'Delete a sandbox',
    description:
      'Its keys stop working at once; what it holds is removed in the background. Live keys only.',
    tags: ['sandbox'],
    parameters: [
      {
        name: 'id',
        in: 'path',
        required: true,
        description: 'Id of the sandbox.',
        schema: { type: 'string', pattern: '^org_[0-9]+$', examples: ['org_1042'] },
      },
    ],
    response: { 204: { type: 'null', description: 'Deleted.' } },
    problems: [403, 404, 409, 422],
  },
}

const settings = (description: string): JsonSchema => ({
  type: ['object', 'null'],
  additionalProperties: true,
  description,
})

const promotion: JsonSchema = {
  title: 'Promotion',
  type: 'object',
  description: 'What a sandbox has that its organization has not, or has otherwise.',
  properties: {
    object: { type: 'string', const: 'promotion', description: 'Always promotion.' },
    sandbox: { type: 'string', description: 'The sandbox.', examples: ['org_1042'] },
    applied: { type: 'boolean', description: 'Whether it was applied.', examples: [false] },
    hash: { type: 'string', description: 'Names this very difference; applying asks for it.' },
    counts: {
      type: 'object',
      description: 'How many settings by action.',
      properties: Object.fromEntries(
        ACTIONS.map((action) => [
          action,
          { type: 'integer', description: `Settings with the action ${action}.`, examples: [1] },
        ]),
      ),
    },
    changes: {
      type: 'array',
      description: 'Every setting of the sandbox, by kind and key.',
      items: {
        type: 'object',
        description: 'One setting.',
        properties: {
          kind: { type: 'string', description: 'Its kind.', examples: ['webhooks'] },
          key: {
            type: 'string',
            description:
              'What tells it from others: of a field its type and name, of an adapter its name, of a webhook its address.',
            examples: ['https://hooks.example.com/grid'],
          },
          action: { type: 'string', enum: [...ACTIONS], description: 'What applying does.' },
          before: settings('As the organization has it; null when it has none.'),
          after: settings('As the sandbox has it.'),
          changed: {
            type: 'array',
            items: { type: 'string' },
            description: 'Names of what differs.',
            examples: [['events']],
          },
          reason: { type: ['string', 'null'], description: 'Why it is skipped.' },
        },
        required: ['kind', 'key', 'action', 'before', 'after', 'changed', 'reason'],
      },
    },
    created: {
      type: 'array',
      items: { type: 'object', additionalProperties: true },
      description: 'What was created and is shown this once: the secret of each new webhook.',
    },
  },
  required: ['object', 'sandbox', 'applied', 'hash', 'counts', 'changes', 'created'],
}

export const promote: RouteDocs = {
  config: { scope: 'write:sandbox' },
  schema: {
    operationId: 'promoteSandbox',
    summary: 'Take settings live',
    description:
      'Compares settings of a sandbox with those of the organization it belongs to and, without dry_run and with the hash of that difference, applies them in one transaction. Nothing is deleted. Called with a live key, which also needs the scope to write each kind.',
    tags: ['sandbox'],
    body: {
      title: 'SandboxPromote',
      type: 'object',
      description: 'What to take live.',
      additionalProperties: false,
      properties: {
        sandbox: {
          type: 'string',
          pattern: '^org_[0-9]+$',
          description: 'The sandbox to take from.',
          examples: ['org_1042'],
        },
        kinds: {
          type: 'array',
          items: { type: 'string', enum: PROMOTABLE.map(({ kind }) => kind) },
          minItems: 1,
          uniqueItems: true,
          description: 'Kinds of settings; all when left out.',
          examples: [['webhooks']],
        },
        dry_run: {
          type: 'boolean',
          description: 'Only compare; true when left out.',
          examples: [true],
        },
        hash: {
          type: 'string',
          description: 'The hash of the difference that was seen; needed unless dry_run.',
        },
      },
      required: ['sandbox'],
    },
    response: { 200: promotion },
    parameters: [IDEMPOTENCY],
    problems: [400, 403, 409, 413, 415, 422],
  },
}
