/** The first page: what this is, a first request, and what holds for every endpoint. */
import { PLAN_SCOPES, SCOPES } from '../kit/scopes.ts'
import { html, inline } from './html.ts'
import type { Html } from './html.ts'
import type { Reference } from './model.ts'
import { codeBlock } from './operation-view.ts'

/** Requests per minute and key, by plan. */
export interface Quotas {
  sandbox: number
  community: number
  professional: number
  enterprise: number
}

export function overviewMain(reference: Reference, base: string, quotas: Quotas): Html {
  const groups = reference.groups.map(
    ({ slug, title, description, operations }) =>
      html`<li>
        <a href="/docs/${slug}"
          ><strong>${title}</strong> <span class="quiet">${operations.length}</span
          ><br />${description}</a
        >
      </li> `,
  )
  return html`<h1>Portfolio Grid API</h1>
    <p class="lead">
      Leases, buildings, tenants, work orders and documents of a real-estate portfolio. Every value
      says where it came from, since when it is true and when it was recorded.
    </p>
    <section class="operation first" id="start">
      <div class="told">
        <h2>First request</h2>
        <p>
          Every request carries an API key in the header <code>X-API-Key</code>. The key belongs to
          one organization, and answers show that organization's data only.
        </p>
        <p>
          On the first start the service writes two keys to <code>keys.json</code> in its data
          folder: <code>live</code> for the organization and <code>sandbox</code> for its sandbox,
          where you can try things out.
        </p>
        <p>Where a key lacks a <a href="/docs/scopes">scope</a>, the answer is 403 and names it.</p>
      </div>
      <div class="shown">
        <h3>Request</h3>
        ${codeBlock(firstRequest(base), 'shell')}
      </div>
    </section>
    <h2 id="groups">Endpoints</h2>
    <ul class="cards">
      ${groups}
    </ul>
    ${conventions(quotas)}`
}

function firstRequest(base: string): string {
  return `export GRID_KEY=$(node -p "require('./.grid/keys.json').live")

curl "${base}/leases?limit=2" \\
  -H "X-API-Key: $GRID_KEY"`
}

/** What holds for every endpoint, each part with an anchor that other pages lead to. */
function conventions(quotas: Quotas): Html {
  return html`${reading()} ${writing()}
    <h2 id="problems">Problems</h2>
    <p>
      Every answer from 400 on is a problem (RFC 9457) with a stable <code>code</code>;
      <a href="/errors">the list of codes</a> says what to do about each. A 422 names every failing
      field in <code>errors</code>, not only the first, and nothing was changed. Quote
      <code>request_id</code> when you ask for help; every answer also has it as
      <code>X-Request-Id</code>.
    </p>
    <h2 id="limits">Limits</h2>
    <p>
      Requests per minute and key: ${quotas.sandbox} in a sandbox, ${quotas.community} on the
      community plan, ${quotas.professional} on professional, ${quotas.enterprise} on enterprise.
      The headers <code>RateLimit</code> and <code>X-RateLimit-Remaining</code> say how many are
      left. A 429 says in <code>Retry-After</code> how many seconds to wait.
    </p>
    <h2 id="values">Values</h2>
    <ul>
      <li>Ids are text such as <code>le_1042</code>; the first letters say what it is.</li>
      <li>
        Money is decimal text such as <code>"30458.33"</code> in the object's <code>currency</code>.
        Areas are numbers in its <code>area_unit</code>. Percentages end in <code>_pct</code> and
        run from 0 to 100.
      </li>
      <li>Dates are days such as <code>2026-03-31</code>, both ends included; times are UTC.</li>
      <li>A field without a value is <code>null</code>; it is never left out.</li>
    </ul>`
}

