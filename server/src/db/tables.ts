/**
 * Every table and what kind it is, which decides where it may live when one machine is not enough, and how it is
 * guarded. `test/catalog.test.ts` holds the live database against this list.
 */

/** Rows of organizations: `org_id` comes first in every key, row-level security is forced, distributed by `org_id`. */
export const ORG_TABLES = [
  'organization',
  'party',
  'contact',
  'property',
  'building',
  'floor',
  'space',
  'lease',
  'document',
  'work_order',
  'tx',
  'source',
  'assertion',
  'source_record',
  'source_blank',
  'stream_run',
  'external_key',
  'idempotency',
  'event',
  'audit_entry',
  'request_log',
  'job_chunk',
  'job_error',
  'webhook',
  'webhook_health',
  'delivery',
  'delivery_log',
  'delivery_body',
  'replay',
  'inbox',
  'inbox_request',
  'agenda',
  'agenda_scan',
] as const

/** Small, rarely written, the same for all organizations: copied to every node. */
export const REFERENCE_TABLES = [] as const

/** Tables that stay on one node, each with the reason. Those that name an organization have row-level security too. */
export const CONTROL_TABLES: Readonly<Record<string, string>> = {
  schema_migration: 'belongs to the database itself',
  app_secret: 'secrets of the installation, shared by all processes',
  api_key: 'found by its hash before the organization of a request is known',
  job: 'claimed by any worker, whatever the organization',
}

/** Indexes of organizations' tables that do not begin with `org_id`, each with the reason. */
export const CROSSING_INDEXES: Readonly<Record<string, string>> = {
  organization_parent_idx: 'finds the sandboxes and children of an organization',
  inbox_token_idx: 'finds the inbox of a request that has no key',
  idempotency_at_idx: 'stored answers are forgotten by age, over all organizations',
}

/** Functions that run with their owner's rights. Nothing else crosses organizations. */
export const DEFINER_FUNCTIONS: Readonly<
  Record<string, { owner: 'system' | 'owner'; why: string }>
> = {
  find_key: { owner: 'system', why: 'finds who calls, before the organization is known' },
  touch_keys: {
    owner: 'system',
    why: 'notes when keys were last used, for a batch of all organizations',
  },
  place_transactions: { owner: 'system', why: 'numbers events of every organization' },
  write_request_log: { owner: 'system', why: 'writes a batch of all organizations' },
  forget_answers: { owner: 'system', why: 'deletes old answers of every organization' },
  job_states: { owner: 'system', why: 'counts jobs of every organization for the operator' },
  claim_job: { owner: 'system', why: 'takes the oldest job of any organization' },
  fan_out: { owner: 'system', why: 'makes deliveries for the webhooks of every organization' },
  claim_deliveries: { owner: 'system', why: 'hands a worker due deliveries of any organization' },
  complete_deliveries: { owner: 'system', why: 'writes a batch of results of all organizations' },
  recover_deliveries: { owner: 'system', why: 'takes deliveries back from workers that are gone' },
  failing_webhooks: { owner: 'system', why: 'finds webhooks of any organization that fail' },
  open_replays: { owner: 'system', why: 'finds replays of any organization to go on with' },
  find_inbox: { owner: 'system', why: 'finds whose inbox a request without a key is for' },
  secrets_sealed_otherwise: { owner: 'system', why: 'finds secrets that an old master key sealed' },
  organizations_due: {
    owner: 'system',
    why: 'finds the organizations in which something happens by itself',
  },
  ensure_partitions: { owner: 'owner', why: 'creates tables, which only their owner may' },
}
