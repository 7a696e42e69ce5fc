/** Documentation of the endpoints of erasures. */
import { IDEMPOTENCY } from '../kit/parameters.ts'
import { listSchema, PAGE_PARAMETERS } from '../kit/schemas.ts'
import { BODY_PROBLEMS, idOf, route } from './docs.ts'
import { erasureSchema, text } from './schemas.ts'

export const createErasure = route(
  'erase:facts',
  'createErasure',
  'Erase what is known of objects',
  'For legal reasons, for good: claims, history, events, stored answers, rows that could not be used and values in the audit log are taken away in the background; the audit log goes on to verify and says that something was erased. Objects erased as a whole must have been deleted; attributes may be erased of living ones.',
  { 202: erasureSchema },
  {
    parameters: [IDEMPOTENCY],
    problems: [...BODY_PROBLEMS, 404],
    body: {
      title: 'ErasureCreate',
      type: 'object',
      additionalProperties: false,
      description: 'What to erase, and why.',
      properties: {
        object_ids: {
          type: 'array',
          items: text('An object.', 'pty_1042'),
          minItems: 1,
          maxItems: 100,
          description: 'The objects.',
          examples: [['pty_1042']],
        },
        attributes: {
          type: 'array',
          items: text('An attribute.', 'emails'),
          minItems: 1,
          maxItems: 100,
          description: 'What to erase of them; all when left out.',
          examples: [['emails', 'phones']],
        },
        reason: {
          ...text('Why; stays in the audit log.', 'Request of the data subject, 2026-05-12'),
          minLength: 1,
          maxLength: 1_000,
        },
        confirm: {
          type: 'string',
          const: 'erase for good',
          description: 'The words erase for good: nothing brings it back.',
        },
      },
      required: ['object_ids', 'reason', 'confirm'],
    },
  },
)

export const listErasures = route(
  'erase:facts',
  'listErasures',
  'List erasures',
  'Erasures of the organization with what each took, newest first.',
  { 200: listSchema(erasureSchema, 'ErasureList') },
  { parameters: PAGE_PARAMETERS, problems: [422] },
)

export const getErasure = route(
  'erase:facts',
  'getErasure',
  'Get an erasure',
  'How far an erasure is, and what it took.',
  { 200: erasureSchema },
  { parameters: [idOf('ers', 'erasure')], problems: [404, 422] },
)
