-- Erasing an attribute that is a list leaves an empty one in events, as it does in rows; events that never had the attribute
-- keep their objects.
create or replace function app.erase_object(org bigint, object bigint, public_id text, attributes text[])
  returns jsonb language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare
    counts jsonb := '{}';
    n bigint;
    kept constant text[] := array['_deleted', '_present'];
    keys text[];
  begin
    perform from audit_head h where h.org_id = org for update;

    update job_error e set raw = '{}' where e.org_id = org and e.raw <> '{}' and (
      exists (select from assertion a join tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
        where a.org_id = org and a.object_id = object and t.job_id = e.job_id and a.row_no = e.row_no)
      or (attributes is null and exists (select from source_record r
        where r.org_id = org and r.object_id = object and r.ext_key in (select v.value from jsonb_each_text(e.raw) v))));
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('error_rows', n);

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
          from unnest(attributes) k where e.body::jsonb ? k), '{}'))::text end
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
      details = case when attributes is not null then e.details end
    where e.org_id = org and e.object_id = object;
    get diagnostics n = row_count;
    counts := counts || jsonb_build_object('audit_entries', n);
    return counts;
  end $$;
