/** An app in tests: registers, sends people to the consent page, and gets tokens over HTTP. */
import { createHash, randomBytes } from 'node:crypto'
import { expect } from 'vitest'
import { clientWith, grid, newOrganization, owner } from '../../test/grid.ts'
import type { Answer, TestClient } from '../../test/grid.ts'
import { faultsOf, operations } from '../../test/openapi.ts'
import type { Operation } from '../../test/openapi.ts'
import type { Row } from '../kit/resource.ts'

export const REDIRECT = 'https://app.example.com/done'

export const APP = {
  client_name: 'Rent Roll Studio',
  description: 'Draws rent rolls.',
  homepage_url: 'https://app.example.com',
  redirect_uris: [REDIRECT],
  scope: 'read:leases read:parties read:buildings',
  grant_types: ['authorization_code', 'refresh_token', 'client_credentials'],
}

export interface TestApp {
  id: string
  secret: string
  basic: { authorization: string }
}

/** Registers an app of the client's organization. */
export async function newApp(client: TestClient, body: Row = {}): Promise<TestApp> {
  const answer = await client.post('/developer/apps/register', { ...APP, ...body })
  expect(answer.status, JSON.stringify(answer.body)).toBe(201)
  return appWith(answer.body.client_id, answer.body.client_secret ?? '')
}

export function appWith(id: string, secret: string): TestApp {
  const basic = Buffer.from(`${id}:${secret}`).toString('base64')
  return { id, secret, basic: { authorization: `Basic ${basic}` } }
}

/** A request that is not followed when it is redirected. */
export async function send(
  path: string,
  form: Record<string, string> | string | null,
  headers: Record<string, string> = {},
): Promise<Answer> {
  const { base } = await grid()
  const response = await fetch(base + path, {
    redirect: 'manual',
    headers,
    ...(form === null ? {} : { method: 'POST', body: new URLSearchParams(form) }),
  })
  const text = await response.text()
  const json = /json/.test(response.headers.get('content-type') ?? '') && text
  return {
    status: response.status,
    headers: response.headers,
    body: json ? JSON.parse(text) : text,
  }
}

/** A verifier and its challenge. */
export function pkce(): { verifier: string; challenge: string } {
  const verifier = randomBytes(32).toString('base64url')
  return { verifier, challenge: createHash('sha256').update(verifier).digest('base64url') }
}

/** An authorization request; undefined leaves a parameter out. */
export function authorization(
  app: TestApp,
  challenge: string,
  more: Record<string, string | undefined> = {},
): Record<string, string> {
  const all: Record<string, string | undefined> = {
    response_type: 'code',
    client_id: app.id,
    redirect_uri: REDIRECT,
    scope: 'read:leases read:parties',
    state: 'state-1',
    code_challenge: challenge,
    code_challenge_method: 'S256',
    ...more,
  }
  return Object.fromEntries(
    Object.entries(all).flatMap(([k, v]) => (v === undefined ? [] : [[k, v]])),
  )
}

/** Where an answer sends the person, as an address with its parameters. */
export function sentTo(answer: Answer): URL {
  expect(answer.status, String(answer.body)).toBe(303)
  return new URL(answer.headers.get('location') ?? '')
}

/** A person of the client's organization allows it. @returns the code. */
export async function consent(
  app: TestApp,
  client: TestClient,
  challenge: string,
  more: Record<string, string | undefined> = {},
): Promise<string> {
  const form = { ...authorization(app, challenge, more), api_key: client.key, decision: 'allow' }
  return sentTo(await send('/oauth/consent', form)).searchParams.get('code') ?? ''
}

export async function token(
  app: TestApp,
  form: Record<string, string>,
  headers: Record<string, string> = app.basic,
): Promise<Answer> {
  return await send('/oauth/token', form, headers)
}

/** A consent and its first tokens. */
export async function signedIn(
  app: TestApp,
  client: TestClient,
  more: Record<string, string | undefined> = {},
): Promise<{ code: string; verifier: string; access: string; refresh: string; scope: string }> {
  const { verifier, challenge } = pkce()
  const code = await consent(app, client, challenge, more)
  const answer = await token(app, codeForm(code, verifier))
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  const { access_token: access, refresh_token: refresh, scope } = answer.body
  return { code, verifier, access, refresh, scope }
}

export function codeForm(code: string, code_verifier: string): Record<string, string> {
  return { grant_type: 'authorization_code', code, code_verifier, redirect_uri: REDIRECT }
}

export function refreshForm(refresh_token: string): Record<string, string> {
  return { grant_type: 'refresh_token', refresh_token }
}

/** Status of a call with an access token, as X-API-Key. */
export async function callWith(access: string, path = '/leases'): Promise<number> {
  return (await clientWith(access, 0).get(path)).status
}

/** What the audit log of an organization says of an action, newest last. */
export async function audited(
  org_id: number,
  action: string,
): Promise<{ actor_type: string; actor_name: string; object_type: string; details: Row }[]> {
  const behind = await owner()
  const { rows } = await behind.query(
    `select t.actor_type, t.actor_name, a.object_type, a.details from audit_entry a
     join tx t on t.org_id = a.org_id and t.tx_id = a.tx_id
     where a.org_id = $1 and a.action = $2 order by a.tx_id`,
    [org_id, action],
  )
  await behind.end()
  return rows
}

/** Types of the events an organization has, in the order they were written. */
export async function eventTypes(org_id: number): Promise<string[]> {
  const behind = await owner()
  const { rows } = await behind.query<{ type: string }>(
    `select type from event where org_id = $1 and type like 'app.%' order by tx_id, n`,
    [org_id],
  )
  await behind.end()
  return rows.map(({ type }) => type)
}

/** An organization with an app of its own. */
export async function party(): Promise<{ client: TestClient; app: TestApp }> {
  const client = await newOrganization()
  return { client, app: await newApp(client) }
}

/** An answer that is as documented. */
export async function checked(name: string, answer: Promise<Answer>): Promise<Answer> {
  const operation = operations.find((o) => o.name === name) as Operation
  expect(faultsOf(operation, await answer), name).toEqual([])
  return await answer
}
