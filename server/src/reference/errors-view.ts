/** What the `type` of a problem leads to: each code with its meaning and what to do. */
import { ERRORS } from '../kit/errors.ts'
import type { ErrorCode } from '../kit/errors.ts'
import { html } from './html.ts'
import type { Html } from './html.ts'

/** A code as data. */
export interface ErrorEntry {
  code: string
  status: number
  title: string
  advice: string
}

export function isErrorCode(text: string): text is ErrorCode {
  return Object.hasOwn(ERRORS, text)
}

export function errorEntry(code: ErrorCode): ErrorEntry {
  const [status, title, advice] = ERRORS[code]
  return { code, status, title, advice }
}

/** Every code, by status. */
export function errorEntries(): ErrorEntry[] {
  return (Object.keys(ERRORS) as ErrorCode[]).map(errorEntry)
}

export function errorsMain(): Html {
  const rows = errorEntries().map(
    ({ code, status, title, advice }) =>
      html`<tr>
        <th scope="row">
          <a href="/errors/${code}"><code>${code}</code></a>
        </th>
        <td>${status}</td>
        <td>${title}. ${advice}</td>
      </tr> `,
  )
  return html`<h1>Errors</h1>
    <p class="lead">
      Every answer from 400 on has one of these codes. Codes are stable, texts may change.
    </p>
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Code</th>
          <th scope="col">Status</th>
          <th scope="col">What it means and what to do</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>`
}

export function errorMain({ code, status, title, advice }: ErrorEntry): Html {
  return html`<h1>${title}</h1>
    <p class="endpoint">
      <span class="status s${String(status).charAt(0)}">${status}</span> <code>${code}</code>
    </p>
    <h2>What to do</h2>
    <p>${advice}</p>
    <p>
      The <code>detail</code> of the answer speaks of the request at hand, and
      <code>request_id</code> finds it in the request log.
    </p>
    <p><a href="/errors">All errors</a></p>`
}
