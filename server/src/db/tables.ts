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
  'audit_seal',
  'audit_checkpoint',
  'audit_head',
  'audit_due',
  'request_log',
  'usage_request',
  'usage_meter',
  'job_chunk',
  'job_error',
  'agenda',
  'agenda_scan',
  'app_installation',
  'webhook',
  'webhook_health',
  'delivery',
  'delivery_log',
  'delivery_body',
  'replay',
  'inbox',
  'inbox_request',
  'object_merge',
  'cluster_member',
  'do_not_link',
  'match_candidate',
  'match_run',
  'reference_move',
] as const

/** Small, rarely written, the same for all organizations: copied to every node. */
export const REFERENCE_TABLES = [] as const

/** Tables that stay on one node, each with the reason. Those that name an organization have row-level security too. */
export const CONTROL_TABLES: Readonly<Record<string, string>> = {
  schema_migration: 'belongs to the database itself',
  app_secret: 'secrets of the installation, shared by all processes',
  log_table: 'says how the partitions of the logs are made, whatever the organization',
  api_key: 'found by its hash before the organization of a request is known',
  quota: 'counted by every process for keys and organizations alike, and not kept',
  job: 'claimed by any worker, whatever the organization',
  app_registration: 'found by its client id, whichever organization installs it',
  app_grant: 'found by its hash before the organization of a client is known',
}

/** Indexes of organizations' tables that do not begin with `org_id`, each with the reason. */
export const CROSSING_INDEXES: Readonly<Record<string, string>> = {
  organization_parent_idx: 'finds the sandboxes and children of an organization',
  app_installation_app_idx: 'finds where an app is installed',
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
  take_quota: { owner: 'system', why: 'counts requests of keys and organizations' },
  forget_quotas: { owner: 'system', why: 'deletes old counts of every organization' },
  place_transactions: { owner: 'system', why: 'numbers events of every organization' },
  audits_due: { owner: 'system', why: 'finds what is to be sealed in any organization' },
  take_audit: {
    owner: 'system',
    why: 'the chain of an organization is written by the sealer alone',
  },
  seal_audit: {
    owner: 'system',
    why: 'the chain of an organization is written by the sealer alone',
  },
  count_usage: { owner: 'system', why: 'counts a batch of all organizations' },
  write_request_log: { owner: 'system', why: 'writes a batch of all organizations' },
  forget_answers: { owner: 'system', why: 'deletes old answers of every organization' },
  job_states: { owner: 'system', why: 'counts jobs of every organization for the operator' },
  claim_job: { owner: 'system', why: 'takes the oldest job of any organization' },
  organizations_due: {
    owner: 'system',
    why: 'finds the organizations in which something happens by itself',
  },
  drop_partitions: { owner: 'owner', why: 'drops tables, which only their owner may' },
  events_needed_since: {
    owner: 'system',
    why: 'knows what webhooks of every organization still need',
  },
  find_app: { owner: 'system', why: 'finds an app that another organization registered' },
  hold_app: { owner: 'system', why: 'the same, unchanged until the transaction ends' },
  apps_in: { owner: 'system', why: 'lists apps of every organization for the operator' },
  installations_of_app: { owner: 'system', why: 'finds who is told that an app was suspended' },
  revoke_app_tokens: { owner: 'system', why: 'ends the tokens of an app wherever it is installed' },
  find_grant: {
    owner: 'system',
    why: 'finds a code or refresh token before its organization is known',
  },
  find_token: { owner: 'system', why: 'finds an access token before its organization is known' },
  forget_tokens: { owner: 'system', why: 'deletes what ended in every organization' },
  fan_out: { owner: 'system', why: 'makes deliveries for the webhooks of every organization' },
  claim_deliveries: { owner: 'system', why: 'hands a worker due deliveries of any organization' },
  complete_deliveries: { owner: 'system', why: 'writes a batch of results of all organizations' },
  recover_deliveries: { owner: 'system', why: 'takes deliveries back from workers that are gone' },
  failing_webhooks: { owner: 'system', why: 'finds webhooks of any organization that fail' },
  open_replays: { owner: 'system', why: 'finds replays of any organization to go on with' },
  find_inbox: { owner: 'system', why: 'finds whose inbox a request without a key is for' },
  secrets_sealed_otherwise: { owner: 'system', why: 'finds secrets that an old master key sealed' },
  queue_matching: { owner: 'system', why: 'finds the loads of any organization that ended' },
  identity_due: { owner: 'system', why: 'finds the organizations with objects to match' },
  same_identifier: {
    owner: 'system',
    why: 'uses an index that row-level security closes, within the organization of the transaction',
  },
  find_identifier: { owner: 'system', why: 'the same' },
  alike: { owner: 'system', why: 'the same' },
  ensure_partitions: { owner: 'owner', why: 'creates tables, which only their owner may' },
}
