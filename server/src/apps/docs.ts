/** Documentation of the endpoints of apps and installations. */
import type { JsonSchema } from '../kit/field.ts'
import { IDEMPOTENCY, IF_MATCH } from '../kit/parameters.ts'
import type { Parameter } from '../kit/parameters.ts'
import { LIMIT_DEFAULT, LIMIT_MAX } from '../kit/query.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { APP_SCOPES, APP_STATUSES, OWNER_MOVES } from './apps.ts'
import {
  app,
  CHOSEN,
  CLEARABLE,
  FIELDS,
  installation,
  registered,
  rotated,
  text,
} from './schemas.ts'

type ListDocs = RouteDocs & { schema: { querystring: JsonSchema } }

const id = (prefix: string, what: string): Parameter => ({
  name: 'id',
  in: 'path',
  required: true,
  description: `Id of the ${what}.`,
  schema: { type: 'string', pattern: `^${prefix}_[0-9]+$`, examples: [`${prefix}_1042`] },
})

const appId = id('app', 'app')

const PAGE_QUERY: Record<string, JsonSchema> = {
  limit: { type: 'integer', minimum: 1, maximum: LIMIT_MAX, default: LIMIT_DEFAULT },
  cursor: { type: 'string' },
}

function routeDocs(
  scope: RouteDocs['config']['scope'],
  schema: Omit<RouteDocs['schema'], 'tags'>,
): RouteDocs {
  return { config: { scope }, schema: { ...schema, tags: ['apps'] } }
}

export const register = routeDocs('write:apps', {
  operationId: 'registerApp',
  summary: 'Register an app',
  description:
    'In the words of RFC 7591. A private app can be installed at once; a public one begins as a draft. The secret is shown in this answer and never again.',
  body: {
    title: 'AppRegister',
    type: 'object',
    additionalProperties: false,
    description: 'What the app is.',
    properties: { ...FIELDS, ...CLEARABLE, ...CHOSEN },
    required: ['client_name', 'redirect_uris', 'scope'],
  },
  response: { 201: registered },
  parameters: [IDEMPOTENCY],
  problems: [400, 409, 413, 415, 422],
})

const status: JsonSchema = {
  type: 'string',
  enum: [...new Set(Object.values(OWNER_MOVES).flat())].filter((to) => to !== 'removed'),
  description: 'Where to move it.',
  examples: ['deprecated'],
}

export const list: ListDocs = {
  config: { scope: 'read:apps' },
  schema: {
    operationId: 'listApps',
    summary: 'List apps',
    description: 'Apps that your organization registered, newest first, without removed ones.',
    tags: ['apps'],
    response: { 200: listSchema(app, 'AppList') },
    parameters: [
      ...PAGE_PARAMETERS,
      {
        name: 'status',
        in: 'query',
        description: 'Only apps that stand there.',
        schema: { type: 'string', enum: [...APP_STATUSES] },
      },
    ],
    problems: [422],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: { ...PAGE_QUERY, status: { type: 'string', enum: [...APP_STATUSES] } },
    },
  },
}

export const get = routeDocs('read:apps', {
  operationId: 'getApp',
  summary: 'Get an app',
  description: 'An app that your organization registered.',
  response: { 200: app },
  parameters: [appId],
  problems: [404, 422],
})

export const patch = routeDocs('write:apps', {
  operationId: 'updateApp',
  summary: 'Change an app',
  description:
    'A merge patch (RFC 7396). What a public app asks for may only become less once it was submitted. With status the app is moved: rejected back to draft, approved to published, published to deprecated.',
  body: {
    title: 'AppPatch',
    type: 'object',
    additionalProperties: false,
    'x-read-only': ['id', 'object', 'client_id', 'secrets', 'version', ...Object.keys(CHOSEN)],
    description: 'The fields of an app to change.',
    properties: { ...FIELDS, ...CLEARABLE, status },
  },
  response: { 200: app },
  parameters: [appId, IF_MATCH],
  problems: [400, 404, 412, 413, 415, 422],
})

