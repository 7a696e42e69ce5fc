-- Events and audit entries of more than the changes of resources: keys, webhooks, dates that come due.

alter table event add column type text;
update event set type = object_type || '.' || operation;
alter table event alter column type set not null;
-- Null when the event tells of the object without being a change of it: such events are not in the change feed.
alter table event alter column operation drop not null;

-- What an entry says beside the object: an address, a scope, a route.
alter table audit_entry add column details jsonb;

-- Transactions that count no event share the number of the next one, so the head of the feed is the larger of the two.
create or replace function app.place_transactions(most integer)
  returns integer language plpgsql security definer set search_path = public, pg_temp
  as $$
  declare placed integer;
  begin
    if not pg_try_advisory_xact_lock(7016, 1) then return 0; end if;
    with ready as materialized (
      select t.org_id, t.tx_id, t.events from tx t
      where t.first_seq is null and t.xid < pg_snapshot_xmin(pg_current_snapshot())
      order by t.org_id, t.tx_id limit most
    ), heads as (
      select o.org_id, coalesce((
        select t.first_seq + t.events from tx t
        where t.org_id = o.org_id and t.first_seq is not null order by t.first_seq desc, t.events desc limit 1), 1) as next
      from (select distinct org_id from ready) o
    ), numbered as (
      select r.org_id, r.tx_id,
        h.next + sum(r.events) over (partition by r.org_id order by r.tx_id) - r.events as first_seq
      from ready r join heads h using (org_id)
    )
    update tx t set first_seq = n.first_seq from numbered n where t.org_id = n.org_id and t.tx_id = n.tx_id;
    get diagnostics placed = row_count;
    return placed;
  end $$;
