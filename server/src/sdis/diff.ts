/**
 * What a load would do: counted, hashed, with samples and rows. The hash is over every object in file order, so that two
 * checks agree exactly when they would write the same; what the platform adds of itself (ids, times) is not part of it.
 */
import { createHash } from 'node:crypto'
import { publicId } from '../kit/ids.ts'
import type { Registry } from '../kit/query.ts'
import type { Row } from '../kit/resource.ts'
import { effectOfNew } from './effects.ts'
import type { Conflict, Effect, EffectAction } from './effects.ts'
import type { ErrorRow, JobCounts, JobError } from './jobs.ts'
import type { LoadItem } from './load.ts'
import { refsIn } from './resolve.ts'
import type { Stub } from './resolve.ts'

/** Samples of each kind that a summary carries. */
const SAMPLES = 20

/** Fields that tell when something was written. */
const TIMED = new Set(['status_history', 'status_changed_at'])

/** What a check found, as the job keeps it. */
export interface DiffSummary {
  /** By type of object. */
  objects: Record<string, Record<EffectAction, number>>
  facts: { added: number; corrected: number; ended: number; retracted: number }
  /** Values of objects that read otherwise afterwards. */
  current_values: number
  changed_fields: Record<string, number>
  conflicts: { won: number; lost: number }
  unresolved_references: number
  rows: { read: number; valid: number; quarantined: number; warnings: number }
  /** Guards that would stop the load and ask for approval. */
  guards: JobError[]
  samples: Record<'created' | 'changed' | 'ended', Row[]> & {
    conflicts: (Conflict & { key: string })[]
    unresolved: Row[]
  }
  /** Rows kept in the list of the diff, and whether there are more. */
  rows_kept: number
  truncated: boolean
}

/** A row of the diff, ready to be kept. */
export interface DiffRow {
  n: number
  action: EffectAction
  body: Row
}

/** Takes the effects of a load in file order. */
export class Diff {
  readonly guards: JobError[] = []
  private readonly registry: Registry
  private readonly most: number
  private readonly hash = createHash('sha256')
  private readonly kept = new Map<EffectAction, number>()
  private n = 0
  private readonly sum: Omit<DiffSummary, 'rows' | 'guards' | 'rows_kept' | 'truncated'> = {
    objects: {},
    facts: { added: 0, corrected: 0, ended: 0, retracted: 0 },
    current_values: 0,
    changed_fields: {},
    conflicts: { won: 0, lost: 0 },
    unresolved_references: 0,
    samples: { created: [], changed: [], ended: [], conflicts: [], unresolved: [] },
  }

  /** @param most rows kept of each action. */
  constructor(registry: Registry, most: number) {
    this.registry = registry
    this.most = most
  }

  /**
   * @param given the records as their rows state them, by row: references by key, before they were looked up.
   * @returns the rows to keep.
   */
  note(
    effects: readonly Effect[],
    stubs: readonly Stub[],
    given: ReadonlyMap<number, LoadItem>,
  ): DiffRow[] {
    const made = stubs.map(({ resource, key, change }) =>
      effectOfNew(resource, { key, row: null }, change),
    )
    const inOrder = effects.toSorted((a, b) => (a.row ?? 0) - (b.row ?? 0))
    return [...made, ...inOrder].flatMap((effect) => {
      const stated = effect.row === null ? null : (given.get(effect.row)?.stated ?? null)
      this.count(effect)
      this.hash.update(`${JSON.stringify(hashed(effect, stated))}\n`)
      return this.keep(effect)
    })
  }

  noteErrors(errors: readonly ErrorRow[]): void {
    const { samples } = this.sum
    for (const { code, row, field, message } of errors) {
      if (code !== 'unresolved_reference') continue
      this.sum.unresolved_references++
      if (samples.unresolved.length < SAMPLES) samples.unresolved.push({ row, field, message })
    }
  }

  /** The result, once everything was noted. */
  end(type: string, counts: JobCounts): { summary: DiffSummary; hash: string } {
    const { rows_read, rows_valid, quarantined, warnings } = counts
    // Records that are as they were were not even looked at.
    const objects = (this.sum.objects[type] ??= { created: 0, changed: 0, unchanged: 0, ended: 0 })
    objects.unchanged = counts.unchanged
    const rows = { read: rows_read, valid: rows_valid, quarantined, warnings }
    this.hash.update(JSON.stringify(rows))
    const summary = {
      ...this.sum,
      rows,
      guards: this.guards,
      rows_kept: [...this.kept.values()].reduce((sum, count) => sum + count, 0),
      truncated: [...this.kept.values()].includes(this.most),
    }
    return { summary, hash: this.hash.digest('hex') }
  }

  private count({ action, type, key, facts, fields, conflicts }: Effect): void {
    const { sum } = this
    const objects = (sum.objects[type] ??= { created: 0, changed: 0, unchanged: 0, ended: 0 })
    objects[action]++
    for (const fact of facts) sum.facts[fact.action]++
    sum.current_values += fields.length
    for (const { field } of fields) sum.changed_fields[field] = (sum.changed_fields[field] ?? 0) + 1
    for (const conflict of conflicts) {
      sum.conflicts[conflict.outcome]++
      if (sum.samples.conflicts.length < SAMPLES) sum.samples.conflicts.push({ key, ...conflict })
    }
  }

  private keep(effect: Effect): DiffRow[] {
    const { action } = effect
    const body = this.view(effect)
    if (action !== 'unchanged' && this.sum.samples[action].length < SAMPLES)
      this.sum.samples[action].push(body)
    const kept = this.kept.get(action) ?? 0
    if (kept === this.most) return []
    this.kept.set(action, kept + 1)
    return [{ n: ++this.n, action, body }]
  }

  private view({ object_id, ...effect }: Effect): Row {
    const prefix = this.registry.get(effect.type)?.prefix ?? 'obj'
    return { ...effect, object_id: object_id === null ? null : publicId(prefix, object_id) }
  }
}

/** What of an effect two checks have in common: the source's key stands for an object that is still to be made. */
function hashed(effect: Effect, stated: Row | null): unknown[] {
  const { action, type, key, object_id, facts, fields } = effect
  const value = (field: string, found: unknown): unknown => {
    if (TIMED.has(field)) return null
    const given = stated?.[field]
    return given !== undefined && refsIn(given).length > 0 ? given : found
  }
  return [
    action,
    type,
    key,
    object_id,
    facts.map((fact) => [fact.field, fact.valid_from, fact.action, value(fact.field, fact.value)]),
    fields.map(({ field, before, after }) => [field, before, value(field, after)]),
  ]
}
