import { inEach, notBefore } from '../kit/checks.ts'
import {
  choice,
  date,
  datetime,
  flag,
  integer,
  list,
  longText,
  percent,
  reference,
  text,
  texts,
} from '../kit/field.ts'
import type { Fields } from '../kit/field.ts'
import type { Issue } from '../kit/errors.ts'
import { defineResource } from '../kit/resource.ts'
import type { RowOf } from '../kit/resource.ts'
import { actor, statusHistory } from '../kit/vocabulary.ts'
import type { ItemOf } from '../kit/vocabulary.ts'

const STATUSES = [
  'pending_upload',
  'processing',
  'available',
  'needs_review',
  'archived',
  'quarantined',
  'failed',
  'deleted',
] as const

const DOCUMENT_TYPES = [
  'lease',
  'amendment',
  'estoppel',
  'snda',
  'commencement_letter',
  'guaranty',
  'letter_of_credit',
  'coi',
  'floor_plan',
  'rent_roll',
  'operating_statement',
  'invoice',
  'work_order_photo',
  'inspection',
  'appraisal',
  'survey',
  'title',
  'permit',
  'warranty',
  'contract',
  'correspondence',
  'other',
] as const

/** What a document can be linked to, with the prefix that its ids have. */
const LINKED = {
  organization: 'org',
  party: 'pty',
  contact: 'con',
  property: 'prop',
  building: 'bld',
  floor: 'flr',
  space: 'spc',
  lease: 'le',
  work_order: 'wo',
} as const

type Linked = keyof typeof LINKED

const readOnly = true

const versionFields = {
  id: text('The id of the version.', { example: 'ver_9001', required: true }),
  number: integer('The number of the version, counted from 1.', { example: 1, min: 1 }),
  sha256: text('The SHA-256 checksum of the file, in hexadecimal.', {
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    max: 64,
  }),
  byte_size: integer('The size of the file in bytes.', { example: 482_113, min: 0 }),
  content_type: text('The media type of the file.', { example: 'application/pdf', max: 127 }),
  filename: text('The name of the file as it was uploaded.', {
    example: 'harrow-pine-lease.pdf',
    max: 255,
  }),
  uploaded_at: datetime('The moment the file was stored, in UTC.', {
    example: '2026-02-11T16:20:00.000Z',
  }),
  uploaded_by: actor('Who or what uploaded the file.'),
  note: text('What changed in this version.', { example: 'Countersigned copy', max: 2_000 }),
} satisfies Fields

const linkFields = {
  object_type: choice(Object.keys(LINKED) as [Linked, ...Linked[]], 'The type of that object.', {
    example: 'lease',
    required: true,
  }),
  object_id: text('The id of the object that the document belongs to.', {
    example: 'le_4001',
    pattern: '^[a-z]+_[0-9]{1,18}$',
    required: true,
  }),
  role: choice(
    ['source', 'evidence', 'attachment'],
    'As what it belongs there: source of its values, evidence for them, or attachment.',
    { example: 'source' },
  ),
} satisfies Fields

const extractionFields = {
  field: text('The field that the value was found for.', { example: 'expiration_date' }),
  value: text('The value as it was understood.', { example: '2029-08-31', max: 2_000 }),
  page: integer('The page on which the value stands, counted from 1.', { example: 3, min: 1 }),
  quote: longText('The words of the document that the value was read from.', {
    example: 'The Term shall expire on August 31, 2029.',
  }),
  confidence_pct: percent('How sure the reading is.', { example: 97.5, min: 0, max: 100 }),
  status: choice(
    ['proposed', 'accepted', 'rejected', 'superseded'],
    'Whether the value was taken over, and if not, why.',
    { example: 'proposed' },
  ),
} satisfies Fields

const fileFields = {
  filename: text('The name of the file as it was uploaded.', {
    example: 'harrow-pine-lease.pdf',
    max: 255,
    search: true,
    readOnly,
  }),
  content_type: text('The media type of the file.', {
    example: 'application/pdf',
    max: 127,
    readOnly,
  }),
  byte_size: integer('The size of the file in bytes.', { example: 482_113, min: 0, readOnly }),
  sha256: text('The SHA-256 checksum of the file, in hexadecimal, to prove it is unchanged.', {
    example: '9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08',
    max: 64,
    readOnly,
  }),
  page_count: integer('The number of pages, where the file has pages.', {
    example: 42,
    min: 0,
    readOnly,
  }),
  version_number: integer('The number of the file version that is current, counted from 1.', {
    example: 1,
    min: 1,
    readOnly,
  }),
  current_version_id: text('The id of the file version that is current.', {
    example: 'ver_9001',
    readOnly,
  }),
  versions: list(versionFields, 'Every version of the file that was uploaded, oldest first.', {
    example: [{ id: 'ver_9001', number: 1, byte_size: 482_113, note: null }],
    initial: [],
    readOnly,
  }),
  content_url: text('The path at which the file can be read; null until one is stored.', {
    example: '/api/v1/documents/doc_5001/content',
    readOnly,
  }),
  text_status: choice(
    ['pending', 'extracted', 'no_text', 'failed'],
    'Whether the text of the file could be read out.',
    { example: 'extracted', readOnly },
  ),
  ocr_language: text('The BCP 47 tag of the language in which a scan was read.', {
    example: 'en',
    max: 35,
    readOnly,
  }),
  extractions: list(extractionFields, 'Values that were found in the text, with their place.', {
    example: [
      {
        field: 'expiration_date',
        value: '2029-08-31',
        page: 3,
        confidence_pct: 97.5,
        status: 'proposed',
      },
    ],
    readOnly,
  }),
} satisfies Fields

