-- Events and audit entries of more than the changes of resources: keys, webhooks, dates that come due.

alter table event add column type text;
update event set type = object_type || '.' || operation;
alter table event alter column type set not null;
-- Null when the event tells of the object without being a change of it: such events are not in the change feed.
alter table event alter column operation drop not null;

-- What an entry says beside the object: an address, a scope, a route.
alter table audit_entry add column details jsonb;
