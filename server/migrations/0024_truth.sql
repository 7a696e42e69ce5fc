-- Many sources, one truth: how sources rank, the rules that choose between their claims, what a change of rules rewrites,
-- claims that begin or end by themselves, and erasures.

-- Why a person wrote what the transaction holds.
alter table tx add column reason text;

alter table source
  -- How far its claims are believed, 0 to 1000.
  add column trust smallint not null default 1000,
  -- Types of objects whose values it has the say on.
  add column system_of_record text[] not null default '{}',
  -- Not heard of for so many days it comes behind all others; null for never.
  add column freshness_days integer,
  -- When it was last loaded.
  add column seen_at timestamptz,
  -- It was not heard of for that long when its claims were last weighed.
  add column stale boolean not null default false,
  add column version integer not null default 1;
update source set freshness_days = 90, seen_at = now() where kind = 'adapter';

create table survivorship_rule (
  org_id bigint not null,
  id bigint not null,
  -- Empty for all types, and for all attributes of the type.
  type text not null,
  attribute text not null,
  strategy text not null,
  -- The best first.
  sources bigint[] not null,
  min_confidence smallint,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint survivorship_rule_pkey primary key (org_id, id),
  constraint survivorship_rule_place_key unique (org_id, type, attribute),
  constraint survivorship_rule_type check (attribute = '' or type <> '')
);

-- Counts the changes of rules and ranks; loads hold it while they write what they weighed.
create table survivorship_head (
  org_id bigint not null,
  revision integer not null,
  constraint survivorship_head_pkey primary key (org_id)
);

-- A change of rules on its way through the objects, type by type in the order of their ids.
create table survivorship_change (
  org_id bigint not null,
  id bigint not null,
  state text not null,
  revision integer not null,
  -- What changed: the rule or source and its members, as the audit log tells it.
  about jsonb not null,
  -- Types still to go through, the present one first, and the last object of it that was looked at.
  types text[] not null,
  after_id bigint not null default 0,
  -- Only objects with different claims on this attribute; null for all.
  attribute text,
  -- Single claims are weighed anew as well, because thresholds changed.
  alone boolean not null,
  -- What the preview said; null when none was asked for.
  predicted integer,
  checked bigint not null default 0,
  changed bigint not null default 0,
  -- Transactions older than this one may have weighed by the rules before.
  xid xid8 not null default pg_current_xact_id(),
  actor jsonb not null,
  created_at timestamptz not null,
  finished_at timestamptz,
  constraint survivorship_change_pkey primary key (org_id, id),
  constraint survivorship_change_state check (state in ('running', 'completed'))
);
create index survivorship_change_open_idx on survivorship_change (org_id, id) where state = 'running';

-- Claims that begin or end in the future: their object is weighed again then.
create table refold (
  org_id bigint not null,
  object_id bigint not null,
  due_at timestamptz not null,
  object_type text not null,
  constraint refold_pkey primary key (org_id, object_id, due_at)
);
create index refold_due_idx on refold (org_id, due_at);

create table erasure (
  org_id bigint not null,
  id bigint not null,
  state text not null,
  -- Objects by type, and the attributes; null for all that is known of the objects.
  objects jsonb not null,
  attributes text[],
  reason text not null,
  -- How many of the objects are done.
  position integer not null default 0,
  counts jsonb not null default '{}',
  actor jsonb not null,
  created_at timestamptz not null,
  finished_at timestamptz,
  constraint erasure_pkey primary key (org_id, id),
  constraint erasure_state check (state in ('running', 'completed'))
);
create index erasure_open_idx on erasure (org_id, id) where state = 'running';

do $$
declare name text;
begin
  foreach name in array array['survivorship_rule', 'survivorship_head', 'survivorship_change', 'refold', 'erasure'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
  end loop;
  foreach name in array array['survivorship_change', 'refold', 'erasure', 'source'] loop
    execute format('create policy %I on %I to grid_system using (true)', name || '_system', name);
    execute format('grant select on %I to grid_system', name);
  end loop;
  -- Objects that another source than the API speaks of are weighed at every write.
  foreach name in array array['organization', 'party', 'contact', 'property', 'building', 'floor', 'space', 'lease', 'document',
    'work_order'] loop
    execute format('update %I t set contested = true where not contested and exists (select from assertion a
      where a.org_id = t.org_id and a.object_id = t.id and a.source_id <> 1)', name);
  end loop;
end $$;

-- Organizations with something for the background to do: changes of rules, claims that begin or end, erasures, and sources
-- that were heard of again or no longer.
create function app.truth_due(by timestamptz)
  returns setof bigint language sql stable security definer set search_path = public, pg_temp
  as $$
    select c.org_id from survivorship_change c where c.state = 'running'
    union select r.org_id from refold r where r.due_at <= by
    union select e.org_id from erasure e where e.state = 'running'
    union select s.org_id from source s where s.freshness_days is not null
      and s.stale <> (s.seen_at < by - make_interval(days => s.freshness_days))
  $$;
alter function app.truth_due(timestamptz) owner to grid_system;
revoke execute on function app.truth_due(timestamptz) from public;
grant execute on function app.truth_due(timestamptz) to grid_app;
