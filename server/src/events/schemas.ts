/** The form of every event. */
import type { JsonSchema } from '../kit/field.ts'

/** Stands in the place of the object in thin payloads, and in those that would be too large. */
export const objectLinkSchema: JsonSchema = {
  title: 'EventObjectLink',
  type: 'object',
  description: 'The object by its address.',
  properties: {
    id: { type: 'string', description: 'Its id.', examples: ['le_1042'] },
    object: { type: 'string', description: 'Its type.', examples: ['lease'] },
    url: {
      type: 'string',
      description: 'Where to read it.',
      examples: ['https://grid.example/api/v1/leases/le_1042'],
    },
  },
  required: ['id', 'object', 'url'],
}

export const eventSchema: JsonSchema = {
  title: 'Event',
  type: 'object',
  description: 'Something that happened, as the feed shows it and webhooks carry it.',
  properties: {
    id: {
      type: 'string',
      description: 'Id of the event, the same in every delivery and replay.',
      examples: ['evt_120000000'],
    },
    object: { type: 'string', const: 'event', description: 'Always event.' },
    type: {
      type: 'string',
      description: 'What happened; see GET /events/types.',
      examples: ['lease.updated'],
    },
    schema_version: {
      type: 'string',
      format: 'date',
      description: 'Date of the form of the payload. Within one version fields are only added.',
      examples: ['2026-05-12'],
    },
    created_at: {
      type: 'string',
      format: 'date-time',
      description: 'When it happened.',
      examples: ['2026-05-12T08:00:00.000Z'],
    },
    organization_id: {
      type: 'string',
      description: 'Organization whose event it is.',
      examples: ['org_1'],
    },
    environment: {
      type: 'string',
      enum: ['production', 'sandbox'],
      description: 'Whether the organization is a sandbox.',
      examples: ['production'],
    },
    seq: {
      type: ['integer', 'null'],
      description: 'Number in the feed of the organization, without gaps; null for a test.',
      examples: [4711],
    },
    resource_seq: {
      type: ['integer', 'null'],
      description:
        'Version of the object; drop what is older than what you have. 0 where there are no versions.',
      examples: [3],
    },
    actor: {
      type: 'object',
      description: 'Who did it.',
      properties: {
        type: { type: 'string', description: 'api_key, job or system.', examples: ['api_key'] },
        id: { type: ['string', 'null'], description: 'Its id.', examples: ['key_7'] },
        name: { type: 'string', description: 'Its name.', examples: ['First key'] },
      },
      required: ['type', 'id', 'name'],
    },
    request_id: {
      type: ['string', 'null'],
      description: 'The request that did it.',
      examples: ['req_5f1c000001'],
    },
    truncated: {
      type: 'boolean',
      description: 'Present and true when the object was too large for the payload.',
      examples: [true],
    },
    data: {
      type: 'object',
      description: 'What it happened to.',
      properties: {
        object: {
          type: 'object',
          additionalProperties: true,
          description: 'The object as it was then.',
          examples: [{ id: 'le_1042', object: 'lease', expiration_date: '2031-12-31' }],
        },
        previous: {
          type: 'object',
          additionalProperties: true,
          description: 'Old values of the fields that changed.',
          examples: [{ expiration_date: '2030-12-31' }],
        },
        changed: {
          type: 'array',
          items: { type: 'string' },
          description: 'Names of the fields that changed.',
          examples: [['expiration_date']],
        },
        about: {
          type: 'object',
          additionalProperties: true,
          description: 'What the event says beside the object, such as the days that are left.',
          examples: [{ date: '2030-12-31', days_left: 180 }],
        },
      },
      required: ['object'],
    },
  },
  required: [
    'id',
    'object',
    'type',
    'schema_version',
    'created_at',
    'organization_id',
    'environment',
    'seq',
    'resource_seq',
    'actor',
    'request_id',
    'data',
  ],
}
