-- Adapters kept by the service: the documents by which files are read, with their versions and what became of them.

create table adapter (
  org_id bigint not null,
  id bigint not null,
  name text not null,
  -- Whether who wrote a version may not make it live.
  require_second_person boolean not null,
  latest_version integer not null,
  live_version integer,
  -- Versions that were live before, the last one last: what a rollback goes back to.
  earlier_versions integer[] not null default '{}',
  version integer not null,
  created_by text not null,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- Jobs name the versions they ran, so these stay.
  deleted_at timestamptz,
  constraint adapter_pkey primary key (org_id, id)
);
create unique index adapter_name_idx on adapter (org_id, name) where deleted_at is null;

create table adapter_version (
  org_id bigint not null,
  adapter_id bigint not null,
  version integer not null,
  state text not null,
  document jsonb not null,
  -- SHA-256 of what the document means: defaults filled in, its number left out.
  hash text not null,
  -- Counts the changes of a draft.
  revision integer not null,
  author_type text not null,
  author_id text,
  author_name text not null,
  -- The last preview of this very document: how many rows it saw and how many it could not use.
  preview jsonb,
  -- What it was tested by.
  tested jsonb,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  -- When it last went live.
  live_at timestamptz,
  constraint adapter_version_pkey primary key (org_id, adapter_id, version),
  constraint adapter_version_state check (state in ('draft', 'tested', 'live', 'superseded'))
);

do $$
declare name text;
begin
  foreach name in array array['adapter', 'adapter_version'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
  end loop;
end $$;
grant select, insert, update on adapter, adapter_version to grid_app;

-- The version of a kept adapter that a job runs; the id is null for a document that came with the job.
alter table job
  add column adapter_id bigint generated always as ((adapter ->> 'adapter_id')::bigint) stored,
  add column adapter_version integer generated always as ((adapter ->> 'version')::integer) stored;
create index job_adapter_idx on job (org_id, adapter_id, id) where adapter_id is not null;

-- A finished job of the organization or of one of its sandboxes, for what was tried there.
create function app.test_job(org bigint, job_id bigint)
  returns table (state text, adapter jsonb, counts jsonb) language sql stable security definer set search_path = public, pg_temp
  as $$
    select j.state, j.adapter, j.counts from job j
    where j.id = job_id and (j.org_id = org or exists (
      select from organization o where o.id = j.org_id and o.parent_organization_id = org and o.environment = 'sandbox'))
  $$;
alter function app.test_job(bigint, bigint) owner to grid_system;
revoke execute on function app.test_job(bigint, bigint) from public;
grant execute on function app.test_job(bigint, bigint) to grid_app;