export const remove = routeDocs('write:apps', {
  operationId: 'removeApp',
  summary: 'Remove an app',
  description:
    'Uninstalls it everywhere, and ends its tokens and secrets at once. A published app is deprecated first, so that those who use it are warned.',
  response: { 204: { type: 'null', description: 'Removed.' } },
  parameters: [appId],
  problems: [404, 422],
})

export const rotate = routeDocs('write:apps', {
  operationId: 'rotateAppSecret',
  summary: 'Replace the secret of an app',
  description:
    'The secret before stays good for overlap_hours; two are good at once at most. With 0 every secret before ends now, which is what a leaked one asks for.',
  body: {
    title: 'AppRotateSecret',
    type: 'object',
    additionalProperties: false,
    description: 'How long the secret before stays good.',
    properties: {
      overlap_hours: {
        type: 'integer',
        minimum: 0,
        maximum: 168,
        default: 24,
        description: 'In hours, up to a week; 24 unless given.',
        examples: [24],
      },
    },
  },
  response: { 200: rotated },
  parameters: [appId, IDEMPOTENCY],
  problems: [400, 404, 409, 413, 415, 422],
})

export const submit = routeDocs('write:apps', {
  operationId: 'submitApp',
  summary: 'Submit an app for review',
  description: 'Asks the operator to review a public app, so that it can be published.',
  response: { 200: app },
  parameters: [appId],
  problems: [404, 422],
})

export const listInstalled: ListDocs = {
  config: { scope: 'read:apps' },
  schema: {
    operationId: 'listAppInstallations',
    summary: 'List installed apps',
    description: 'Apps that may act in your organization, newest first.',
    tags: ['apps'],
    response: { 200: listSchema(installation, 'AppInstallationList') },
    parameters: [
      ...PAGE_PARAMETERS,
      {
        name: 'client_id',
        in: 'query',
        description: 'Only this app.',
        schema: { type: 'string', examples: ['app_1042'] },
      },
    ],
    problems: [422],
    querystring: {
      type: 'object',
      additionalProperties: false,
      properties: { ...PAGE_QUERY, client_id: { type: 'string', pattern: '^app_[0-9]+$' } },
    },
  },
}

export const install = routeDocs('admin:keys', {
  operationId: 'installApp',
  summary: 'Install an app',
  description:
    'Consent by API: the app may act in your organization within these scopes. Your key must hold them itself. The app gets its tokens with client_credentials, or with a code after a person went to the consent page.',
  body: {
    title: 'AppInstall',
    type: 'object',
    additionalProperties: false,
    description: 'Which app, and what it may do.',
    properties: {
      client_id: text('The app.', 'app_1042', { maxLength: 40 }),
      scopes: {
        type: 'array',
        minItems: 1,
        uniqueItems: true,
        items: { type: 'string', enum: [...APP_SCOPES] },
        description: 'What of the scopes it asks for you allow.',
        examples: [['read:leases']],
      },
    },
    required: ['client_id', 'scopes'],
  },
  response: { 201: installation },
  parameters: [IDEMPOTENCY],
  problems: [400, 409, 413, 415, 422],
})

export const getInstalled = routeDocs('read:apps', {
  operationId: 'getAppInstallation',
  summary: 'Get an installed app',
  description: 'An app that may act in your organization.',
  response: { 200: installation },
  parameters: [id('inst', 'installation')],
  problems: [404, 422],
})

export const uninstall = routeDocs('admin:keys', {
  operationId: 'uninstallApp',
  summary: 'Uninstall an app',
  description: 'Ends all tokens of the app in your organization; they are refused within a second.',
  response: { 204: { type: 'null', description: 'Uninstalled.' } },
  parameters: [id('inst', 'installation')],
  problems: [404, 422],
})
