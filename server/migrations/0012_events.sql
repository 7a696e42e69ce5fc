-- What an event says beside its object: which option opened, how many days are left.
alter table event add column about jsonb;

-- What happens to objects by itself, by the day or the minute: leases begin and end, notice windows open, promises to
-- tenants are broken. Made of the objects' own values whenever they change; each entry is done once.
create table agenda (
  org_id bigint not null,
  object_id bigint not null,
  -- Names the matter among what is due for the object.
  mark text not null,
  object_type text not null,
  due_at timestamptz not null,
  done_at timestamptz,
  constraint agenda_pkey primary key (org_id, object_id, mark)
);
create index agenda_due_idx on agenda (org_id, due_at) where done_at is null;

-- Up to which writes the objects of a type have been looked at.
create table agenda_scan (
  org_id bigint not null,
  object_type text not null,
  scanned_at timestamptz not null,
  constraint agenda_scan_pkey primary key (org_id, object_type)
);

do $$
declare name text;
begin
  foreach name in array array['agenda', 'agenda_scan'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('create policy %I on %I to grid_system using (true)', name || '_system', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
    execute format('grant select on %I to grid_system', name);
  end loop;
end $$;

create policy lease_system on lease to grid_system using (true);
create policy work_order_system on work_order to grid_system using (true);
grant select (org_id, updated_at) on lease, work_order to grid_system;

-- Organizations that have something due by then, or objects written since they were last looked at.
create function app.organizations_due(by timestamptz)
  returns table (org_id bigint, time_zone text) language sql stable security definer set search_path = public, pg_temp
  as $$
    select o.id, o.time_zone from organization o
    left join agenda_scan l on l.org_id = o.id and l.object_type = 'lease'
    left join agenda_scan w on w.org_id = o.id and w.object_type = 'work_order'
    where o.deleted_at is null and (
      exists (select from agenda a where a.org_id = o.id and a.done_at is null and a.due_at <= by)
      or exists (select from lease t where t.org_id = o.id and t.updated_at > coalesce(l.scanned_at, '-infinity'))
      or exists (select from work_order t where t.org_id = o.id and t.updated_at > coalesce(w.scanned_at, '-infinity')))
    order by o.id
  $$;
alter function app.organizations_due(timestamptz) owner to grid_system;
revoke execute on function app.organizations_due(timestamptz) from public;
grant execute on function app.organizations_due(timestamptz) to grid_app;
