-- References of loaded records whose object has not arrived: they are filled once it has.

create table pending_reference (
  org_id bigint not null,
  source_id bigint not null,
  stream text not null collate "C",
  ext_key text not null collate "C",
  field text not null collate "C",
  object_type text not null,
  target_type text not null,
  -- By what the object is told: its key in a stream of the source, or what its fields say.
  target_stream text,
  target_fields text[],
  value text not null,
  -- Valid time of the record that named it.
  valid_from timestamptz not null,
  -- The job that filled it: it waits again when that job is undone.
  filled_by bigint,
  constraint pending_reference_pkey primary key (org_id, source_id, stream, ext_key, field)
);
create index pending_reference_target_idx on pending_reference (org_id, target_type, source_id, stream, ext_key, field)
  where filled_by is null;
create index pending_reference_filled_idx on pending_reference (org_id, filled_by) where filled_by is not null;
alter table pending_reference enable row level security;
alter table pending_reference force row level security;
create policy pending_reference_org on pending_reference to grid_app using (org_id = app.org());
grant select, insert, update, delete on pending_reference to grid_app;

-- Records name their related objects by these.
create index property_code_idx on property (org_id, code);
create index building_code_idx on building (org_id, code);
create index lease_number_idx on lease (org_id, lease_number);
create index party_legal_name_idx on party (org_id, legal_name);

-- What a building uses and emits in a year, as benchmarking programmes publish it.
alter table building
  add column site_energy_use numeric,
  add column electricity_use numeric,
  add column natural_gas_use numeric,
  add column steam_use numeric,
  add column ghg_emissions numeric;
