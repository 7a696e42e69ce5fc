/**
 * Finds objects that are one: by identifiers, which decide where they are unique, and by likeness, which decides where it is
 * beyond doubt. What lies between is put to a person.
 */
import { ApiError } from '../kit/errors.ts'
import type { Resource, Row } from '../kit/resource.ts'
import type { Store } from '../kit/store.ts'
import type { Actor } from '../kit/types.ts'
import { SYSTEM } from '../organizations/service.ts'
import { saveCandidates } from './candidate-queries.ts'
import type { Finding } from './candidate-queries.ts'
import { IDENTIFIERS, SHORTEST } from './identifiers.ts'
import {
  alike,
  beforeFirst,
  leasesAlike,
  nextObjects,
  sameIdentifier,
  sideOf,
} from './match-queries.ts'
import type { Hit, Near, Standing } from './match-queries.ts'
import { merge } from './merge.ts'
import type { MergeRequest } from './merge.ts'
import { followAtOnce } from './references.ts'
import { saveRun, takeRun } from './run-queries.ts'
import type { Run } from './run-queries.ts'
import { COMPARED_TYPES, inOneBlock, likeness, nameWords } from './similarity.ts'

/** From this likeness on two are one without a person being asked; from the other on one is asked. */
const CERTAIN = 0.98
const DOUBTFUL = 0.8

/** Scores of pairs by identifiers that do not decide: several objects have it, or it is not unique by its nature. */
const SEVERAL = 0.95
const UNSURE = 0.9

/** Objects compared before the progress of a run is saved. */
const BATCH = 25

/** Others that an object is compared with by likeness. */
const OTHERS = 10

/** Objects of a run that are compared by likeness; those beyond by identifiers only. */
const COMPARED_MAX = 20_000

/** Refusals of a merge that only mean that it is not to be. */
const REFUSALS = new Set(['do_not_link', 'same_source', 'conflict', 'validation_failed'])

/** Works on the oldest run of the organization. @returns whether it ended one or went on with one; null without any. */
export async function stepRun(store: Store, org_id: number): Promise<'ended' | 'open' | null> {
  return await store.db.transaction(org_id, async (tx) => {
    const run = await takeRun(tx, org_id)
    if (!run) return null
    const matcher = new Matcher(store, org_id, run)
    const objects = await matcher.next()
    const found = await matcher.match(objects)
    const ids = await store.db.ids(found.length)
    const review = await saveCandidates(
      tx,
      org_id,
      run.object_type,
      run.id,
      found.map((one, i) => ({ ...one, id: ids[i] as number })),
    )
    const { compared = 0, merged = 0, review: before = 0 } = run.counts
    const ended = objects.length < BATCH
    await saveRun(tx, org_id, {
      ...run,
      state: ended ? 'completed' : 'running',
      after_id: objects.at(-1)?.id ?? run.after_id,
      counts: {
        compared: compared + objects.length,
        merged: merged + matcher.merged,
        review: before + review,
      },
      finished_at: ended ? new Date() : null,
    })
    return ended ? 'ended' : 'open'
  })
}

/** One batch of a run. */
class Matcher {
  merged = 0
  private readonly store: Store
  private readonly org_id: number
  private readonly run: Run
  private readonly resource: Resource
  private readonly actor: Actor

  constructor(store: Store, org_id: number, run: Run) {
    this.store = store
    this.org_id = org_id
    this.run = run
    this.resource = store.registry.get(run.object_type) as Resource
    this.actor = SYSTEM
  }

  async next(): Promise<Standing[]> {
    const { store, org_id, run } = this
    if (run.job_id !== null && run.side === null) {
      run.side = await sideOf(store.db, org_id, run)
      if (run.side === null) return []
    }
    if (run.side === 'created' && run.after_id === 0) {
      const first = await beforeFirst(store.db, org_id, run)
      if (first === null) return []
      return await nextObjects(store.db, org_id, { ...run, after_id: first }, BATCH)
    }
    return await nextObjects(store.db, org_id, run, BATCH)
  }

  /** Merges what is certain. @returns what is not. */
  async match(objects: readonly Standing[]): Promise<Finding[]> {
    if (objects.length === 0) return []
    const findings: Finding[] = []
    const left = await this.byIdentifier(objects, findings)
    await this.byLikeness(left, findings)
    return findings
  }

