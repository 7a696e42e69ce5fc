/** A job followed from outside: server-sent events while it runs, OpenLineage run events when it moved. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, it } from 'vitest'
import { Egress } from '../egress.ts'
import { grid, newOrganization, ownDatabase } from '../../test/grid.ts'
import { finished } from '../../test/jobs.ts'
import { adapterOf, blocked, load, ownIds, sendWith } from './load-fixture.ts'
import { sendRunEvents } from './run-events.ts'
import { STREAMS_MAX } from './stream.ts'

await ownDatabase()
await ownIds()

const TEXT = 'Code,Name,Area\nA,Alpha,1\nB,Beta,x\n'

/** Events of a stream as they come, until it ends. */
async function* events(
  answer: Response,
): AsyncGenerator<{ event: string; data: { state: string } }> {
  let rest = ''
  for await (const bytes of answer.body as AsyncIterable<Uint8Array>) {
    rest += Buffer.from(bytes).toString()
    const parts = rest.split('\n\n')
    rest = parts.pop() as string
    for (const part of parts) {
      const field = (name: string): string =>
        new RegExp(`^${name}: (.*)$`, 'm').exec(part)?.[1] ?? ''
      if (!part.startsWith(':')) yield { event: field('event'), data: JSON.parse(field('data')) }
    }
  }
}

describe('GET /sdis/jobs/{id}/stream', () => {
  it('tells the present state, then every change, and ends with the job', async () => {
    const { client, release } = await blocked()
    const { body } = await sendWith(client, adapterOf(), TEXT, {})
    const { base } = await grid()
    const answer = await fetch(`${base}/sdis/jobs/${body.id}/stream`, {
      headers: { 'x-api-key': client.key },
    })
    expect(answer.headers.get('content-type')).toBe('text/event-stream; charset=utf-8')
    const told = events(answer)
    expect((await told.next()).value).toMatchObject({
      event: 'progress',
      data: { state: 'queued' },
    })
    await release()
    await finished(client, body.id)
    let last: unknown
    for await (const event of told) last = event
    expect(last).toMatchObject({ event: 'end', data: { state: 'completed_with_errors' } })
  })

  it('is open to so many of an organization at once', async () => {
    const { client, release } = await blocked()
    const { body } = await sendWith(client, adapterOf(), TEXT, {})
    const { base } = await grid()
    const open = new AbortController()
    const follow = async (): Promise<Response> =>
      await fetch(`${base}/sdis/jobs/${body.id}/stream`, {
        headers: { 'x-api-key': client.key },
        signal: open.signal,
      })
    for (let i = 0; i < STREAMS_MAX; i++) {
      const answer = await follow()
      expect(answer.status).toBe(200)
      await events(answer).next()
    }
    expect((await follow()).status).toBe(429)
    open.abort()
    await release()
    await finished(client, body.id)
  })
})

describe('lineage', () => {
  it('is told as run events: file, mapping, statistics', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), TEXT)
    const { body } = await client.get(`/sdis/jobs/${job.id}/lineage`)
    expect(body.data.map(({ eventType }: { eventType: string }) => eventType)).toEqual([
      'START',
      'RUNNING',
      'COMPLETE',
    ])
    const complete = body.data[2]
    expect(complete).toMatchObject({
      schemaURL: 'https://openlineage.io/spec/2-0-2/OpenLineage.json#/$defs/RunEvent',
      run: {
        runId: expect.stringMatching(
          /^[0-9a-f]{8}-[0-9a-f]{4}-8[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/,
        ),
      },
      job: { namespace: `portfolio-grid/${client.organization_id}`, name: 'buildings.buildings' },
      inputs: [
        {
          namespace: 'file',
          name: 'table.csv',
          facets: { version: { datasetVersion: job.file.sha256 } },
          inputFacets: { inputStatistics: { rowCount: 2, size: job.file.byte_size } },
        },
      ],
      outputs: [
        {
          name: 'building',
          facets: {
            columnLineage: { fields: { rentable_area: { inputFields: [{ field: 'Area' }] } } },
          },
          outputFacets: { outputStatistics: { rowCount: 1 } },
        },
      ],
    })
    const { body: undo } = await client.post(`/sdis/jobs/${job.id}/undo`, undefined)
    await finished(client, undo.id)
    const undone = (await client.get(`/sdis/jobs/${undo.id}/lineage`)).body.data
    expect(undone[0].run.facets.parent.run.runId).toBe(complete.run.runId)
  })

  it('of a job that failed says why', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), 'Code,Name\nA,Alpha\n')
    const { body } = await client.get(`/sdis/jobs/${job.id}/lineage`)
    expect(body.data.at(-1)).toMatchObject({
      eventType: 'FAIL',
      run: { facets: { errorMessage: { message: expect.stringContaining('missing_columns') } } },
    })
  })

  it('is sent to the collector of the operator, again when that fails', async () => {
    const client = await newOrganization()
    const job = await load(client, adapterOf(), TEXT)
    const { body } = await client.get(`/sdis/jobs/${job.id}/lineage`)
    const runId = body.data[0].run.runId as string
    const got: string[] = []
    let refused = 0
    const server = createServer((request, response) => {
      let text = ''
      request.on('data', (part) => (text += part))
      request.on('end', () => {
        const event = JSON.parse(text)
        const fails = event.run.runId === runId && event.eventType === 'RUNNING' && refused++ === 0
        if (!fails && event.run.runId === runId) got.push(event.eventType)
        response.writeHead(fails ? 500 : 201).end()
      })
    }).listen(0, '127.0.0.1')
    await new Promise((resolve) => server.once('listening', resolve))
    const { port } = server.address() as AddressInfo
    const config = { GRID_OPENLINEAGE_URL: `http://127.0.0.1:${port}/api/v1/lineage` }
    const { db } = await grid()
    const egress = new Egress()
    await sendRunEvents(config, db, egress)
    expect(got.toSorted()).toEqual(['COMPLETE', 'START'])
    await db.query(
      client.org_id,
      `update job_run_event set next_at = now() where org_id = $1 and next_at is not null`,
      [client.org_id],
    )
    await sendRunEvents(config, db, egress)
    expect(got).toContain('RUNNING')
    expect(await sendRunEvents({ GRID_OPENLINEAGE_URL: null }, db, egress)).toBeGreaterThan(0)
    await egress.close()
    server.close()
  })
})
