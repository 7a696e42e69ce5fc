/** The page of a group: its operations, then the objects they speak of. */
import { html } from './html.ts'
import type { Html } from './html.ts'
import { schemasOf } from './model.ts'
import type { Group, Reference } from './model.ts'
import { methodBadge, operationSection } from './operation-view.ts'
import { schemaSection } from './schema-view.ts'

/** @param base address of the interface, for the examples. */
export function groupMain(reference: Reference, group: Group, base: string): Html {
  const { title, description, operations } = group
  const list = operations.map(
    ({ id, method, path, summary }) =>
      html`<li>
        <a href="#${id}">${methodBadge(method)} <code>${path}</code></a> <span>${summary}</span>
      </li> `,
  )
  return html`<h1>${title}</h1>
    <p class="lead">${description}</p>
    <ul class="endpoints">
      ${list}
    </ul>
    ${operations.map((operation) => operationSection(reference, operation, base))}
    <section class="objects">
      <h2 id="objects">Objects</h2>
      ${schemasOf(reference, operations).map((name) => schemaSection(reference, name))}
    </section>`
}
