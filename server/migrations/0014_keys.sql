-- Keys: rotation, restrictions and what is seen of their use; keys of some properties only; quotas over all processes.

alter table api_key
  add column created_by text,
  add column updated_at timestamptz,
  -- After a rotation the earlier text is good until old_expires_at.
  add column rotated_at timestamptz,
  add column old_hash bytea,
  add column old_hint text,
  add column old_expires_at timestamptz,
  -- Addresses in CIDR form that the key may be used from; null is anywhere.
  add column allowed_ips text[],
  -- Properties that the key is restricted to; null is all.
  add column property_ids bigint[],
  add column last_used_ip text,
  -- Last use by scope and by address.
  add column scope_use jsonb not null default '{}',
  add column addresses jsonb not null default '{}',
  add constraint api_key_old_hash_key unique (old_hash);
update api_key set updated_at = created_at;
alter table api_key alter column updated_at set default now(), alter column updated_at set not null;

drop function app.find_key(bytea);
create function app.find_key(key_hash bytea)
  returns table (key_id bigint, org_id bigint, key_name text, scopes text[], expires_at timestamptz, revoked_at timestamptz,
    text_expires_at timestamptz, allowed_ips text[], property_ids bigint[],
    plan text, environment text, currency text, area_unit text, time_zone text)
  language sql stable security definer set search_path = public, pg_temp
  as $$
    select k.id, k.org_id, k.name, k.scopes, k.expires_at, k.revoked_at,
      case when k.hash <> key_hash then k.old_expires_at end, k.allowed_ips, k.property_ids,
      o.plan, o.environment, o.default_currency, o.default_area_unit, o.time_zone
    from api_key k join organization o on o.id = k.org_id
    where (k.hash = key_hash or k.old_hash = key_hash) and o.deleted_at is null
  $$;
revoke execute on function app.find_key(bytea) from public;
grant execute on function app.find_key(bytea) to grid_app;
alter function app.find_key(bytea) owner to grid_system;

-- Notes the use of keys, for a batch of all organizations. Returns the addresses that a key was not used from before,
-- unless they are its first. The hundred addresses used last are kept.
drop function app.touch_keys(json);
create function app.touch_keys(entries json)
  returns table (org_id bigint, key_id bigint, key_name text, address text)
  language sql security definer set search_path = public, pg_temp
  as $$
    with seen as materialized (
      select * from json_to_recordset(entries) as e(id bigint, at timestamptz, ip text, scopes jsonb, addresses jsonb)
    ), before as materialized (
      select k.id, k.org_id, k.name, k.addresses from api_key k where k.id in (select s.id from seen s) order by k.id for update
    ), touched as (
      update api_key k set
        last_used_at = greatest(k.last_used_at, s.at),
        last_used_ip = case when k.last_used_at > s.at then k.last_used_ip else s.ip end,
        scope_use = k.scope_use || s.scopes,
        addresses = (select jsonb_object_agg(a.key, a.value) from (
          select key, value from jsonb_each(b.addresses || s.addresses) order by value desc limit 100) a)
      from before b join seen s using (id) where k.id = b.id
    )
    select b.org_id, b.id, b.name, a.address
    from before b join seen s using (id) cross join lateral jsonb_object_keys(s.addresses) a(address)
    where b.addresses <> '{}' and not b.addresses ? a.address
  $$;
revoke execute on function app.touch_keys(json) from public;
grant execute on function app.touch_keys(json) to grid_app;
alter function app.touch_keys(json) owner to grid_system;
grant update (last_used_at, last_used_ip, scope_use, addresses) on api_key to grid_system;

-- Quotas. Requests admitted within the last minute, by subject, and the chunks that processes have taken and not yet
-- accounted for. Not logged, as they are worth a minute: only a crash of the server itself forgets them.
create unlogged table quota (
  subject text not null,
  -- When requests were admitted, in milliseconds of this server's clock, and how many.
  used_at bigint[] not null default '{}',
  used integer[] not null default '{}',
  -- Processes that asked within the last minute, what each holds, and until when it may use it.
  holders bigint[] not null default '{}',
  held integer[] not null default '{}',
  held_until bigint[] not null default '{}',
  asked_at timestamptz not null default now(),
  constraint quota_pkey primary key (subject)
) with (fillfactor = 50);
create index quota_asked_at_idx on quota (asked_at);
grant select, insert, update, delete on quota to grid_system;

