/** The groups of the interface, in the order in which the reference shows them. */
import type { Tag } from './http/openapi-document.ts'

export const tags: readonly Tag[] = [
  {
    name: 'organizations',
    description:
      'Who owns keys and data: your organization, its child organizations and sandboxes.',
  },
  {
    name: 'parties',
    description: 'Companies and people: tenants, owners, vendors, guarantors, lenders.',
  },
  { name: 'contacts', description: 'The people to call at a party.' },
  { name: 'properties', description: 'Sites and assets, each with one or more buildings.' },
  { name: 'buildings', description: 'Buildings of a property.' },
  { name: 'floors', description: 'Floors of a building.' },
  { name: 'spaces', description: 'Suites, shops, desks, bays: what can be leased.' },
  {
    name: 'leases',
    description: 'Leases with their rent schedule, options, recoveries, premises and dates.',
  },
  { name: 'documents', description: 'Files of any object, with all their versions.' },
  { name: 'work_orders', description: 'Requests and jobs of maintenance, from request to close.' },
  {
    name: 'grid/v2',
    description:
      'The second-generation model: the same objects with the facts, sources and history behind each value.',
  },
  {
    name: 'query',
    description: 'Ask across types, facts and the schema: as a document, saved, or as SQL.',
  },
  {
    name: 'schema',
    description:
      'Fields of your own: asked for in a sentence, previewed, approved, deployed, taken back.',
  },
  {
    name: 'truth',
    description:
      'Where sources disagree: how they rank, the rules that choose, pins, conflicts, and facts stated by hand.',
  },
  {
    name: 'identity',
    description: 'Which objects are one: merges, the review queue, and pairs that stay two.',
  },
  { name: 'changes', description: 'Everything that was created, changed or deleted, in order.' },
  {
    name: 'events',
    description: 'What happened, in order: the feed behind webhooks, and the catalogue of types.',
  },
  {
    name: 'adapters',
    description:
      'Documents that say how a file is read: kept in versions, proposed from a sample, tried on its rows, made live.',
  },
  {
    name: 'sdis',
    description: 'Load workbooks and CSV files through an adapter document.',
  },
  {
    name: 'webhooks',
    description: 'Be told of events by HTTP: signed, retried, replayed.',
  },
  {
    name: 'api-keys',
    description:
      'Keys of the organization: what each may do, from where, for which properties and how long.',
  },
  { name: 'plans', description: 'Limits and scopes by plan.' },
  {
    name: 'logs',
    description: 'What was asked of the interface, with which key and how it ended.',
  },
  {
    name: 'audit',
    description:
      'Who did what: a log that shows when it was tampered with, to read, verify and export.',
  },
  { name: 'usage', description: 'What the organization used, and what its plan allows.' },
  {
    name: 'exports',
    description: 'Lists of any length as files: CSV, NDJSON, XLSX, Parquet.',
  },
  {
    name: 'sandbox',
    description:
      'Organizations to try things out in: empty and fill them, move their clocks, take their settings live.',
  },
  {
    name: 'apps',
    description: 'Register apps, install those of others, and end what they may do.',
  },
  {
    name: 'oauth',
    description: 'How an app gets tokens for an organization that consented: OAuth 2.1.',
  },
]
