-- Fields that organizations add to the schema: what they are, how they came to be, and where their values are found.

create table schema_field (
  org_id bigint not null,
  id bigint not null,
  object_type text not null,
  api_name text not null,
  label text not null,
  description text,
  type text not null,
  -- Unit, currency, bounds, precision, target, expression: whatever the type has.
  settings jsonb not null,
  -- Id, name, label and state of each; ids are never given twice.
  options jsonb not null,
  -- Earlier names, each with the time until which input may use it.
  aliases jsonb not null,
  required boolean not null,
  filterable boolean not null,
  -- Every value is in ext_index. Until then filters read the rows.
  indexed boolean not null,
  state text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deprecated_at timestamptz,
  constraint schema_field_pkey primary key (org_id, id),
  constraint schema_field_state check (state in ('deployed', 'deprecated', 'removed'))
);
create unique index schema_field_name_idx on schema_field (org_id, object_type, api_name) where state = 'deployed';

create table schema_plan (
  org_id bigint not null,
  id bigint not null,
  state text not null,
  text text,
  operations jsonb not null,
  questions jsonb not null,
  -- Words of the text that no part of the plan was made of.
  unread jsonb not null,
  -- What takes it back, written when it is deployed.
  inverse jsonb,
  -- Fields it added, in the order of its operations.
  fields jsonb not null,
  schema_version integer,
  created_by jsonb not null,
  approved_by jsonb,
  approved_at timestamptz,
  deployed_at timestamptz,
  rolled_back_at timestamptz,
  version integer not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  constraint schema_plan_pkey primary key (org_id, id),
  constraint schema_plan_state check (state in ('draft', 'validating', 'deployed', 'rolled_back'))
);

-- One row for every deploy, in order.
create table schema_version (
  org_id bigint not null,
  version integer not null,
  at timestamptz not null,
  plan_id bigint not null,
  actor jsonb not null,
  changes jsonb not null,
  constraint schema_version_pkey primary key (org_id, version)
);

-- Values of filterable fields, for the one column that the type of the field is compared in.
create table ext_index (
  org_id bigint not null,
  field_id bigint not null,
  object_id bigint not null,
  v_num numeric,
  v_text text collate "C",
  v_time timestamptz,
  constraint ext_index_pkey primary key (org_id, field_id, object_id)
);
create index ext_index_num_idx on ext_index (org_id, field_id, v_num, object_id) where v_num is not null;
create index ext_index_text_idx on ext_index (org_id, field_id, v_text, object_id) where v_text is not null;
create index ext_index_time_idx on ext_index (org_id, field_id, v_time, object_id) where v_time is not null;

do $$
declare name text;
begin
  foreach name in array array['schema_field', 'schema_plan', 'schema_version', 'ext_index'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
  end loop;
  -- Values by the key of their field; null when the object has none.
  foreach name in array array['organization', 'party', 'contact', 'property', 'building', 'floor', 'space', 'lease', 'document',
    'work_order'] loop
    execute format('alter table %I add column ext jsonb', name);
  end loop;
end $$;

-- Keys of some properties read the schema, and index what they write.
create policy schema_field_seen on schema_field for select to grid_restricted using (org_id = app.org());
create policy schema_plan_seen on schema_plan for select to grid_restricted using (org_id = app.org());
create policy schema_version_seen on schema_version for select to grid_restricted using (org_id = app.org());
create policy ext_index_restricted on ext_index to grid_restricted using (org_id = app.org());
grant select on schema_field, schema_plan, schema_version to grid_restricted;
grant select, insert, update, delete on ext_index to grid_restricted;

-- What deploys left to do in any organization: fields that became filterable while they had values, and fields that take
-- over the values of another.
create index schema_field_work_idx on schema_field (org_id, id) where (filterable and not indexed) or settings ? 'converts';
create policy schema_field_system on schema_field to grid_system using (true);
grant select on schema_field to grid_system;
create function app.schema_work(most integer)
  returns table (org_id bigint, id bigint, object_type text, what text) language sql security definer
  set search_path = public, pg_temp
  as $$
    select f.org_id, f.id, f.object_type, case when f.settings ? 'converts' then 'convert' else 'index' end from schema_field f
    where ((f.filterable and not f.indexed) or f.settings ? 'converts') and f.state = 'deployed' order by f.updated_at limit most
  $$;
alter function app.schema_work(integer) owner to grid_system;
revoke execute on function app.schema_work(integer) from public;
grant execute on function app.schema_work(integer) to grid_app;