const fields = {
  title: text('What the document is, in a few words.', {
    example: 'Office lease, Harrow & Pine, suite 1200',
    required: true,
    search: true,
  }),
  document_type: choice(DOCUMENT_TYPES, 'The kind of the document.', {
    example: 'lease',
    required: true,
  }),
  status: choice(STATUSES, 'Where the document stands between upload and use.', {
    example: 'available',
    initial: 'pending_upload',
    readOnly,
  }),
  status_history: statusHistory(STATUSES),
  ...fileFields,
  links: list(linkFields, 'The objects that the document belongs to; there can be several.', {
    example: [{ object_type: 'lease', object_id: 'le_4001', role: 'source' }],
    initial: [],
  }),
  linked_to: texts(
    'The ids of those objects; find their documents with linked_to[contains]=le_1042.',
    {
      example: ['le_4001'],
      initial: [],
      readOnly,
    },
  ),
  effective_date: date('The day from which the document takes effect.', { example: '2022-09-01' }),
  expires_date: date('The last day on which the document is valid.', { example: '2029-08-31' }),
  signed_date: date('The day on which the last party signed.', { example: '2022-06-17' }),
  counterparty_party_id: reference('party', 'pty', 'The other side of the document.', {
    example: 'pty_2001',
  }),
  confidentiality: choice(
    ['public', 'internal', 'confidential', 'privileged'],
    'Who may see the document, from everyone to counsel only.',
    { example: 'confidential', initial: 'internal' },
  ),
  retention_until_date: date('The day up to which the document has to be kept.', {
    example: '2036-08-31',
  }),
  legal_hold: flag('Whether the document must not be deleted because of a legal matter.', {
    example: false,
  }),
  redacted_of_document_id: reference(
    'document',
    'doc',
    'The full document of which this one is a blacked-out copy.',
    { example: 'doc_5000' },
  ),
} satisfies Fields

type DocumentRow = RowOf<typeof fields>

function checkDocument(row: DocumentRow): Issue[] {
  const links = (row.links ?? []) as ItemOf<typeof linkFields>[]
  return [
    ...notBefore(row, 'effective_date', 'expires_date', 'before_effective'),
    ...inEach(links, 'links', checkLink),
    ...checkHold(row),
  ]
}

function checkLink(link: ItemOf<typeof linkFields>, at: string): Issue[] {
  const { object_type: type, object_id: id } = link
  if (!type || !id || id.startsWith(`${LINKED[type]}_`)) return []
  const message = `'${id}' is not the id of a ${type}; those look like ${LINKED[type]}_1042`
  return [{ field: `${at}object_id`, code: 'wrong_type', message }]
}

function checkHold(row: DocumentRow): Issue[] {
  if (!row.legal_hold || (row.status !== 'deleted' && !row.deleted_at)) return []
  const message = 'the document is under legal hold and cannot be deleted'
  return [{ field: 'legal_hold', code: 'legal_hold', message }]
}

export const document = defineResource({
  name: 'document',
  path: 'documents',
  prefix: 'doc',
  title: 'Document',
  description: 'A file with its versions, its validity and the objects it belongs to.',
  fields,
  lifecycle: {
    field: 'status',
    initial: 'pending_upload',
    transitions: {
      // Available at once while nothing has to be read out of the file first.
      pending_upload: ['processing', 'available', 'deleted'],
      processing: ['available', 'needs_review', 'failed', 'quarantined', 'deleted'],
      needs_review: ['available', 'deleted'],
      available: ['archived', 'deleted'],
      archived: ['available', 'deleted'],
      quarantined: ['deleted'],
      failed: ['deleted'],
      deleted: [],
    },
  },
  meanings: {
    available: {
      title: 'Document available',
      description: 'The file is stored and can be read.',
      when: (row, before) => row.status === 'available' && before?.status !== 'available',
    },
  },
  check: checkDocument,
  derive: (row) => ({
    content_url: row.version_number ? `/api/v1/documents/${row.id}/content` : null,
    linked_to: ((row.links ?? []) as ItemOf<typeof linkFields>[]).flatMap((l) => l.object_id ?? []),
  }),
})
