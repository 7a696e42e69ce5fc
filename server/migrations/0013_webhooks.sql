-- Webhooks: who hears of which events, the deliveries under way, and what became of them.

create sequence app.delivery_seq as bigint start 1001;
grant usage, select on sequence app.delivery_seq to grid_app, grid_system;

create table webhook (
  org_id bigint not null,
  id bigint not null,
  url text not null,
  description text,
  events text[] not null,
  -- The same patterns, for `like`.
  types text[] not null,
  state text not null,
  -- Why it is suspended.
  reason text,
  payload text not null,
  ordering text not null,
  coalesce_seconds integer not null,
  -- Only events of these properties and of what belongs to them; null for all.
  property_ids bigint[],
  max_concurrency integer not null,
  -- Deliveries a second; null for as many as there are.
  rate integer,
  redrive_on_recovery boolean not null,
  schema_version text not null,
  -- Newest first: sealed text, last characters, when made and when it ends.
  secrets jsonb not null,
  -- The receiver on this host that the URL is that of.
  inbox_id bigint,
  -- Number of the last event of the feed that deliveries were made for.
  position bigint not null,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint webhook_pkey primary key (org_id, id),
  constraint webhook_state check (state in ('active', 'paused', 'suspended'))
) with (fillfactor = 70);

-- How deliveries to a webhook fare; written with every batch, so apart from what its owner changes.
create table webhook_health (
  org_id bigint not null,
  webhook_id bigint not null,
  last_success_at timestamptz,
  last_failure_at timestamptz,
  -- Attempts that failed, and deliveries that were given up, since the last success.
  failures integer not null default 0,
  exhausted integer not null default 0,
  failing_since timestamptz,
  -- Hours of failing that its owner has been told of.
  warned_hours integer not null default 0,
  -- open: nothing is sent before open_until, then one attempt that tells how it goes on.
  circuit text not null default 'closed',
  open_until timestamptz,
  open_s integer not null default 30,
  window_start timestamptz,
  window_total integer not null default 0,
  window_failed integer not null default 0,
  -- Attempts at once while it recovers; null for as many as it allows.
  pace integer,
  -- Up to when its rate has been used.
  rate_at timestamptz,
  constraint webhook_health_pkey primary key (org_id, webhook_id)
) with (fillfactor = 50);

-- Deliveries that have not ended. Small, whatever was delivered before.
create table delivery (
  org_id bigint not null,
  webhook_id bigint not null,
  id bigint not null,
  -- The event: its transaction and its place in it.
  tx_id bigint not null,
  n integer not null,
  type text not null,
  object_id bigint not null,
  created_at timestamptz not null,
  state text not null,
  trigger text not null,
  replay_id bigint,
  -- Attempts made, and what came of each.
  attempt integer not null default 0,
  attempts jsonb not null default '[]',
  next_at timestamptz not null,
  -- Deliveries with the same key go one after the other; null for any order.
  ordering_key bigint,
  -- Events of the object that this delivery stands for.
  coalesced integer not null default 1,
  lease_id bigint,
  locked_until timestamptz,
  -- How often a worker that had it did not come back.
  lost integer not null default 0,
  constraint delivery_pkey primary key (org_id, webhook_id, id),
  constraint delivery_attempt check (attempt between 0 and 5),
  constraint delivery_state check (state in ('pending', 'in_flight', 'held'))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 2000, autovacuum_vacuum_cost_delay = 0);
create index delivery_due_idx on delivery (org_id, webhook_id, next_at, id) where state = 'pending';
create index delivery_flight_idx on delivery (org_id, webhook_id) where state = 'in_flight';
create index delivery_order_idx on delivery (org_id, webhook_id, ordering_key, id) where ordering_key is not null;
create index delivery_replay_idx on delivery (org_id, replay_id) where replay_id is not null;

-- Deliveries that have ended, kept by the day on which they did.
create table delivery_log (
  org_id bigint not null,
  webhook_id bigint not null,
  id bigint not null,
  at timestamptz not null,
  tx_id bigint,
  n integer,
  type text not null,
  object_id bigint not null,
  created_at timestamptz not null,
  state text not null,
  -- Why it did not succeed.
  reason text,
  trigger text not null,
  replay_id bigint,
  attempt integer not null,
  attempts jsonb not null,
  coalesced integer not null,
  constraint delivery_log_pkey primary key (org_id, webhook_id, id, at),
  constraint delivery_log_attempt check (attempt between 0 and 5),
  constraint delivery_log_state check (state in ('succeeded', 'failed', 'cancelled', 'expired'))
) partition by range (at);
create index delivery_log_replay_idx on delivery_log (org_id, replay_id) where replay_id is not null;
-- Finds events that a replay has delivered.
create index delivery_log_again_idx on delivery_log (org_id, tx_id, n) where trigger = 'replay';

-- What receivers answered: headers and the head of the body, of answers that had one or were no success.
create table delivery_body (
  org_id bigint not null,
  delivery_id bigint not null,
  attempt integer not null,
  at timestamptz not null,
  headers jsonb not null,
  body text not null,
  base64 boolean not null,
  constraint delivery_body_pkey primary key (org_id, delivery_id, attempt, at)
) partition by range (at);

create table replay (
  org_id bigint not null,
  id bigint not null,
  webhook_id bigint not null,
  state text not null,
  -- What is replayed, as it was asked for.
  request jsonb not null,
  -- How far it is: the number of an event, or the id of a delivery.
  position bigint not null,
  total integer not null,
  queued integer not null default 0,
  created_at timestamptz not null,
  finished_at timestamptz,
  constraint replay_pkey primary key (org_id, id),
  constraint replay_state check (state in ('running', 'completed', 'cancelled'))
);
create index replay_open_idx on replay (org_id, id) where state = 'running';

create table inbox (
  org_id bigint not null,
  id bigint not null,
  token text not null,
  status smallint not null,
  created_at timestamptz not null,
  constraint inbox_pkey primary key (org_id, id)
);
create index inbox_token_idx on inbox (token);

create table inbox_request (
  org_id bigint not null,
  inbox_id bigint not null,
  id bigint not null,
  at timestamptz not null,
  headers jsonb not null,
  body text not null,
  base64 boolean not null,
  -- The webhook whose secret made the signature, and the last characters of that secret; null when none did.
  webhook_id bigint,
  secret_hint text,
  constraint inbox_request_pkey primary key (org_id, inbox_id, id)
);

do $$
declare name text;
begin
  foreach name in array array['webhook', 'webhook_health', 'delivery', 'delivery_log', 'delivery_body', 'replay', 'inbox', 'inbox_request'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('create policy %I on %I to grid_system using (true)', name || '_system', name);
  end loop;
end $$;
grant select, insert, update, delete on webhook, webhook_health, delivery, replay, inbox, inbox_request to grid_app;
grant select, insert on delivery_log, delivery_body to grid_app;
grant select, update on webhook, webhook_health to grid_system;
grant select, insert, update, delete on delivery to grid_system;
grant select, insert on delivery_log, delivery_body to grid_system;
grant select on replay, inbox to grid_system;
grant select on event, building, floor, space, lease, work_order, organization to grid_system;
create policy event_system on event to grid_system using (true);
do $$
declare name text;
begin
  foreach name in array array['building', 'floor', 'space'] loop
    execute format('create policy %I on %I to grid_system using (true)', name || '_system', name);
  end loop;
end $$;
