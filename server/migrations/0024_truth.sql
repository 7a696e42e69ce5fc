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

-- The transaction whose audit entry says that values of this one were erased, and what the rest of it hashes to; its own
-- hash stays that of the whole.
alter table audit_seal add column erased_tx bigint;

do $$
declare name text;
begin
  foreach name in array array['survivorship_rule', 'survivorship_head', 'survivorship_change', 'refold', 'erasure'] loop
    execute format('alter table %I enable row level security', name);
    execute format('alter table %I force row level security', name);
    execute format('create policy %I on %I to grid_app using (org_id = app.org())', name || '_org', name);
    execute format('grant select, insert, update, delete on %I to grid_app', name);
  end loop;
  foreach name in array array['survivorship_change', 'refold', 'erasure', 'source', 'assertion', 'source_blank', 'source_record',
    'job_error', 'job_diff_row', 'audit_entry'] loop
    execute format('create policy %I on %I to grid_system using (true)', name || '_system', name);
    execute format('grant select on %I to grid_system', name);
  end loop;
  -- Keys of some properties weigh by the same rules, and hold them while they write.
  foreach name in array array['survivorship_rule', 'survivorship_head', 'survivorship_change'] loop
    execute format('create policy %I on %I for select to grid_restricted using (org_id = app.org())', name || '_seen', name);
    execute format('grant select on %I to grid_restricted', name);
  end loop;
  create policy survivorship_head_held on survivorship_head for update to grid_restricted using (org_id = app.org()) with check (false);
  grant update on survivorship_head to grid_restricted;
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

-- What is written to the audit log stays as it was written, whoever asks; an erasure alone takes values out of it, by the
-- functions below, and leaves what was hashed.
create or replace function app.refuse_change() returns trigger language plpgsql
  as $$
  begin
    if tg_op = 'UPDATE' and current_user = 'grid_system' then return new; end if;
    raise exception 'rows of % are never changed nor deleted', tg_table_name;
  end $$;

