import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { startBrowser } from '../../test/browser.ts'
import { grid, newOrganization } from '../../test/grid.ts'
import { authorization, callWith, codeForm, newApp, pkce, token } from './app-fixture.ts'

const browser = await startBrowser()
const receiver = createServer((_request, response) => response.end('Back at the app.'))
await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve))
afterAll(async () => {
  await browser?.close()
  receiver.close()
})

const redirect_uri = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/done`

/** A person at the page, without scripts. @returns the page and what its console said. */
async function visit(address: string, width = 1280): Promise<{ page: Page; said: string[] }> {
  const context = await browser!.newContext({
    javaScriptEnabled: false,
    viewport: { width, height: 800 },
  })
  const page = await context.newPage()
  const said: string[] = []
  page.on('console', (message) => said.push(message.text()))
  await page.goto(address)
  return { page, said }
}

describe.skipIf(!browser)('the consent page in a browser', () => {
  it('leads a person without scripts, by keyboard, through a mistake and back to the app', async () => {
    const client = await newOrganization()
    const app = await newApp(client, { redirect_uris: [redirect_uri] })
    const { verifier, challenge } = pkce()
    const asked = authorization(app, challenge, { redirect_uri })
    const { base } = await grid()
    const address = `${base}/oauth/authorize?${new URLSearchParams(asked).toString()}`
    const { page, said } = await visit(address)
    const key = page.getByLabel('API key of your organization')
    await key.fill('no key')
    await key.press('Enter')
    expect(await page.getByRole('alert').textContent()).toContain('not known')
    expect(await key.inputValue()).toBe('')
    // The answer 401 itself is told to the console, and nothing else.
    expect(said.filter((text) => !text.includes('401'))).toEqual([])
    await key.fill(client.key)
    await key.press('Enter')
    await page.waitForURL(`${redirect_uri}?**`)
    expect(await page.textContent('body')).toBe('Back at the app.')
    const code = new URL(page.url()).searchParams.get('code') ?? ''
    const answer = await token(app, { ...codeForm(code, verifier), redirect_uri })
    expect(await callWith(answer.body.access_token)).toBe(200)
    expect(said.filter((text) => !text.includes('401'))).toEqual([])
    await page.context().close()
  })

  it('is read by everyone: one heading, a language, labels, room on a telephone', async () => {
    const client = await newOrganization()
    const app = await newApp(client, { redirect_uris: [redirect_uri] })
    const asked = authorization(app, pkce().challenge, { redirect_uri })
    const { base } = await grid()
    const address = `${base}/oauth/authorize?${new URLSearchParams(asked).toString()}`
    const { page } = await visit(address, 320)
    expect(await page.locator('html').getAttribute('lang')).toBe('en')
    expect(await page.getByRole('main').count()).toBe(1)
    expect(await page.getByRole('heading', { level: 1 }).count()).toBe(1)
    expect(await page.getByRole('listitem').allTextContents()).toEqual([
      'See leases. read:leases',
      'See parties (tenants, owners, vendors) and their contacts. read:parties',
    ])
    const key = page.getByLabel('API key of your organization')
    expect(await key.getAttribute('aria-describedby')).toBe('hint')
    for (const name of ['Allow', 'Deny']) {
      const box = await page.getByRole('button', { name, exact: true }).boundingBox()
      expect(box?.height).toBeGreaterThanOrEqual(44)
      expect((box?.x ?? 999) + (box?.width ?? 0)).toBeLessThanOrEqual(320)
    }
    const wide = (await page.locator('main').boundingBox())?.width
    expect(wide).toBeLessThanOrEqual(320)
    await page.getByRole('button', { name: 'Deny' }).click()
    await page.waitForURL(`${redirect_uri}?error=access_denied&**`)
    await page.context().close()
  })
})
