/** SQL of the review queue. */
import type { Row } from '../kit/resource.ts'
import type { OrgDb, Tx } from '../kit/types.ts'

export interface Candidate {
  id: number
  object_type: string
  low_id: number
  high_id: number
  rule: string
  score: number
  evidence: Row[]
  state: string
  run_id: number | null
  merge_id: number | null
  actor_type: string | null
  actor_id: string | null
  actor_name: string | null
  created_at: Date
  decided_at: Date | null
}

const COLUMNS = `id, object_type, low_id, high_id, rule, score, evidence, state, run_id, merge_id, actor_type, actor_id,
  actor_name, created_at, decided_at`

type CandidateRow = Omit<Candidate, 'id' | 'low_id' | 'high_id' | 'run_id' | 'merge_id'> &
  Record<'id' | 'low_id' | 'high_id', string> &
  Record<'run_id' | 'merge_id', string | null>

function candidateOf(row: CandidateRow): Candidate {
  return {
    ...row,
    id: Number(row.id),
    low_id: Number(row.low_id),
    high_id: Number(row.high_id),
    run_id: row.run_id === null ? null : Number(row.run_id),
    merge_id: row.merge_id === null ? null : Number(row.merge_id),
  }
}

/** Candidates above an id, oldest first. */
export async function listCandidates(
  db: OrgDb,
  org_id: number,
  filter: { state: string; type: string | null; after: number; limit: number },
): Promise<Candidate[]> {
  const rows = await db.query<CandidateRow>(
    org_id,
    `select ${COLUMNS} from match_candidate where org_id = $1 and state = $2 and id > $3 and ($4::text is null or object_type = $4)
     order by id limit $5`,
    [org_id, filter.state, filter.after, filter.type, filter.limit],
  )
  return rows.map(candidateOf)
}

export async function findCandidate(
  db: OrgDb,
  org_id: number,
  id: number,
): Promise<Candidate | undefined> {
  const rows = await db.query<CandidateRow>(
    org_id,
    `select ${COLUMNS} from match_candidate where org_id = $1 and id = $2`,
    [org_id, id],
  )
  return rows.map(candidateOf)[0]
}

/** The same, kept from other decisions until the transaction ends. */
export async function lockCandidate(
  tx: Tx,
  org_id: number,
  id: number,
): Promise<Candidate | undefined> {
  const rows = await tx.query<CandidateRow>(
    `select ${COLUMNS} from match_candidate where org_id = $1 and id = $2 for update`,
    [org_id, id],
  )
  return rows.map(candidateOf)[0]
}

/** Notes a decision. */
export async function decide(
  tx: Tx,
  org_id: number,
  id: number,
  decision: { state: string; merge_id: number | null; at: Date },
  actor: { type: string; id: string | null; name: string },
): Promise<void> {
  await tx.query(
    `update match_candidate set state = $3, merge_id = $4, decided_at = $5, actor_type = $6, actor_id = $7, actor_name = $8
     where org_id = $1 and id = $2`,
    [org_id, id, decision.state, decision.merge_id, decision.at, actor.type, actor.id, actor.name],
  )
}

/** What a run found that it may not decide. */
export interface Finding {
  low_id: number
  high_id: number
  rule: string
  score: number
  evidence: Row[]
}

/** Puts findings into the queue; a pair that stands there stays as it is. @returns how many are new. */
export async function saveCandidates(
  tx: Tx,
  org_id: number,
  object_type: string,
  run_id: number,
  found: readonly (Finding & { id: number })[],
): Promise<number> {
  const rows = await tx.query(
    `insert into match_candidate (org_id, id, object_type, low_id, high_id, rule, score, evidence, state, run_id, created_at)
     select $1, f.id, $2, f.low_id, f.high_id, f.rule, f.score, f.evidence, 'open', $3, $4
     from jsonb_to_recordset($5::jsonb) as f(id bigint, low_id bigint, high_id bigint, rule text, score float8, evidence jsonb)
     where not exists (select from do_not_link d where d.org_id = $1 and d.low_id = f.low_id and d.high_id = f.high_id)
       and not exists (select from cluster_member m where m.org_id = $1 and m.object_id in (f.low_id, f.high_id))
     on conflict (org_id, low_id, high_id) do nothing returning id`,
    [org_id, object_type, run_id, new Date(), JSON.stringify(found)],
  )
  return rows.length
}
