/** Events of the platform itself: keys, webhooks, apps. */
import type { JsonSchema } from '../kit/field.ts'
import type { EventDeclaration } from '../kit/record.ts'

/** What every object has, whatever its endpoints show beside that. */
function objectSchema(name: string, prefix: string, description: string): JsonSchema {
  return {
    type: 'object',
    additionalProperties: true,
    description,
    properties: {
      id: { type: 'string', description: 'Its id.', examples: [`${prefix}_1042`] },
      object: { type: 'string', const: name, description: `Always ${name}.` },
    },
    required: ['id', 'object'],
  }
}

const key = objectSchema('api_key', 'key', 'The API key, without its secret.')
const webhook = objectSchema('webhook', 'wh', 'The webhook, without its secret.')
const app = objectSchema('app', 'app', 'The app, without its secret.')
const installation = objectSchema('app_installation', 'inst', 'The app as the organization has it.')

/** A test has no webhook when it is sent to an address that is not saved yet. */
const tested: JsonSchema = {
  type: 'object',
  additionalProperties: true,
  description: 'The webhook that is tested.',
  properties: {
    id: { type: ['string', 'null'], description: 'Its id.', examples: ['wh_1042'] },
    object: { type: 'string', const: 'webhook', description: 'Always webhook.' },
    message: { type: 'string', description: 'A greeting.', examples: ['This is a test.'] },
  },
  required: ['id', 'object'],
}

const ofKey = { object_type: 'api_key', object: key }
const ofWebhook = { object_type: 'webhook', object: webhook }
const ofApp = { object_type: 'app', object: app }
const ofInstallation = { object_type: 'app_installation', object: installation }

export const platformEvents: readonly EventDeclaration[] = [
  {
    type: 'api_key.created',
    title: 'API key created',
    description: 'Someone made a key that can use the interface.',
    ...ofKey,
  },
  {
    type: 'api_key.updated',
    title: 'API key changed',
    description: 'The name, scopes or restrictions of a key are other ones.',
    ...ofKey,
  },
  {
    type: 'api_key.rotated',
    title: 'API key rotated',
    description: 'A key got a new secret; the old one works until the overlap ends.',
    ...ofKey,
  },
  {
    type: 'api_key.revoked',
    title: 'API key revoked',
    description: 'A key was withdrawn; it is refused from now on.',
    ...ofKey,
  },
  {
    type: 'webhook.created',
    title: 'Webhook created',
    description: 'Events are sent to a new receiver.',
    ...ofWebhook,
  },
  {
    type: 'webhook.updated',
    title: 'Webhook changed',
    description: 'The settings of a webhook are other ones, or it was paused or enabled.',
    ...ofWebhook,
  },
  {
    type: 'webhook.deleted',
    title: 'Webhook deleted',
    description: 'Nothing is sent to the receiver any more.',
    ...ofWebhook,
  },
  {
    type: 'webhook.secret_rotated',
    title: 'Webhook secret rotated',
    description:
      'Deliveries are signed with a new secret; the old one is valid until the grace ends.',
    ...ofWebhook,
  },
  {
    type: 'webhook.failing',
    title: 'Webhook failing',
    description: 'A receiver has not taken any event for some time; it will be suspended.',
    ...ofWebhook,
  },
  {
    type: 'webhook.suspended',
    title: 'Webhook suspended',
    description:
      'Deliveries to a receiver are held, because it failed too long or said it is gone.',
    ...ofWebhook,
  },
  {
    type: 'webhook.test',
    title: 'Webhook test',
    description: 'Sent on request, to see that a receiver works.',
    object_type: 'webhook',
    object: tested,
  },
  {
    type: 'app.registered',
    title: 'App registered',
    description: 'An app was registered with the organization.',
    ...ofApp,
  },
  {
    type: 'app.status_changed',
    title: 'App changed its status',
    description: 'An app was submitted, approved, published or withdrawn.',
    ...ofApp,
  },
  {
    type: 'app.installed',
    title: 'App installed',
    description: 'An app was given access to the data of the organization.',
    ...ofInstallation,
  },
  {
    type: 'app.uninstalled',
    title: 'App uninstalled',
    description: 'The access of an app was taken back; its tokens are refused from now on.',
    ...ofInstallation,
  },
  {
    type: 'app.suspended',
    title: 'App suspended',
    description: 'An app may not be used for the time being.',
    ...ofInstallation,
  },
]
