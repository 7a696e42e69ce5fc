/** What data-integration jobs tell others: how they ended, or that they wait for a person. */
import { publicId } from '../kit/ids.ts'
import { record } from '../kit/record.ts'
import type { EventDeclaration } from '../kit/record.ts'
import type { Actor, Tx } from '../kit/types.ts'
import { jobSchema } from './docs.ts'
import { jobView } from './jobs.ts'
import type { Job } from './jobs.ts'

export { adapterEvents } from './adapters/events.ts'

/** By the state that a job reaches. */
const ENDINGS: Readonly<Record<string, { title: string; description: string }>> = {
  completed: {
    title: 'Job completed',
    description: 'Every row of the file could be used.',
  },
  completed_with_errors: {
    title: 'Job completed with errors',
    description: 'The file is loaded, but rows were left out; the errors of the job say why.',
  },
  failed: {
    title: 'Job failed',
    description: 'The file could not be loaded; error says why.',
  },
  awaiting_review: {
    title: 'Job awaits review',
    description:
      'A guard of the adapter tripped, or approval was asked for; a person has to decide.',
  },
  cancelled: {
    title: 'Job cancelled',
    description: 'The job was stopped; what it had written stays.',
  },
}

/** What else happens to a job. */
const MOVES = {
  created: { title: 'Job created', description: 'A job was accepted and waits for a worker.' },
  started: { title: 'Job started', description: 'A worker took the job up for the first time.' },
  approved: {
    title: 'Job approved',
    description: 'A job that waited for a person may go on.',
  },
  undone: {
    title: 'Job undone',
    description: 'What the job wrote was taken back by the job named in undone_by.',
  },
} as const

export const jobEvents: readonly EventDeclaration[] = Object.entries({ ...MOVES, ...ENDINGS }).map(
  ([name, texts]) => ({
    type: `job.${name}`,
    ...texts,
    object_type: 'job',
    object: jobSchema,
  }),
)

/** Tells what happened to a job, in the transaction of it. @param actor the job itself when left out. */
export async function tellMove(
  tx: Tx,
  job: Job,
  move: keyof typeof MOVES,
  actor: Actor = actorOf(job),
): Promise<void> {
  await record(tx, job.org_id, actor, [
    { type: `job.${move}`, object_type: 'job', object_id: job.id, object: jobView(job) },
  ])
}

/** Tells how a job ended, in the transaction that ends it. @param actor the job itself when left out. */
export async function tellEnding(tx: Tx, job: Job, actor: Actor = actorOf(job)): Promise<void> {
  if (!(job.state in ENDINGS)) return
  await record(tx, job.org_id, actor, [
    { type: `job.${job.state}`, object_type: 'job', object_id: job.id, object: jobView(job) },
  ])
}

function actorOf({ id, actor_name }: Job): Actor {
  return { type: 'job', id: publicId('job', id), name: actor_name, request_id: null }
}
