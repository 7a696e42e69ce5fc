-- The list of leases by their end, latest first: an index that is read backwards would put those without an end first.
create index lease_expiration_latest_idx on lease (org_id, expiration_date desc nulls last, id);