  /** @returns objects that no identifier speaks of. */
  private async byIdentifier(
    objects: readonly Standing[],
    findings: Finding[],
  ): Promise<Standing[]> {
    const { store, org_id, run } = this
    const ids = objects.map(({ id }) => id)
    const deciding = new Map<number, Map<number, Row>>()
    const spoken = new Set<number>()
    for (const identifier of IDENTIFIERS[run.object_type] ?? []) {
      const hits = await sameIdentifier(
        store.db,
        org_id,
        run.object_type,
        identifier,
        ids,
        SHORTEST,
      )
      for (const hit of hits) {
        spoken.add(hit.id)
        const evidence = evidenceOf(identifier.field, hit)
        if (!identifier.decides) findings.push(finding(hit, 'identifier', UNSURE, [evidence]))
        else deciding.set(hit.id, (deciding.get(hit.id) ?? new Map()).set(hit.other, evidence))
      }
    }
    for (const [id, others] of deciding) {
      const [[other, evidence] = [0, {}]] = others
      if (others.size === 1 && (await this.join(id, other, 'identifier', 1, [evidence]))) continue
      if (others.size === 1) continue
      for (const [one, why] of others)
        findings.push(finding({ id, other: one }, 'identifier', SEVERAL, [why]))
    }
    return objects.filter(({ id }) => !spoken.has(id))
  }

  private async byLikeness(objects: readonly Standing[], findings: Finding[]): Promise<void> {
    const { object_type } = this.run
    if (!COMPARED_TYPES.includes(object_type)) return
    if ((this.run.counts.compared ?? 0) >= COMPARED_MAX) return
    const near = Map.groupBy(await this.near(objects), ({ of }) => of)
    for (const { id, row } of objects) {
      const others = new Map((near.get(id) ?? []).map((other) => [other.id, other.row]))
      const likely = [...others]
        .filter(([, other]) => inOneBlock(object_type, row, other))
        .map(([other, it]) => ({ other, ...likeness(object_type, row, it) }))
        .filter(({ score }) => score >= DOUBTFUL)
        .sort((a, b) => b.score - a.score || a.other - b.other)
      const certain = likely.filter(({ score }) => score >= CERTAIN)
      const [best] = certain
      if (best && certain.length === 1) {
        const { other, score, comparisons } = best
        if (await this.join(id, other, 'fuzzy', score, comparisons as unknown as Row[])) continue
      }
      for (const { other, score, comparisons } of likely)
        findings.push(finding({ id, other }, 'fuzzy', score, comparisons as unknown as Row[]))
    }
  }

  private async near(objects: readonly Standing[]): Promise<Near[]> {
    const { store, org_id, run } = this
    if (run.object_type === 'lease') {
      const ids = objects.map(({ id }) => id)
      return await leasesAlike(store.db, org_id, ids, OTHERS)
    }
    const sought = objects.flatMap(({ id, row }) => textsOf(row).map((text) => ({ id, text })))
    return await alike(store.db, org_id, run.object_type, sought, OTHERS)
  }

  /** Merges two into the older of them. @returns false when that may not be. */
  private async join(
    a: number,
    b: number,
    rule: MergeRequest['rule'],
    score: number,
    evidence: Row[],
  ): Promise<boolean> {
    const { store, org_id, actor, resource } = this
    const [winner, loser] = a < b ? [a, b] : [b, a]
    const doer = { store, org_id, actor }
    const request = { resource, winner, loser, rule, score, evidence, reason: null, force: false }
    try {
      await store.db.transaction(org_id, async (tx) => await merge(doer, tx, request))
    } catch (error) {
      if (error instanceof ApiError && REFUSALS.has(error.code)) return false
      throw error
    }
    this.merged++
    await followAtOnce(doer, resource, loser)
    return true
  }
}

/** What to look for others by: the name without its legal form, and the street. */
function textsOf(row: Row): string[] {
  const name = row['legal_name'] ?? row['name']
  const { line1 } = (row['address'] ?? {}) as Row
  const texts = typeof name === 'string' ? [nameWords(name).join(' ')] : []
  if (typeof line1 === 'string') texts.push(line1.toLowerCase())
  return texts.filter((text) => text.length >= 3)
}

function evidenceOf(comparison: string, { left, right }: Hit): Row {
  return { comparison, level: 'identifier', left, right, weight: null }
}

function finding(
  { id, other }: { id: number; other: number },
  rule: string,
  score: number,
  evidence: Row[],
): Finding {
  return { low_id: Math.min(id, other), high_id: Math.max(id, other), rule, score, evidence }
}
