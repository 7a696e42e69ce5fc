/** The page on which a person allows an app what it asks for. It needs no script and loads nothing. */
import { createHash } from 'node:crypto'
import { publicId } from '../kit/ids.ts'
import { SCOPES } from '../kit/scopes.ts'
import { Html, html } from '../reference/html.ts'
import type { Asked, Target } from './authorization.ts'

const STYLE = `:root{color-scheme:light dark}
body{font:1rem/1.5 system-ui,sans-serif;max-width:34rem;margin:2rem auto;padding:0 1rem}
h1{font-size:1.5rem;line-height:1.25}
code{overflow-wrap:anywhere}
[role=alert]{border:2px solid;border-radius:.25rem;padding:.5rem .75rem}
label{display:block;font-weight:600;margin-top:1.5rem}
input{font:inherit;box-sizing:border-box;width:100%;padding:.5rem;margin:.25rem 0}
button{font:inherit;padding:.5rem 1.5rem;margin:1rem .5rem 0 0;min-height:2.75rem}`

/** Whole, so that what is hashed is what is sent. */
const STYLE_TAG = new Html(`<style>${STYLE}</style>`)

const STYLE_HASH = createHash('sha256').update(STYLE).digest('base64')

/**
 * Nothing is loaded, framed or run, and the form goes nowhere but here. Browsers hold the redirect that answers it to
 * form-action too, so the address of the app stands there.
 */
export function pagePolicy(target: Target | null): string {
  const home = target ? ` ${formTarget(target.redirect_uri)}` : ''
  return `default-src 'none'; style-src 'sha256-${STYLE_HASH}'; form-action 'self'${home}; base-uri 'none'; frame-ancestors 'none'`
}

/** The origin of an address, or the scheme of one that has none. */
function formTarget(redirect_uri: string): string {
  const { origin, protocol } = new URL(redirect_uri)
  return origin === 'null' ? protocol : origin
}

/** @param fault why the last try did not succeed. */
export function consentPage(target: Target, asked: Asked, fault: string | null): string {
  const { app, redirect_uri, state } = target
  const publisher = app.organization_name ?? ''
  const hidden = {
    response_type: 'code',
    client_id: publicId('app', app.id),
    redirect_uri,
    scope: asked.scopes.join(' '),
    state: state ?? '',
    code_challenge: asked.code_challenge,
    code_challenge_method: 'S256',
  }
  return page(
    `Allow ${app.client_name}?`,
    html`<h1>Allow ${app.client_name} to use your portfolio?</h1>
      <p>
        ${app.client_name} is an app of ${publisher}.${app.description ? ` ${app.description}` : ''}
      </p>
      ${app.homepage_url && html`<p>Its page: <code>${app.homepage_url}</code></p>`}
      ${app.visibility === 'private' && html`<p>It is a private app and was not reviewed.</p>`}
      <h2>It asks to</h2>
      <ul>
        ${asked.scopes.map((scope) => html`<li>${SCOPES[scope]} <code>${scope}</code></li>`)}
      </ul>
      <p>
        You can end this at any time by uninstalling the app. Afterwards you are sent to
        <code>${redirect_uri}</code>.
      </p>
      ${fault && html`<p role="alert" id="fault">${fault}</p>`}
      <form method="post" action="/api/v1/oauth/consent">
        ${Object.entries(hidden).map(
          ([name, value]) => html`<input type="hidden" name="${name}" value="${value}" />`,
        )}
        <label for="api_key">API key of your organization</label>
        <p id="hint">
          It must hold the scope <code>admin:keys</code> and all of the above. The app never sees
          it.
        </p>
        <input
          type="password"
          id="api_key"
          name="api_key"
          autocomplete="off"
          spellcheck="false"
          required
          aria-describedby="hint${fault ? ' fault' : ''}"
        />
        <button type="submit" name="decision" value="allow">Allow</button>
        <button type="submit" name="decision" value="deny" formnovalidate>Deny</button>
      </form>`,
  )
}

/** Shown where there is no address that may be redirected to. */
export function faultPage(fault: string): string {
  return page(
    'This request cannot be used',
    html`<h1>This request cannot be used</h1>
      <p>${fault}</p>
      <p>Go back to the app and try again; tell its developer if it stays so.</p>`,
  )
}

function page(title: string, main: Html): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
        ${STYLE_TAG}
      </head>
      <body>
        <main>${main}</main>
      </body>
    </html>`.text
}
