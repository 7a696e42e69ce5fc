/** One operation: what it does, takes and answers, beside the request to paste and the answer to expect. */
import { SCOPES } from '../kit/scopes.ts'
import type { Scope } from '../kit/scopes.ts'
import { curlOf, exampleOf } from './examples.ts'
import { html, inline, prose } from './html.ts'
import type { Html } from './html.ts'
import type { Body, Operation, Parameter, Reference, Response } from './model.ts'
import { constraints, typeLabel } from './schema-view.ts'

/** @param base address of the interface, for the examples. */
export function operationSection(reference: Reference, operation: Operation, base: string): Html {
  const { id, method, path, summary, description, scope, parameters, bodies } = operation
  const filters = parameters.filter((parameter) => parameter['x-grid-operators'])
  const others = parameters.filter((parameter) => !parameter['x-grid-operators'])
  return html`<section class="operation" id="${id}">
    <div class="told">
      <h2>${summary} <a class="anchor" href="#${id}" aria-label="Link to ${summary}">#</a></h2>
      <p class="endpoint">${methodBadge(method)} <code>${path}</code></p>
      ${prose(description)}
      <p class="scope">
        ${
          scope === 'public'
            ? html`Needs no key.`
            : html`Scope <a href="/docs/scopes#${scope}"><code>${scope}</code></a
                >${SCOPES[scope as Scope] && html` <span class="quiet">${SCOPES[scope as Scope]}</span>`}`
        }
      </p>
      ${
        others.length > 0 &&
        html`<h3>Parameters</h3>
          ${parameterTable(others)}`
      }
      ${filters.length > 0 && filterTable(filters)}
      ${
        bodies.length > 0 &&
        html`<h3>Body</h3>
          ${bodies.map(bodyLine)}`
      }
      <h3>Answers</h3>
      ${answers(operation)}
    </div>
    <div class="shown">
      <h3>Request</h3>
      ${codeBlock(curlOf(reference, operation, base), 'shell')}
      ${answerExample(reference, operation)}
    </div>
  </section> `
}

export function methodBadge(method: string): Html {
  return html`<span class="method ${method.toLowerCase()}">${method}</span>`
}

/** Code with a button to copy it, which only shows where scripts run. */
export function codeBlock(text: string, language: string): Html {
  return html`<div class="code">
    <button type="button" class="copy" hidden>Copy</button>
    <pre tabindex="0"><code class="${language}">${text}</code></pre>
  </div>`
}

function parameterTable(parameters: readonly Parameter[]): Html {
  const rows = parameters.map(
    ({ name, in: place, required, description, schema }) =>
      html`<tr>
        <th scope="row">
          <code>${name}</code>${required && html` <span class="mark">required</span>`}
        </th>
        <td>${place}</td>
        <td>${inline(description)}${constraints(schema, description)}</td>
      </tr> `,
  )
  return html`<table class="rows">
    <thead>
      <tr>
        <th scope="col">Name</th>
        <th scope="col">In</th>
        <th scope="col">Meaning</th>
      </tr>
    </thead>
    <tbody>
      ${rows}
    </tbody>
  </table>`
}

function filterTable(filters: readonly Parameter[]): Html {
  const rows = filters.map(
    ({ name, description, schema, 'x-grid-operators': operators = [] }) =>
      html`<tr>
        <th scope="row"><code>${name}</code></th>
        <td>${operators.map((op, i) => html`${i > 0 && ' '}<code>[${op}]</code>`)}</td>
        <td>
          ${inline(description.split(' Also ')[0] as string)}${constraints(schema, description)}
        </td>
      </tr> `,
  )
  return html`<details>
    <summary>${filters.length} filters</summary>
    <p>
      As <code>${filters[0]?.name}=value</code> or, with an operator,
      <code>${filters[0]?.name}[ne]=value</code>. <a href="/docs#filters">How filters work</a>
    </p>
    <table class="rows">
      <thead>
        <tr>
          <th scope="col">Name</th>
          <th scope="col">Operators</th>
          <th scope="col">Meaning</th>
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </details>`
}

function bodyLine({ type, schema }: Body): Html {
  return html`<p>${typeLabel(schema)} as <code>${type}</code></p>`
}

function answers({ responses }: Operation): Html {
  const problems = responses.filter(({ status }) => status >= '400')
  const others = responses.filter(({ status }) => status < '400')
  return html`<dl class="answers">${others.map(answer)}</dl>
    <details>
      <summary>
        Problems <span class="quiet">${problems.map(({ status }) => status).join(' ')}</span>
      </summary>
      <dl class="answers">${problems.map(answer)}</dl>
    </details>`
}

function answer({ status, description, bodies }: Response): Html {
  const [body] = bodies
  const isProblem = status >= '400'
  const told = body?.schema.$ref
    ? html`${typeLabel(body.schema)}. ${inline(description)}`
    : inline(description)
  return html`<dt class="status s${status.charAt(0)}">${status}</dt>
    <dd>${isProblem ? problemLinks(description) : told}</dd> `
}

/** The codes a status can have, each leading to its page. */
function problemLinks(description: string): Html {
  const parts = description
    .split('`')
    .map((part, i) =>
      i % 2 === 1 ? html`<a href="/errors/${part}"><code>${part}</code></a>` : part,
    )
  return html`${parts}`
}

function answerExample(reference: Reference, { responses }: Operation): Html | null {
  const success = responses.find(({ status }) => status < '300')
  const body = success?.bodies.find(({ type }) => type.includes('json'))
  if (!success || !body) return null
  const text = JSON.stringify(exampleOf(reference, body.schema, 'all'), null, 2)
  return html`<h3>Answer <span class="quiet">${success.status}</span></h3>
    ${codeBlock(text, 'json')}`
}
