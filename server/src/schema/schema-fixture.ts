/** Fields deployed by the interface, for tests. */
import { expect } from 'vitest'
import type { Answer, TestClient } from '../../test/grid.ts'
import { leaseParents, samples } from '../../test/samples.ts'

/** Proposes, approves and deploys a sentence. @returns the deployed plan. */
export async function deployed(client: TestClient, text: string): Promise<Answer> {
  const proposed = await client.post('/schema-extensions/propose', { text })
  expect(proposed).toMatchObject({ status: 201, body: { questions: [] } })
  return await deployPlan(client, proposed.body)
}

/** The same for operations. */
export async function deployOperations(
  client: TestClient,
  operations: readonly object[],
): Promise<Answer> {
  const plan = await client.post('/schema-extensions', { operations })
  expect(plan).toMatchObject({ status: 201 })
  return await deployPlan(client, plan.body)
}

async function deployPlan(
  client: TestClient,
  plan: { id: string; confirm: string[] },
): Promise<Answer> {
  const path = `/schema-extensions/${plan.id}`
  const approved = await client.post(`${path}/approve`, { confirm: plan.confirm })
  expect(approved).toMatchObject({ status: 200, body: { state: 'validating' } })
  const answer = await client.post(`${path}/deploy`, {})
  expect(answer).toMatchObject({ status: 200, body: { state: 'deployed' } })
  return answer
}

export async function newLease(client: TestClient, extra: object = {}): Promise<Answer> {
  const { property_id, tenant_party_id } = await leaseParents(client)
  return await client.post('/leases', { ...samples.lease(property_id, tenant_party_id), ...extra })
}