-- Accounts for what a process used of its chunk and gives it the next one. A chunk counts as used, until five seconds
-- and a window after it was taken, unless its process tells better: so the window is never overfilled, whoever dies.
-- No more than a seventh of the quota is out at a time: a process takes half of what is left of that. Where the quota is
-- small and several processes ask, each takes one request at a time, so that none is left over.
create function app.take_quota(whose text, size integer, wanted integer, holder bigint, ages integer[], counts integer[],
    clock bigint default null)
  returns table (granted integer, remaining integer, wait_ms integer, shared boolean)
  language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    q quota;
    now_ms bigint;
    chunk integer;
    room integer;
    others integer;
    -- What the others hold.
    out integer;
    next_ms bigint;
  begin
    insert into quota (subject) values (whose) on conflict do nothing;
    select * into q from quota where subject = whose for update;
    now_ms := coalesce(clock, (extract(epoch from clock_timestamp()) * 1000)::bigint);
    select coalesce(array_agg(u.t), '{}'), coalesce(array_agg(u.n), '{}'), size - coalesce(sum(u.n), 0), min(u.t)
      into q.used_at, q.used, room, next_ms
      from (select t, n from unnest(q.used_at, q.used) x(t, n)
        union all select now_ms - a, n from unnest(ages, counts) y(a, n)) u
      where u.t > now_ms - 60000;
    select coalesce(array_agg(l.h), '{}'), coalesce(array_agg(l.n), '{}'), coalesce(array_agg(l.t), '{}'),
        coalesce(sum(l.n), 0), count(*), least(next_ms, min(l.t) filter (where l.n > 0))
      into q.holders, q.held, q.held_until, out, others, next_ms
      from unnest(q.holders, q.held, q.held_until) l(h, n, t)
      where l.t > now_ms - 60000 and l.h <> holder;
    room := room - out;
    chunk := case when others > 0 and size <= 1000 then 1 else (size / 7 - out) / 2 end;
    granted := case when wanted = 0 then 0 else least(greatest(room, 0), greatest(chunk, wanted)) end;
    if wanted > 0 then
      q.holders := q.holders || holder;
      q.held := q.held || granted;
      q.held_until := q.held_until || (now_ms + 5000);
    end if;
    remaining := greatest(room, 0) - granted;
    wait_ms := coalesce(next_ms + 60000 - now_ms, 60000);
    shared := others > 0;
    update quota set used_at = q.used_at, used = q.used, holders = q.holders, held = q.held, held_until = q.held_until,
      asked_at = now() where subject = whose;
    return next;
  end $$;
revoke execute on function app.take_quota(text, integer, integer, bigint, integer[], integer[], bigint) from public;
grant execute on function app.take_quota(text, integer, integer, bigint, integer[], integer[], bigint) to grid_app;
alter function app.take_quota(text, integer, integer, bigint, integer[], integer[], bigint) owner to grid_system;

-- Subjects that nobody asked for lately have an empty window.
create function app.forget_quotas()
  returns void language sql security definer set search_path = public, pg_temp
  as $$ delete from quota where asked_at < now() - interval '5 minutes' $$;
revoke execute on function app.forget_quotas() from public;
grant execute on function app.forget_quotas() to grid_app;
alter function app.forget_quotas() owner to grid_system;

-- Keys of some properties. A transaction of such a key runs as grid_restricted, which has policies and rights of its own:
-- what belongs to no property, or is not named here, it may not touch.

grant usage on schema app to grid_restricted;
grant usage, select on sequence app.id_seq, app.tx_seq to grid_restricted;

create function app.properties() returns bigint[] language sql stable
  as $$ select nullif(current_setting('app.property_ids', true), '')::bigint[] $$;

