/** What a statement of the console may use. What is not listed here is refused, also what PostgreSQL brings later. */

/** Functions, by name. None reads other tables, files or settings, waits, locks, or makes much of little. */
export const FUNCTIONS: ReadonlySet<string> = new Set([
  // Aggregates.
  ...words(`
    avg bool_and bool_or corr count covar_pop covar_samp every max min mode percentile_cont
    percentile_disc stddev stddev_pop stddev_samp sum var_pop var_samp variance
  `),
  // Over windows.
  ...words(`
    cume_dist dense_rank first_value lag last_value lead nth_value ntile percent_rank rank
    row_number
  `),
  // Numbers.
  ...words(`
    abs ceil ceiling div floor ln log mod round sign sqrt trim_scale trunc width_bucket
  `),
  // Text.
  ...words(`
    btrim char_length character_length concat concat_ws initcap left length like_escape lower
    ltrim md5 octet_length position regexp_count regexp_like regexp_replace regexp_substr
    replace reverse right rtrim split_part starts_with string_to_array strpos substr substring
    to_char to_number translate upper
  `),
  // Dates and times.
  ...words(`
    age date_bin date_part date_trunc extract justify_days make_date make_interval now
    timezone to_date to_timestamp
  `),
  // JSON and arrays.
  ...words(`
    array_length array_position cardinality jsonb_array_elements jsonb_each
    jsonb_array_elements_text jsonb_array_length jsonb_each_text jsonb_extract_path
    jsonb_extract_path_text jsonb_object_keys jsonb_typeof to_jsonb unnest
  `),
  // Rows out of nothing, as many as constants say.
  ...words(`
    generate_series num_nonnulls num_nulls
  `),
])

/** Types that a value may be cast to. Those that look into the catalog are none of them. */
export const TYPES: ReadonlySet<string> = new Set(
  words(`
    bool bpchar date float4 float8 int2 int4 int8 interval json jsonb numeric text time
    timestamp timestamptz timetz uuid varchar
  `),
)

/** Operators; raising to a power is none, as a few signs of it take seconds. */
export const SIGNS: ReadonlySet<string> = new Set([
  ...words('= <> != < > <= >= + - * / % ||'),
  ...words('~~ !~~ ~~* !~~* ~ ~* !~ !~*'),
  ...words('-> ->> #> #>> @> <@ ? ?| ?& &&'),
  'BETWEEN',
  'NOT BETWEEN',
  'BETWEEN SYMMETRIC',
  'NOT BETWEEN SYMMETRIC',
])

/** Values that SQL has names for; who is logged in, and where, is none of them. */
export const NAMED_VALUES: ReadonlySet<string> = new Set([
  'SVFOP_CURRENT_DATE',
  'SVFOP_CURRENT_TIME',
  'SVFOP_CURRENT_TIMESTAMP',
  'SVFOP_LOCALTIME',
  'SVFOP_LOCALTIMESTAMP',
])

function words(text: string): string[] {
  return text.trim().split(/\s+/)
}
