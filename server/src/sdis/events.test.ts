import { describe, expect, it } from 'vitest'
import { eventFaults } from '../../test/event-schemas.ts'
import { eventsOf, payloadsOf } from '../../test/feed.ts'
import { newOrganization } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { finished, sendJob } from '../../test/jobs.ts'
import { adapterOf, blocked, fileOf, load } from './load-fixture.ts'

/** What jobs told, each with the job as the event shows it. */
async function told(client: TestClient): Promise<Answer['body'][]> {
  const payloads = await payloadsOf(client.org_id, await eventsOf(client.org_id, ['job.*']))
  expect(payloads.flatMap(eventFaults)).toEqual([])
  return payloads
}

const ROWS = 'Code,Name,Area\nA,Alpha,1\nB,Beta,2\nC,Gamma,3\n'

describe('a job tells once what happens to it', () => {
  it.each([
    ['completed', ROWS, {}],
    ['completed_with_errors', 'Code,Name,Area\nA,Alpha,many\n', {}],
    ['failed', 'Code,Name\nA,Alpha\n', {}],
  ])('%s', async (state, text, more) => {
    const client = await newOrganization()
    const job = await load(client, adapterOf({}, more), text)
    expect(job.state).toBe(state)
    const [created, started, event, ...others] = await told(client)
    expect(others).toEqual([])
    expect(created).toMatchObject({ type: 'job.created', data: { object: { state: 'queued' } } })
    expect(started).toMatchObject({ type: 'job.started', data: { object: { id: job.id } } })
    expect(event).toMatchObject({
      type: `job.${state}`,
      resource_seq: 0,
      actor: { type: 'job', id: job.id, name: 'Test key' },
      request_id: null,
    })
    expect(event.data).toEqual({ object: job })
  })

  it('awaiting_review, and then what became of it', async () => {
    const client = await newOrganization()
    const adapter = adapterOf({}, { mode: 'full_snapshot', guards: { max_retract_pct: 10 } })
    await load(client, adapter, ROWS, '2026-01-01')
    const job = await load(client, adapter, 'Code,Name,Area\nA,Alpha,1\n', '2026-02-01')
    expect(job.state).toBe('awaiting_review')
    await client.post(`/sdis/jobs/${job.id}/approve`, undefined)
    await finished(client, job.id)
    const types = (await told(client)).map(({ type }) => type)
    expect(types.slice(3)).toEqual([
      'job.created',
      'job.started',
      'job.awaiting_review',
      'job.approved',
      'job.completed',
    ])
  })

  it('cancelled before it ran, by the key that did so', async () => {
    const { client, release } = await blocked()
    try {
      const { body } = await sendJob(client, adapterOf(), fileOf(ROWS))
      const answer = await client.post(`/sdis/jobs/${body.id}/cancel`, undefined)
      expect(answer.status).toBe(200)
      await client.post(`/sdis/jobs/${body.id}/cancel`, undefined)
      const [, event, ...others] = await told(client)
      expect(others).toEqual([])
      expect(event).toMatchObject({
        type: 'job.cancelled',
        actor: { type: 'api_key', name: 'Test key' },
        request_id: answer.headers.get('x-request-id'),
        data: { object: { id: body.id, state: 'cancelled' } },
      })
    } finally {
      await release()
    }
  })
})