function reading(): Html {
  return html`<h2 id="lists">Lists</h2>
    <p>
      A list answers a page: <code>data</code>, <code>has_more</code> and <code>next_cursor</code>.
      Send <code>next_cursor</code> as <code>cursor</code>, with the same filters and sort, to get
      the next one. No object is lost or shown twice while others write. A page holds 50 objects
      unless <code>limit</code> asks for 1 to 200. <code>include=total_count</code> counts them all.
    </p>
    <h2 id="filters">Filters</h2>
    <p>
      Every column in the table of filters can be asked for: <code>status=active</code>. With an
      operator in brackets it says more:
    </p>
    <table class="rows words">
      <thead>
        <tr>
          <th scope="col">Operator</th>
          <th scope="col">Means</th>
          <th scope="col">Example</th>
        </tr>
      </thead>
      <tbody>
        <tr>
          <th scope="row"><code>ne</code></th>
          <td>is another value</td>
          <td><code>status[ne]=terminated</code></td>
        </tr>
        <tr>
          <th scope="row"><code>in</code> <code>nin</code></th>
          <td>is one, or none, of several</td>
          <td><code>status[in]=active,holdover</code></td>
        </tr>
        <tr>
          <th scope="row"><code>gt</code> <code>gte</code> <code>lt</code> <code>lte</code></th>
          <td>is more or less, or equal</td>
          <td><code>expiration_date[lt]=2027-01-01</code></td>
        </tr>
        <tr>
          <th scope="row"><code>contains</code> <code>starts_with</code></th>
          <td>has the text in it, or begins with it</td>
          <td><code>name[contains]=tower</code></td>
        </tr>
        <tr>
          <th scope="row"><code>is_null</code></th>
          <td>has no value, or has one</td>
          <td><code>move_out_date[is_null]=true</code></td>
        </tr>
      </tbody>
    </table>
    <p>
      A dot follows a relation: <code>tenant.industry_code=54</code>. <code>q=</code> searches
      names, numbers and addresses and forgives typing mistakes. An unknown filter is a 422 that
      suggests the right one.
    </p>
    <h2 id="shape">Sorting and shape</h2>
    <p>
      <code>sort=-expiration_date,name</code> sorts by up to three fields.
      <code>fields=id,status</code> answers only these. <code>expand=tenant,property</code> puts
      related objects beside their ids. <code>include=rollups</code> adds figures computed from
      other objects, <code>include=facts</code> the source of each value,
      <code>include=deleted</code> and <code>include=archived</code> what lists leave out.
    </p>
    <h2 id="times">Any time</h2>
    <p>
      <code>as_of=2026-03-31</code> answers what was true at the end of that day.
      <code>known_at=2026-04-15T00:00:00Z</code> answers what had been recorded by then. Together
      they answer what a report made then would have said.
    </p>`
}

function writing(): Html {
  return html`<h2 id="changes">Changing things</h2>
    <ul>
      <li>
        A PATCH is a merge patch (RFC 7396): fields you send change, <code>null</code> clears, lists
        are replaced whole.
      </li>
      <li>Bodies are closed: a field with a typing mistake is a 422, never dropped.</li>
      <li>
        Answers have the version of the object as <code>ETag</code>. Send it in
        <code>If-Match</code>, and the change is made only when nobody came first; otherwise the
        answer is 412.
      </li>
      <li>Send an <code>Idempotency-Key</code> with a POST to repeat it safely for 24 hours.</li>
      <li>
        A DELETE leaves a tombstone; it shows in the change feed and with
        <code>include=deleted</code>.
      </li>
    </ul>`
}

/** The page of scopes. */
export function scopesMain(): Html {
  const rows = Object.entries(SCOPES).map(
    ([scope, text]) =>
      html`<tr id="${scope}">
        <th scope="row"><code>${scope}</code></th>
        <td>${inline(text)}</td>
        <td>${PLAN_SCOPES[scope as keyof typeof SCOPES] ?? 'every plan'}</td>
      </tr> `,
  )
  return html`<h1>Scopes</h1>
    <p class="lead">
      A key holds a list of scopes. A request that needs another one answers 403 and names it.
    </p>
    <table class="rows words">
      <thead>
        <tr>
          <th scope="col">Scope</th>
          <th scope="col">Allows</th>
          <th scope="col">Plan</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>`
}