create function app.set_scope(org bigint, properties bigint[]) returns text language sql
  as $$ select set_config('app.property_ids', properties::text, true) || app.set_org(org) || set_config('role', 'grid_restricted', true) $$;
revoke execute on function app.properties(), app.set_scope(bigint, bigint[]) from public;
grant execute on function app.set_scope(bigint, bigint[]), app.properties() to grid_app;
grant execute on function app.org(), app.properties() to grid_restricted;

create policy property_restricted on property to grid_restricted
  using (org_id = app.org() and id = any(app.properties()));
create policy building_restricted on building to grid_restricted
  using (org_id = app.org() and property_id = any(app.properties()));
create policy lease_restricted on lease to grid_restricted
  using (org_id = app.org() and property_id = any(app.properties()));
create policy work_order_restricted on work_order to grid_restricted
  using (org_id = app.org() and property_id = any(app.properties()));
-- The building is looked up under its own policy.
create policy floor_restricted on floor to grid_restricted
  using (org_id = app.org() and exists (select from building b where b.org_id = floor.org_id and b.id = floor.building_id));
create policy space_restricted on space to grid_restricted
  using (org_id = app.org() and exists (select from building b where b.org_id = space.org_id and b.id = space.building_id));

-- Does an object belong to one of the properties? Run with the caller's rights, so each table's policy answers.
create function app.belongs(kind text, object_id bigint) returns boolean language sql stable
  as $$
    select case kind
      when 'property' then object_id = any(app.properties())
      when 'building' then exists (select from building t where t.org_id = app.org() and t.id = object_id)
      when 'floor' then exists (select from floor t where t.org_id = app.org() and t.id = object_id)
      when 'space' then exists (select from space t where t.org_id = app.org() and t.id = object_id)
      when 'lease' then exists (select from lease t where t.org_id = app.org() and t.id = object_id)
      when 'work_order' then exists (select from work_order t where t.org_id = app.org() and t.id = object_id)
      when 'document' then exists (select from document t where t.org_id = app.org() and t.id = object_id)
      else false end
  $$;
revoke execute on function app.belongs(text, bigint) from public;
grant execute on function app.belongs(text, bigint) to grid_restricted;

create policy document_restricted on document to grid_restricted
  using (org_id = app.org() and exists (
    select from unnest(linked_to) link where app.belongs(case split_part(link, '_', 1)
      when 'prop' then 'property' when 'bld' then 'building' when 'flr' then 'floor' when 'spc' then 'space'
      when 'le' then 'lease' when 'wo' then 'work_order' end, split_part(link, '_', 2)::bigint)));
grant select, insert, update on property, building, floor, space, lease, work_order, document to grid_restricted;

-- Parties are known to all; a write that refers to one locks it, which takes the right to update.
do $$
declare name text;
begin
  foreach name in array array['party', 'contact'] loop
    execute format('create policy %I on %I for select to grid_restricted using (org_id = app.org())', name || '_seen', name);
    execute format('create policy %I on %I for update to grid_restricted using (org_id = app.org()) with check (false)',
      name || '_locked', name);
    execute format('grant select, update on %I to grid_restricted', name);
  end loop;
  foreach name in array array['tx', 'source', 'assertion', 'external_key', 'idempotency'] loop
    execute format('create policy %I on %I to grid_restricted using (org_id = app.org())', name || '_restricted', name);
  end loop;
end $$;
create policy organization_seen on organization for select to grid_restricted
  using (id = app.org() or parent_organization_id = app.org());
grant select on organization, source to grid_restricted;
grant select, insert on tx, assertion, idempotency to grid_restricted;
grant select, insert, delete on external_key to grid_restricted;

create policy event_seen on event for select to grid_restricted
  using (org_id = app.org() and (object_type in ('party', 'contact') or app.belongs(object_type, object_id)));
create policy event_written on event for insert to grid_restricted with check (org_id = app.org());
create policy audit_entry_written on audit_entry for insert to grid_restricted with check (org_id = app.org());
grant select, insert on event to grid_restricted;
grant insert on audit_entry to grid_restricted;
