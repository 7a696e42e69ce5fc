/** Merges, pairs, candidates and runs as clients see them. */
import { publicId } from '../kit/ids.ts'
import type { Registry } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import type { Candidate } from './candidate-queries.ts'
import type { Run } from './run-queries.ts'
import type { Merge } from './merge-queries.ts'
import type { Pair } from './pair-queries.ts'

interface By {
  actor_type: string | null
  actor_id: string | null
  actor_name: string | null
}

function actorOf({ actor_type, actor_id, actor_name }: By): Row {
  return { type: actor_type, id: actor_id, name: actor_name }
}

function idOf(registry: Registry, type: string, id: number): string {
  return publicId(registry.get(type)?.prefix ?? 'obj', id)
}

export function mergeView(registry: Registry, merge: Merge): Row {
  const { object_type } = merge
  return {
    id: publicId('mrg', merge.id),
    object: 'merge',
    type: object_type,
    winner: idOf(registry, object_type, merge.winner_id),
    loser: idOf(registry, object_type, merge.loser_id),
    state: merge.unmerged_at ? 'unmerged' : 'merged',
    rule: merge.rule,
    score: merge.score,
    evidence: merge.evidence,
    reason: merge.reason,
    merged_at: merge.merged_at.toISOString(),
    unmerged_at: merge.unmerged_at?.toISOString() ?? null,
    actor: actorOf(merge),
    transaction: publicId('tx', merge.tx_id),
  }
}

export function pairView(registry: Registry, pair: Pair): Row {
  return {
    id: publicId('dnl', pair.id),
    object: 'do_not_link',
    type: pair.object_type,
    objects: [pair.low_id, pair.high_id].map((id) => idOf(registry, pair.object_type, id)),
    reason: pair.reason,
    created_at: pair.created_at.toISOString(),
    actor: actorOf(pair),
  }
}

export function candidateView(registry: Registry, candidate: Candidate): Row {
  const { object_type, low_id, high_id, merge_id, run_id } = candidate
  return {
    id: publicId('mat', candidate.id),
    object: 'match_candidate',
    type: object_type,
    objects: [low_id, high_id].map((id) => idOf(registry, object_type, id)),
    state: candidate.state,
    rule: candidate.rule,
    score: candidate.score,
    evidence: candidate.evidence,
    merge_id: merge_id === null ? null : publicId('mrg', merge_id),
    run_id: run_id === null ? null : publicId('mrn', run_id),
    created_at: candidate.created_at.toISOString(),
    decided_at: candidate.decided_at?.toISOString() ?? null,
    decided_by: candidate.decided_at ? actorOf(candidate) : null,
  }
}

export function runView(run: Run): Row {
  const { compared = 0, merged = 0, review = 0 } = run.counts
  return {
    id: publicId('mrn', run.id),
    object: 'match_run',
    type: run.object_type,
    job_id: run.job_id === null ? null : publicId('job', run.job_id),
    state: run.state,
    counts: { compared, merged, review },
    created_at: run.created_at.toISOString(),
    finished_at: run.finished_at?.toISOString() ?? null,
  }
}
