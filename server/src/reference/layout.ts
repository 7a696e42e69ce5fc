/** What every reference page has: head, search, list of contents. Nothing in it leads off this host. */
import { html } from './html.ts'
import type { Html } from './html.ts'
import type { Reference } from './model.ts'
import { methodBadge } from './operation-view.ts'

export interface Page {
  title: string
  /** Path of the page, to mark it in the contents. */
  path: string
  main: Html
}

/** The page's HTML. */
export function layout(reference: Reference, { title, path, main }: Page): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="color-scheme" content="light dark" />
        <title>${title} · Portfolio Grid API</title>
        <link rel="icon" href="/docs/icon.svg" />
        <link rel="stylesheet" href="/docs/style.css" />
        <script src="/docs/app.js" defer></script>
      </head>
      <body>
        <a class="skip" href="#main">Skip to the text</a>
        <header>
          <a class="brand" href="/docs"
            ><img src="/docs/icon.svg" alt="" width="22" height="22" /> Portfolio Grid
            <span class="quiet">API ${reference.version}</span></a
          >
          <form class="search" role="search" hidden>
            <label class="unseen" for="search">Search</label
            ><input
              id="search"
              type="search"
              autocomplete="off"
              placeholder="Search fields and endpoints"
              aria-controls="found"
            />
            <ol id="found" hidden></ol>
          </form>
          <a class="to-contents" href="#contents">Contents</a>
        </header>
        <main id="main" tabindex="-1">${main}</main>
        ${contents(reference, path)}
      </body>
    </html> `.text
}

function contents({ groups }: Reference, path: string): Html {
  const here = (target: string): Html | false => target === path && html` aria-current="page"`
  return html`<nav id="contents" aria-label="Contents">
    <ul>
      <li><a href="/docs" ${here('/docs')}>Overview</a></li>
      <li><a href="/docs/scopes" ${here('/docs/scopes')}>Scopes</a></li>
      <li><a href="/errors" ${here('/errors')}>Errors</a></li>
      <li><a href="/openapi.json">OpenAPI document</a></li>
    </ul>
    ${groups.map(({ slug, title, operations }) => {
      const page = `/docs/${slug}`
      return html`<details${page === path && html` open`}><summary>${title}</summary><ul>
<li><a href="${page}"${here(page)}>All of ${title.toLowerCase()}</a></li>
${operations.map(
  ({ id, method, summary }) =>
    html`<li>
      <a class="to-operation" href="${page}#${id}">${methodBadge(method)} ${summary}</a>
    </li> `,
)}</ul></details>
`
    })}
  </nav>`
}
