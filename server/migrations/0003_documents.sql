-- The ids of the objects a document is linked to, to find the documents of an object.
alter table document add column linked_to text[];
create index document_linked_to_idx on document using gin (org_id, linked_to);
