/** A worker that dies before or after any of a job's transactions: the next one ends the job as if nothing had happened. */
import { join } from 'node:path'
import { describe, expect, inject, it } from 'vitest'
import { checkOrganization } from '../../test/consistency.ts'
import { grid, newOrganization, ownDatabase } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import type { Session } from '../db/db.ts'
import { bareStore } from '../organizations/service.ts'
import { claimJob, findJob, letGo } from './job-queries.ts'
import type { Job } from './jobs.ts'
import { STANDARD_LIMITS } from './limits.ts'
import { adapterOf, buildings, load, ownIds, sendWith } from './load-fixture.ts'
import { runJob } from './run.ts'

await ownDatabase()
await ownIds()

const SNAPSHOT = adapterOf({}, { mode: 'full_snapshot', guards: { max_retract_pct: 100 } })
const HEAD = 'Code,Name,Area\n'
const FIRST = `${HEAD}${rows(700, 0, 1)}`
/** Two chunks: changed, unchanged, new; a bad row; one that ends. */
const SECOND = `${HEAD}${rows(40, 0, 2)}${rows(760, 40, 1)}Bad,N,x\n`.replace('K7,', 'L7,')

function rows(count: number, from: number, area: number): string {
  return Array.from({ length: count }, (_, i) => `K${from + i},N,${area}\n`).join('')
}

class Died extends Error {}

/** A session whose worker dies at a transaction: before it commits, or right after. */
function mortal(session: Session, life: { left: number }, when: 'before' | 'after'): Session {
  const live = (moment: 'before' | 'after'): void => {
    if (moment === when && --life.left === 0) throw new Died()
  }
  return {
    ...session,
    transaction: async (org_id, run) => {
      const result = await session.transaction(org_id, async (tx) => {
        const value = await run(tx)
        live('before')
        return value
      })
      live('after')
      return result
    },
  }
}

/** Takes the only waiting job and works on it until its worker dies. @returns whether it did. */
async function dieAt(at: number, when: 'before' | 'after'): Promise<boolean> {
  const { db } = await grid()
  const [session, spare] = [await db.session(), await db.session()]
  const [lease_id] = (await db.ids(1)) as [number]
  try {
    const claimed = await claimJob(db, lease_id, session.pid, 2)
    if (!claimed) throw new Error('no job is waiting')
    const job = (await findJob(db, claimed.org_id, claimed.id)) as Job
    const life = { left: at }
    const held = {
      store: bareStore(db),
      session: mortal(session, life, when),
      spare: mortal(spare, life, when),
      job,
      lease_id,
      limits: STANDARD_LIMITS,
      stopping: new AbortController().signal,
    }
    try {
      await runJob(held, join(inject('files'), 'imports', job.file_key))
      return false
    } catch (error) {
      if (!(error instanceof Died)) throw error
      await letGo(db, claimed, lease_id, 0)
      return true
    }
  } finally {
    session.release()
    spare.release()
  }
}

/** What the job left behind, without what differs from organization to organization. */
async function outcome(client: TestClient, id: string): Promise<unknown> {
  const job = await finished(client, id)
  const rows: Record<string, unknown> = {}
  for (const prefix of ['K1', 'K7', 'K39', 'K400', 'L7', 'K799']) {
    const { body } = await client.get(`/buildings?code=${prefix}&fields=code,name,rentable_area`)
    rows[prefix] = body.data.map((row: Record<string, unknown>) => ({ ...row, id: null }))
  }
  const { body } = await client.get('/buildings?limit=1&include=total_count')
  const errors = await client.get(`/sdis/jobs/${id}/errors`)
  return {
    state: job.state,
    counts: job.counts,
    total: body.total_count,
    errors: errors.body.data.map(({ row, code }: Record<string, unknown>) => [row, code]),
    rows,
  }
}

type Begin = (client: TestClient) => Promise<Answer['body']>

const begin: Record<string, Begin> = {
  load: async (client) => (await sendWith(client, SNAPSHOT, SECOND, {})).body,
  'load of one transaction': async (client) =>
    (await sendWith(client, SNAPSHOT, SECOND, { options: { atomic: true } })).body,
  'load after a check': async (client) =>
    (await sendWith(client, SNAPSHOT, SECOND, { mode: 'dry_run' })).body,
  undo: async (client) => {
    const job = await load(client, SNAPSHOT, SECOND)
    return (await client.post(`/sdis/jobs/${job.id}/undo`, undefined)).body
  },
}

describe.each(Object.entries(begin))('a worker that dies during a %s', (_, start) => {
  it.each(['before', 'after'] as const)(
    '%s any transaction leaves it to the next',
    { timeout: 170_000 },
    async (when) => {
      const prepared = async (): Promise<[TestClient, string]> => {
        const client = await newOrganization()
        await load(client, SNAPSHOT, FIRST, '2025-01-01')
        return [client, (await start(client)).id]
      }
      const [calm, id] = await prepared()
      const expected = await outcome(calm, id)
      for (let at = 1; ; at++) {
        const [client, disturbed] = await prepared()
        const died = await dieAt(at, when)
        expect(await outcome(client, disturbed)).toEqual(expected)
        expect(await checkOrganization(client.org_id)).toEqual([])
        if (!died) break
      }
    },
  )
})

it('the samples are what the file says', async () => {
  const client = await newOrganization()
  await load(client, SNAPSHOT, FIRST, '2025-01-01')
  const job = await load(client, SNAPSHOT, SECOND, '2025-02-01')
  expect(job.counts).toMatchObject({ created: 101, changed: 39, ended: 1, quarantined: 1 })
  expect(Object.keys(await buildings(client, 'name'))).toHaveLength(200)
})
