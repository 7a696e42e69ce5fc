import type { Page } from 'playwright-core'
import { afterAll, describe, expect, it } from 'vitest'
import { startBrowser } from '../../test/browser.ts'
import { grid } from '../../test/grid.ts'
import { ERRORS } from '../kit/errors.ts'
import { escapeHtml, html } from './html.ts'

const { app, base } = await grid()
const origin = new URL(base).origin
const groups = (JSON.parse(app.openapi()) as { tags: { name: string }[] }).tags.map(({ name }) =>
  name.replaceAll(/[^a-z0-9]+/g, '-'),
)
const pages = ['/docs', '/docs/scopes', '/errors', ...groups.map((slug) => `/docs/${slug}`)]

const browser = await startBrowser()
afterAll(async () => await browser?.close())

/** Opens a page and runs a look at it. @returns addresses that were asked for elsewhere, and what the console said. */
async function visit(
  path: string,
  look: (page: Page) => Promise<void>,
  options: { javaScriptEnabled?: boolean; width?: number } = {},
): Promise<{ foreign: string[]; said: string[] }> {
  const { javaScriptEnabled = true, width = 1280 } = options
  const context = await browser!.newContext({
    javaScriptEnabled,
    viewport: { width, height: 900 },
  })
  const page = await context.newPage()
  const foreign: string[] = []
  const said: string[] = []
  page.on('request', (request) => {
    if (!request.url().startsWith(`${origin}/`)) foreign.push(request.url())
  })
  page.on('console', (message) => said.push(message.text()))
  page.on('pageerror', (error) => said.push(error.message))
  const answer = await page.goto(origin + path)
  expect(answer?.status(), path).toBe(200)
  await look(page)
  await context.close()
  return { foreign, said }
}

const overflow = 'document.documentElement.scrollWidth - document.documentElement.clientWidth'

describe.skipIf(!browser)('the reference in a browser', () => {
  it('asks nothing of any other host, on no page', { timeout: 60_000 }, async () => {
    for (const path of pages) {
      const seen = await visit(path, async (page) => {
        expect(await page.locator('h1').count()).toBe(1)
      })
      expect(seen, path).toEqual({ foreign: [], said: [] })
    }
  })

  it('finds fields and endpoints', async () => {
    const seen = await visit('/docs', async (page) => {
      await page.keyboard.press('/')
      await page.keyboard.type('expiration date')
      const first = page.locator('#found a').first()
      await first.waitFor()
      expect(await first.locator('code').textContent()).toBe('Lease.expiration_date')
      await page.keyboard.press('Enter')
      await page.waitForURL('**/docs/leases#Lease.expiration_date')
      expect(await page.locator('tr:target').textContent()).toContain('The last day of the term')
    })
    expect(seen).toEqual({ foreign: [], said: [] })
  })

  it('is whole without scripts', async () => {
    await visit(
      '/docs/leases',
      async (page) => {
        expect(await page.locator('#createLease pre').first().textContent()).toContain('-X POST')
        expect(await page.locator('nav a[href="/docs/leases#createLease"]').isVisible()).toBe(true)
        expect(await page.locator('.copy, .search').first().isVisible()).toBe(false)
        const field = page.locator('[id="Lease.rent_schedule.start_date"]')
        expect(await field.isVisible()).toBe(false)
        await page.getByText('fields of rent_schedule', { exact: false }).first().click()
        expect(await field.isVisible()).toBe(true)
      },
      { javaScriptEnabled: false },
    )
  })

  it('fits a phone', async () => {
    for (const path of ['/docs', '/docs/leases', '/docs/grid-v2', '/errors']) {
      const look = async (page: Page): Promise<void> =>
        expect(await page.evaluate(overflow), path).toBe(0)
      await visit(path, look, { width: 360 })
    }
  })
})

describe('the reference', () => {
  const get = async (path: string, accept = '*/*'): Promise<Response> =>
    await fetch(origin + path, { headers: { accept } })

  it('lets nothing be loaded from elsewhere', async () => {
    const answer = await get('/docs/leases')
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'self'")
    const text = await answer.text()
    const loaded = [...text.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, target]) => target ?? '')
    expect(loaded.filter((target) => !/^(\/|#)/.test(target))).toEqual([])
  })

  it('leads only to anchors and pages that exist', async () => {
    const texts = new Map<string, string>()
    for (const path of pages) texts.set(path, await (await get(path, 'text/html')).text())
    const broken = [...texts].flatMap(([from, text]) =>
      [...text.matchAll(/ href="([^"]*)"/g)].flatMap(([, target = '']) => {
        const [path = '', anchor] = target.split('#')
        if (/^\/(docs\/[a-z]+\.|openapi|errors\/)/.test(path)) return []
        const page = texts.get(path || from)
        const fine = page && (!anchor || page.includes(` id="${anchor}"`))
        return fine ? [] : [`${from} -> ${target}`]
      }),
    )
    expect([...new Set(broken)]).toEqual([])
  })

  it('is found from the root', async () => {
    const answer = await fetch(origin, { redirect: 'manual' })
    expect([answer.status, answer.headers.get('location')]).toEqual([302, '/docs'])
  })

  it('is sent again only when it has changed', async () => {
    const first = await get('/docs/leases')
    const etag = first.headers.get('etag') as string
    const again = await fetch(`${origin}/docs/leases`, { headers: { 'if-none-match': etag } })
    expect(again.status).toBe(304)
  })

  it('is 404 for a page that does not exist', async () => {
    for (const path of ['/docs/nothing', '/docs/errors', '/docs/__proto__', '/errors/nothing'])
      expect((await get(path)).status, path).toBe(404)
  })

  it.each(Object.entries(ERRORS))('says what to do about %s', async (code, [status, title]) => {
    const answer = await get(`/errors/${code}`)
    expect(await answer.json()).toMatchObject({ code, status, title })
    const page = await get(`/errors/${code}`, 'text/html,application/xhtml+xml')
    expect(page.headers.get('content-type')).toBe('text/html; charset=utf-8')
    expect(await page.text()).toContain(`<h1>${escapeHtml(title)}</h1>`)
  })

  it('resolves the type of a problem', async () => {
    const problem = (await (await fetch(`${base}/leases`)).json()) as { type: string; code: string }
    const answer = await get(problem.type)
    expect(await answer.json()).toMatchObject({ code: problem.code })
  })

  it('takes no text for HTML', () => {
    const text = html`<p title="${'"><b>'}">${['<i>', html`<br />`, null, false, 1]}</p>`.text
    expect(text).toBe('<p title="&quot;&gt;&lt;b&gt;">&lt;i&gt;<br />1</p>')
  })
})
