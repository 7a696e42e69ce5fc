/** Parties to merge in tests, and the background work done here and now. */
import { expect } from 'vitest'
import { grid } from '../../test/grid.ts'
import type { TestClient } from '../../test/grid.ts'
import { tendOrganization } from './work.ts'

/** @returns the id of a new company. */
export async function newParty(
  client: TestClient,
  name: string,
  more: object = {},
): Promise<string> {
  const { status, body } = await client.post('/parties', {
    kind: 'company',
    legal_name: name,
    ...more,
  })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

/** Merges two. @returns the id of the merge. */
export async function merged(client: TestClient, winner: string, loser: string): Promise<string> {
  const { status, body } = await client.post('/grid/v2/merges', { winner, loser })
  expect(status, JSON.stringify(body)).toBe(201)
  return body.id
}

/** Does the background work of the organization. */
export async function tend(client: TestClient): Promise<void> {
  const { db } = await grid()
  await tendOrganization(db, client.org_id, new AbortController().signal)
}

/** The object without what every write moves. */
export async function standing(client: TestClient, path: string): Promise<object> {
  const { body } = await client.get(path)
  const { version: _, updated_at: __, ...rest } = body
  return rest
}
