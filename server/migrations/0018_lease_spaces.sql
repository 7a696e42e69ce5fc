-- Leases are found by the ids of their spaces too.
update lease set search = concat_ws(' ', search, (
  select string_agg(v, ' ') from json_array_elements_text(
    case json_typeof(body::json -> 'space_ids') when 'array' then body::json -> 'space_ids' end) v))
where body like '%"space_ids":["spc_%';
