/** SQL of sources, rules and their changes. */
import type { Db } from '../db/db.ts'
import { BUILT_IN } from '../kit/history.ts'
import type { Row } from '../kit/resource.ts'
import type { Rule } from '../kit/survivorship.ts'
import type { Actor, OrgDb, OrgRows, Tx } from '../kit/types.ts'

/** Organizations with something to weigh again or to erase. */
export async function truthDue(db: Db, now: Date): Promise<number[]> {
  const rows = await db.flyControl('select app.truth_due($1::timestamptz)', [now.toISOString()])
  return rows.map(([org_id]) => Number(String(org_id)))
}

/** A source as its organization set it. */
export interface SourceRow {
  id: number
  kind: string
  name: string
  rank: number
  /** 0 to 1000. */
  trust: number
  min_confidence: number
  system_of_record: string[]
  freshness_days: number | null
  stale: boolean
  seen_at: Date | null
  version: number
  created_at: Date | null
}

const SOURCE_COLUMNS = `id, kind, name, rank, trust, min_confidence, system_of_record, freshness_days, stale, seen_at, version, created_at`

/** Sources every organization has, as they are until it changes them. */
const BUILT_IN_ROWS: readonly SourceRow[] = BUILT_IN.map((source) => ({
  ...source,
  trust: 1_000,
  system_of_record: [],
  freshness_days: null,
  stale: false,
  seen_at: null,
  version: 1,
  created_at: null,
}))

type Texts<T, K extends keyof T> = Omit<T, K> & Record<K, string>

function sourceRow(row: Texts<SourceRow, 'id'>): SourceRow {
  return { ...row, id: Number(row.id) }
}

export async function listSources(
  db: OrgRows,
  org_id: number,
  after: number,
  limit: number,
): Promise<SourceRow[]> {
  const rows = await db.query<Texts<SourceRow, 'id'>>(
    org_id,
    `select ${SOURCE_COLUMNS} from source where org_id = $1 and id > $2 order by id limit $3`,
    [org_id, after, limit],
  )
  const own = rows.map(sourceRow)
  const built = BUILT_IN_ROWS.filter(({ id }) => id > after && !own.some((o) => o.id === id))
  return [...built, ...own].sort((a, b) => a.id - b.id).slice(0, limit)
}

export async function findSource(
  db: OrgRows,
  org_id: number,
  id: number,
): Promise<SourceRow | undefined> {
  const [own] = await listSources(db, org_id, id - 1, 1)
  return own?.id === id ? own : undefined
}

export async function saveSource(tx: Tx, org_id: number, source: SourceRow): Promise<void> {
  await tx.query(
    `insert into source (org_id, id, kind, name, rank, trust, min_confidence, system_of_record, freshness_days, version, stale, created_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, now())
     on conflict (org_id, id) do update set rank = excluded.rank, trust = excluded.trust, min_confidence = excluded.min_confidence,
       system_of_record = excluded.system_of_record, freshness_days = excluded.freshness_days, version = excluded.version,
       stale = excluded.stale`,
    [
      org_id,
      source.id,
      source.kind,
      source.name,
      source.rank,
      source.trust,
      source.min_confidence,
      source.system_of_record,
      source.freshness_days,
      source.version,
      source.stale,
    ],
  )
}

/** Sources that were heard of again, or no longer are, since their claims were last weighed: turns them. */
export async function turnStale(tx: Tx, org_id: number, now: Date): Promise<SourceRow[]> {
  const rows = await tx.query<Texts<SourceRow, 'id'>>(
    `update source set stale = not stale where org_id = $1 and freshness_days is not null
       and stale <> (seen_at < $2::timestamptz - make_interval(days => freshness_days)) returning ${SOURCE_COLUMNS}`,
    [org_id, now],
  )
  return rows.map(sourceRow)
}

export interface RuleRow extends Rule {
  version: number
  created_at: Date
  updated_at: Date
}

const RULE_COLUMNS = `id, nullif(type, '') as type, nullif(attribute, '') as attribute, strategy, sources, min_confidence, version,
  created_at, updated_at`

function ruleRow(row: Texts<RuleRow, 'id'>): RuleRow {
  return { ...row, id: Number(row.id), sources: row.sources.map(Number) }
}

export async function listRules(
  db: OrgDb,
  org_id: number,
  filter: { type: string | null; attribute: string | null; after: number; limit: number },
): Promise<RuleRow[]> {
  const rows = await db.query<Texts<RuleRow, 'id'>>(
    org_id,
    `select ${RULE_COLUMNS} from survivorship_rule
     where org_id = $1 and id > $2 and ($3::text is null or type = $3) and ($4::text is null or attribute = $4) order by id limit $5`,
    [org_id, filter.after, filter.type, filter.attribute, filter.limit],
  )
  return rows.map(ruleRow)
}

