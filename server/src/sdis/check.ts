/** A run that writes nothing: what a load would do, chunk by chunk on the path that writes, kept as the job's diff. */
import { withCounts } from './jobs.ts'
import type { Job } from './jobs.ts'
import { saveDiff, saveProgress } from './job-queries.ts'
import { dropDiffRows, saveDiffRows } from './diff-queries.ts'
import { Diff } from './diff.ts'
import { forgetUnfinished } from './error-queries.ts'
import type { Source, Survey } from './chunks.ts'
import { endMissing } from './ending.ts'
import { KeyCounts } from './keys.ts'
import { passAll } from './line.ts'
import { errorGuard, keepChunkErrors, partOf } from './pass.ts'
import type { Ready } from './pass.ts'
import { goOn, GuardTripped } from './running.ts'
import type { Running } from './running.ts'

/** Does the job write only after a check, and has it written nothing yet? */
export function checksFirst({ job, done }: Running): boolean {
  const { approve, diff } = job.options
  return job.dry_run || (done.size === 0 && (approve === 'always' || diff !== undefined))
}

/**
 * Finds out what the load would do and keeps it with the job.
 * @returns the check's run, for its counts, and the hash of what it found.
 */
export async function check(
  running: Running,
  source: Source,
  found: Survey,
): Promise<{ checked: Running; hash: string }> {
  const { job, load, store, limits, session, lease_id } = running
  await dropDiffRows(store.db, job)
  const diff = new Diff(store.registry, limits.diff_rows)
  const checked: Running = {
    ...running,
    load: { ...load, watched: true, unseen: true },
    counts: { ...running.counts },
    external: new KeyCounts(),
    errors: await forgetUnfinished(store.db, job),
    diff,
  }
  const seen = new KeyCounts()
  await passAll(checked, source, seen, found, () => async (ready, before) => {
    await before
    await noteChunk(checked, ready, diff)
  })
  if (job.adapter.mode === 'full_snapshot') await endMissing(checked, seen)
  const { summary, hash } = diff.end(load.resource.name, checked.counts)
  await session.transaction(job.org_id, async (tx) => {
    await saveDiff(tx, job, lease_id, summary, hash)
  })
  return { checked, hash }
}

async function noteChunk(running: Running, ready: Ready, diff: Diff): Promise<void> {
  const { session, job, lease_id } = running
  const tripped = job.approved ? null : errorGuard(running, ready)
  const known = diff.guards.find(({ code }) => code === tripped?.code)
  if (tripped && known) Object.assign(known, tripped)
  else if (tripped) diff.guards.push(tripped)
  const given = new Map(ready.mapped.items.map((item) => [item.row ?? 0, item]))
  const rows = diff.note(ready.prepared.effects, ready.resolved.stubs, given)
  diff.noteErrors(ready.errors)
  running.counts = withCounts(running.counts, partOf(ready, ready.prepared))
  const state = await session.transaction(job.org_id, async (tx) => {
    await saveDiffRows(tx, job, rows)
    await keepChunkErrors(tx, running, ready)
    return await saveProgress(tx, job, lease_id, 'checking', running.counts)
  })
  running.errors += ready.errors.length
  goOn(running, state)
}

/**
 * Stops a job before it writes: when it would do something else than the dry run it names, when a guard trips, when it is
 * to wait for approval in any case.
 * @param expected hash that the check must come to, null for any.
 */
export function judge(
  job: Job,
  diff: Running['diff'],
  hash: string,
  expected: string | null,
): void {
  if (expected !== null && hash !== expected)
    throw new GuardTripped(
      'diff_mismatch',
      'The load would do something else than the dry run: the file, the adapter or the data has changed since.',
      { expected, found: hash },
    )
  if (job.approved) return
  const [tripped] = diff?.guards ?? []
  if (tripped) throw new GuardTripped(tripped.code, tripped.message, tripped.details, true)
  if (job.options.approve === 'always')
    throw new GuardTripped('approval_required', 'The job waits for approval of its diff.', {}, true)
}
