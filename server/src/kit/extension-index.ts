/** The index of filterable fields: written with the rows, by the same statement. */
import { LIMITS } from './extension-limits.ts'

/**
 * SQL of the columns of the index, for a field `f` and its stored JSON value `v`. Types decide which one is filled.
 * A text from before the field was limited to what can be indexed takes part with its beginning.
 */
export const INDEX_VALUES = `
    case when f.type in ('percent', 'integer', 'decimal', 'area', 'length', 'select', 'relation', 'document', 'money') then (v.v #>> '{}')::numeric end,
    case when f.type in ('text', 'url', 'email', 'phone', 'boolean') then left(v.v #>> '{}', ${LIMITS.indexed_text}) end,
    case when f.type in ('date', 'datetime') then (v.v #>> '{}')::timestamptz end`

/**
 * Parts of the door's statement: the values of the rows it writes go into the index, those they lost go out. Which fields
 * are filterable is looked up by the statement itself, so none is missed that was made so a moment ago.
 */
export function indexSql(type: string): string {
  const fields = `join schema_field f on f.org_id = $1::bigint and f.object_type = '${type}' and f.filterable`
  return `, indexed as (
    insert into ext_index (org_id, field_id, object_id, v_num, v_text, v_time)
    select $1::bigint, f.id, i._id, ${INDEX_VALUES}
    from input i join written on written.id = i._id ${fields}
    cross join lateral (select i._ext->('x' || f.id) as v) v
    where v.v is not null
    on conflict (org_id, field_id, object_id)
    do update set v_num = excluded.v_num, v_text = excluded.v_text, v_time = excluded.v_time
  ), unindexed as (
    delete from ext_index e using input i join written on written.id = i._id ${fields}
    where e.org_id = $1::bigint and e.field_id = f.id and e.object_id = i._id and i._ext->('x' || f.id) is null
  )`
}
