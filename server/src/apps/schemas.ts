/** Apps and installations as JSON Schemas. */
import { nullable } from '../kit/field.ts'
import type { JsonSchema } from '../kit/field.ts'
import { APP_STATUSES, AUTH_METHODS, GRANT_TYPES } from './apps.ts'

export const text = (description: string, example: string, more: JsonSchema = {}): JsonSchema => ({
  type: 'string',
  ...more,
  description,
  examples: [example],
})

const time = (description: string): JsonSchema => ({
  type: 'string',
  format: 'date-time',
  description,
})

/** What an app says of itself. */
export const FIELDS: Record<string, JsonSchema> = {
  client_name: text('Name that people see.', 'Rent Roll Studio', { minLength: 1, maxLength: 120 }),
  description: text('What it does, in a sentence.', 'Draws rent rolls.', { maxLength: 500 }),
  homepage_url: text('Where people read more.', 'https://app.example.com', { maxLength: 2_048 }),
  redirect_uris: {
    type: 'array',
    maxItems: 20,
    uniqueItems: true,
    items: { type: 'string', maxLength: 2_048 },
    description:
      'Where people may be sent with a code, compared as text: https, http on the same machine, or a scheme such as com.example.app.',
    examples: [['https://app.example.com/oauth/done']],
  },
  scope: text('Scopes it may ask for, separated by spaces.', 'read:leases read:parties', {
    maxLength: 2_000,
  }),
  webhook: {
    type: 'object',
    additionalProperties: false,
    description:
      'Where it wants to hear of events in organizations that install it from now on. Each gets a webhook of its own, for the events that the consent lets the app read.',
    properties: {
      url: text('Address.', 'https://app.example.com/hooks/grid', { maxLength: 2_048 }),
      events: {
        type: 'array',
        minItems: 1,
        maxItems: 50,
        uniqueItems: true,
        items: { type: 'string', pattern: '^(\\*|[a-z_]+(\\.[a-z_]+)*(\\.\\*)?)$', maxLength: 100 },
        description: 'Types of events, with `*` for all of a kind.',
        examples: [['lease.*', 'party.updated']],
      },
    },
    required: ['url', 'events'],
  },
}

const optional = (...names: string[]): Record<string, JsonSchema> =>
  Object.fromEntries(names.map((name) => [name, nullable(FIELDS[name] as JsonSchema)]))

export const CLEARABLE = optional('description', 'homepage_url', 'webhook')

/** What is chosen once. */
export const CHOSEN: Record<string, JsonSchema> = {
  grant_types: {
    type: 'array',
    minItems: 1,
    uniqueItems: true,
    items: { type: 'string', enum: [...GRANT_TYPES] },
    description: 'How it gets tokens; authorization_code and refresh_token unless given.',
    examples: [['authorization_code', 'refresh_token']],
  },
  token_endpoint_auth_method: {
    type: 'string',
    enum: [...AUTH_METHODS],
    description: 'How it proves itself: none is for apps that cannot keep a secret.',
    examples: ['client_secret_basic'],
  },
  visibility: {
    type: 'string',
    enum: ['private', 'public'],
    description:
      'private: for the organizations of its owner, without a review. public: for everyone, once reviewed and published.',
    examples: ['private'],
  },
}

const secretsShown: JsonSchema = {
  type: 'array',
  description: 'Its secrets, by their last characters.',
  items: {
    type: 'object',
    description: 'A secret.',
    properties: {
      hint: text('Its end.', '…x9Qz'),
      created_at: time('When it was made.'),
      expires_at: nullable(time('When it ends; null for the present one.')),
    },
  },
}

const APP: Record<string, JsonSchema> = {
  id: text('Id of the app.', 'app_1042'),
  object: { type: 'string', const: 'app', description: 'Always app.' },
  organization_id: text('Who registered it.', 'org_1'),
  client_id: text('The same id, as OAuth calls it.', 'app_1042'),
  ...FIELDS,
  ...CLEARABLE,
  ...CHOSEN,
  status: {
    type: 'string',
    enum: [...APP_STATUSES],
    description: 'Where it stands. Tokens of a suspended app do not work.',
    examples: ['published'],
  },
  status_reason: nullable(text('What the operator said of it.', 'The description is missing.')),
  secrets: secretsShown,
  version: { type: 'integer', description: 'Counts its changes.', examples: [1] },
  created_at: time('When it was registered.'),
  updated_at: time('When it was last changed.'),
}

export const app: JsonSchema = {
  title: 'App',
  type: 'object',
  description: 'An app that your organization registered.',
  properties: APP,
  required: Object.keys(APP),
}

const CLIENT_SECRET = text('Its secret. It is shown this once.', 'grid_app_...')

const SECRET_SHOWN: JsonSchema = {
  type: 'boolean',
  description: 'Whether client_secret is part of this answer.',
  examples: [true],
}

/** RFC 7591 3.2.1, beside the fields of the app. */
export const registered: JsonSchema = {
  title: 'AppRegistration',
  type: 'object',
  description: 'The app, with its secret.',
  properties: {
    ...APP,
    client_secret: {
      ...CLIENT_SECRET,
      description: `${String(CLIENT_SECRET['description'])} Absent for an app without one and in a repeated answer.`,
    },
    client_id_issued_at: {
      type: 'integer',
      description: 'When it was registered, in seconds.',
      examples: [1795232892],
    },
    client_secret_expires_at: {
      type: 'integer',
      const: 0,
      description: 'Always 0: the secret does not end by itself.',
    },
    secret_shown: SECRET_SHOWN,
  },
  required: [...Object.keys(APP), 'client_id_issued_at', 'secret_shown'],
}

export const rotated: JsonSchema = {
  title: 'AppSecret',
  type: 'object',
  description: 'The app, with its new secret.',
  properties: { ...APP, client_secret: CLIENT_SECRET, secret_shown: SECRET_SHOWN },
  required: [...Object.keys(APP), 'secret_shown'],
}

const INSTALLATION: Record<string, JsonSchema> = {
  id: text('Id of the installation.', 'inst_1043'),
  object: { type: 'string', const: 'app_installation', description: 'Always app_installation.' },
  organization_id: text('Where it is installed.', 'org_1'),
  client_id: text('The app.', 'app_1042'),
  client_name: text('Its name when it was installed.', 'Rent Roll Studio'),
  scope: text('What it may do here, as far as app and plan allow it.', 'read:leases'),
  installed_by: text('Name of the key that consented.', 'First key'),
  webhook_id: nullable(
    text('The webhook that sends events to the app, if it wants any.', 'wh_1045'),
  ),
  created_at: time('When it was installed.'),
  updated_at: time('When more was last consented to.'),
}

export const installation: JsonSchema = {
  title: 'AppInstallation',
  type: 'object',
  description: 'An app that your organization allowed to act in it.',
  properties: INSTALLATION,
  required: Object.keys(INSTALLATION),
}