-- Takes attributes of an object, or all that is known of it when none are named, out of every place that holds a copy of
-- what a source or a person said: claims, blanks, rows that could not be used, what checks of loads found, events, stored
-- answers, requests that an inbox received, and audit entries. A field of the organization's own is named by its key and by
-- every name it had. Returns how much was taken from where. The chain of the audit log waits meanwhile.
create function app.erase_object(org bigint, object bigint, public_id text, attributes text[])
  returns jsonb language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    counts jsonb := '{}';
    n bigint;
    kept constant text[] := array['_deleted', '_present'];
    keys text[];
    named text[];
  begin
    perform from audit_head h where h.org_id = org for update;

    update job_error e set raw = '{}' where e.org_id = org and e.raw <> '{}' and (
      exists (select from assertion a join tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
        where a.org_id = org and a.object_id = object and t.job_id = e.job_id and a.row_no = e.row_no)
      or (attributes is null and exists (select from source_record r
        where r.org_id = org and r.object_id = object and r.ext_key in (select v.value from jsonb_each_text(e.raw) v))));
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('error_rows', n);

    -- What a check found of an object that was still to be made names it by the key of the source.
    select array_agg(r.ext_key) into named from source_record r where r.org_id = org and r.object_id = object;
    update job_diff_row d set body = d.body || (
      select jsonb_object_agg(p, coalesce((select jsonb_agg(v) from jsonb_array_elements(d.body->p) v
        where attributes is not null and v->>'field' <> all(attributes)), '[]'))
      from unnest(array['facts', 'fields', 'conflicts']) p)
    where d.org_id = org and (d.body->>'object_id' = public_id or (d.body->>'object_id' is null and d.body->>'key' = any(named)));
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('diff_rows', n);
    update job j set diff = jsonb_set(j.diff, '{samples}', (
      select jsonb_object_agg(s.name, coalesce((select jsonb_agg(v) from jsonb_array_elements(s.list) v
        where v->>'object_id' is distinct from public_id and not coalesce(v->>'object_id' is null and v->>'key' = any(named), false)), '[]'))
      from jsonb_each(j.diff->'samples') as s(name, list)))
    where j.org_id = org and exists (select from jsonb_each(j.diff->'samples') s cross join lateral jsonb_array_elements(s.value) v
      where v->>'object_id' = public_id or (v->>'object_id' is null and v->>'key' = any(named)));

    if attributes is null then
      update tx t set reason = null where t.org_id = org and t.reason is not null
        and t.tx_id in (select a.tx_id from assertion a where a.org_id = org and a.object_id = object);
      update source_record r set row_hash = 0 where r.org_id = org and r.object_id = object;
      delete from refold r where r.org_id = org and r.object_id = object;
    end if;

    select coalesce(sum((select count(*) from jsonb_object_keys(a.attrs) k
      where case when attributes is null then k <> all(kept) else k = any(attributes) end)), 0) into n
    from assertion a where a.org_id = org and a.object_id = object;
    counts := counts || jsonb_build_object('facts', n);
    select array_agg(distinct k) into keys from assertion a cross join lateral jsonb_object_keys(a.attrs) k
    where a.org_id = org and a.object_id = object and case when attributes is null then k <> all(kept) else k = any(attributes) end;
    update assertion a set attrs = a.attrs - coalesce(keys, '{}'),
      retracts = nullif(array(select r from unnest(a.retracts) r where attributes is not null and r <> all(attributes)), '{}')
    where a.org_id = org and a.object_id = object;
    delete from assertion a where a.org_id = org and a.object_id = object and a.attrs in ('{}', '{"_pin": "kept"}',
      '{"_pin": "until_source_changes"}') and a.retracts is null;

    update source_blank b set fields = array(select f from unnest(b.fields) f where attributes is not null and f <> all(attributes))
    where b.org_id = org and b.object_id = object;
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('blanks', n);

    update event e set about = case when attributes is not null then e.about end,
      previous = case when attributes is null then '{}' else e.previous - attributes end,
      body = case when attributes is not null and e.body is not null then
        (e.body::jsonb || coalesce((select jsonb_object_agg(k, case jsonb_typeof(e.body::jsonb -> k) when 'array' then '[]'::jsonb end)
          from unnest(attributes) k where e.body::jsonb ? k), '{}')
          || case when jsonb_typeof(e.body::jsonb -> 'ext') = 'object' then jsonb_build_object('ext', (e.body::jsonb -> 'ext') - attributes)
            else '{}' end)::text end
    where e.org_id = org and e.object_id = object;
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('events', n);

    update idempotency i set body = json_build_object('id', public_id, 'erased', true)::text
    where i.org_id = org and strpos(i.body, '"' || public_id || '"') > 0;
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('stored_answers', n);

    update inbox_request q set body = '', base64 = false where q.org_id = org and strpos(q.body, '"' || public_id || '"') > 0;
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('inbox_requests', n);

    update audit_entry e set previous = case when attributes is null then '{}' else e.previous - attributes end,
      details = case when attributes is not null and jsonb_typeof(e.details->'ext_after') = 'object'
        then jsonb_set(e.details, '{ext_after}', (e.details->'ext_after') - attributes) when attributes is not null then e.details end
    where e.org_id = org and e.object_id = object;
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('audit_entries', n);
    return counts;
  end $$;

-- Puts what is left of sealed entries in their place. The transaction is the one whose audit entry names them.
create function app.redact_audit(org bigint, positions bigint[], bodies text[], named_in bigint)
  returns void language sql security definer set search_path = public, pg_temp
  as $$
    update audit_seal s set body = r.body, erased_tx = named_in
    from unnest(positions, bodies) as r(position, body) where s.org_id = org and s.position = r.position
  $$;

grant select, update, delete on assertion to grid_system;
grant select, update on source_blank, source_record, job_error, job_diff_row, tx to grid_system;
grant delete on refold to grid_system;
grant select on inbox_request to grid_system;
grant update on event, idempotency, inbox_request, audit_head to grid_system;
grant select, update (previous, details) on audit_entry to grid_system;
grant select, update (body, erased_tx) on audit_seal to grid_system;
alter function app.erase_object(bigint, bigint, text, text[]) owner to grid_system;
alter function app.redact_audit(bigint, bigint[], text[], bigint) owner to grid_system;
revoke execute on function app.erase_object(bigint, bigint, text, text[]), app.redact_audit(bigint, bigint[], text[], bigint) from public;
grant execute on function app.erase_object(bigint, bigint, text, text[]), app.redact_audit(bigint, bigint[], text[], bigint) to grid_app;