export async function findRule(
  db: OrgRows,
  org_id: number,
  id: number,
): Promise<RuleRow | undefined> {
  const rows = await db.query<Texts<RuleRow, 'id'>>(
    org_id,
    `select ${RULE_COLUMNS} from survivorship_rule where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(ruleRow)[0]
}

/** @throws 23505 when another rule is for the same place. */
export async function saveRule(tx: Tx, org_id: number, rule: RuleRow): Promise<void> {
  await tx.query(
    `insert into survivorship_rule (org_id, id, type, attribute, strategy, sources, min_confidence, version, created_at, updated_at)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10)
     on conflict (org_id, id) do update set type = excluded.type, attribute = excluded.attribute, strategy = excluded.strategy,
       sources = excluded.sources, min_confidence = excluded.min_confidence, version = excluded.version, updated_at = excluded.updated_at`,
    [
      org_id,
      rule.id,
      rule.type ?? '',
      rule.attribute ?? '',
      rule.strategy,
      rule.sources,
      rule.min_confidence,
      rule.version,
      rule.created_at,
      rule.updated_at,
    ],
  )
}

export async function deleteRule(tx: Tx, org_id: number, id: number): Promise<void> {
  await tx.query('delete from survivorship_rule where org_id = $1 and id = $2', [org_id, id])
}

/**
 * Takes the rules until the transaction ends, once whoever writes what was weighed by them is done.
 * @returns the revision that begins.
 */
export async function nextRevision(tx: Tx, org_id: number): Promise<number> {
  const [head] = await tx.query<{ revision: number }>(
    `insert into survivorship_head (org_id, revision) values ($1, 1)
     on conflict (org_id) do update set revision = survivorship_head.revision + 1 returning revision`,
    [org_id],
  )
  return head?.revision as number
}

/** A change of rules on its way through the objects. */
export interface ChangeRow {
  id: number
  state: 'running' | 'completed'
  revision: number
  about: Row
  types: string[]
  after_id: number
  attribute: string | null
  alone: boolean
  predicted: number | null
  checked: number
  changed: number
  actor: Actor
  created_at: Date
  finished_at: Date | null
}

const CHANGE_COLUMNS = `id, state, revision, about, types, after_id, attribute, alone, predicted, checked, changed, actor, created_at, finished_at`

type ChangeTexts = Texts<ChangeRow, 'id' | 'after_id' | 'checked' | 'changed'>

function changeRow(row: ChangeTexts): ChangeRow {
  const [id, after_id, checked, changed] = [row.id, row.after_id, row.checked, row.changed].map(
    Number,
  )
  return { ...row, id, after_id, checked, changed } as ChangeRow
}

export async function insertChange(
  tx: Tx,
  org_id: number,
  change: Omit<ChangeRow, 'state' | 'after_id' | 'checked' | 'changed' | 'finished_at'>,
): Promise<void> {
  await tx.query(
    `insert into survivorship_change (org_id, id, state, revision, about, types, alone, predicted, actor, created_at, attribute)
     values ($1, $2, 'running', $3, $4, $5, $6, $7, $8, $9, $10)`,
    [
      org_id,
      change.id,
      change.revision,
      JSON.stringify(change.about),
      change.types,
      change.alone,
      change.predicted,
      JSON.stringify(change.actor),
      change.created_at,
      change.attribute,
    ],
  )
}

export async function listChanges(
  db: OrgDb,
  org_id: number,
  before: number | null,
  limit: number,
): Promise<ChangeRow[]> {
  const rows = await db.query<ChangeTexts>(
    org_id,
    `select ${CHANGE_COLUMNS} from survivorship_change where org_id = $1 and ($2::bigint is null or id < $2)
     order by id desc limit $3`,
    [org_id, before, limit],
  )
  return rows.map(changeRow)
}

export async function findChange(
  db: OrgDb,
  org_id: number,
  id: number,
): Promise<ChangeRow | undefined> {
  const [change] = await listChanges(db, org_id, id + 1, 1)
  return change?.id === id ? change : undefined
}

/**
 * The oldest change that is not done, for as long as the transaction lasts; undefined when there is none or another worker
 * has it. One that began while others were writing waits for them: they may not have seen its rules.
 */
export async function takeChange(tx: Tx, org_id: number): Promise<ChangeRow | undefined> {
  const rows = await tx.query<ChangeTexts>(
    `select ${CHANGE_COLUMNS} from survivorship_change
     where org_id = $1 and state = 'running' and xid < pg_snapshot_xmin(pg_current_snapshot())
     order by id limit 1 for update skip locked`,
    [org_id],
  )
  return rows.map(changeRow)[0]
}

/** Moves a change on; without types left it is completed. */
export async function moveChange(tx: Tx, org_id: number, change: ChangeRow): Promise<void> {
  await tx.query(
    `update survivorship_change set types = $3, after_id = $4, checked = $5, changed = $6, state = $7, finished_at = $8
     where org_id = $1 and id = $2`,
    [
      org_id,
      change.id,
      change.types,
      change.after_id,
      change.checked,
      change.changed,
      change.state,
      change.finished_at,
    ],
  )
}

export interface Due {
  object_id: number
  object_type: string
}

/** Notes that an object is to be weighed again at these times. */
export async function planRefold(
  tx: Tx,
  org_id: number,
  { object_id, object_type }: Due,
  times: readonly Date[],
): Promise<void> {
  await tx.query(
    `insert into refold (org_id, object_id, due_at, object_type) select $1, $2, t, $3 from unnest($4::timestamptz[]) as t
     on conflict do nothing`,
    [org_id, object_id, object_type, times],
  )
}

/** Takes objects that are to be weighed again by now. */
export async function takeDue(tx: Tx, org_id: number, now: Date, limit: number): Promise<Due[]> {
  const rows = await tx.query<Texts<Due, 'object_id'>>(
    `delete from refold r using (
       select d.object_id, d.due_at from refold d where d.org_id = $1 and d.due_at <= $2
       order by d.due_at, d.object_id limit $3 for update skip locked) due
     where r.org_id = $1 and r.object_id = due.object_id and r.due_at = due.due_at
     returning r.object_id, r.object_type`,
    [org_id, now, limit],
  )
  return rows.map((row) => ({ ...row, object_id: Number(row.object_id) }))
}

/** Notes why a transaction was written. */
export async function saveReason(
  tx: Tx,
  org_id: number,
  tx_id: number,
  reason: string,
): Promise<void> {
  await tx.query('update tx set reason = $3 where org_id = $1 and tx_id = $2', [
    org_id,
    tx_id,
    reason,
  ])
}
