import { parse } from 'yaml'
import { describe, expect, it } from 'vitest'
import { registry } from '../../src/resources.ts'
import { readAdapter } from '../../src/sdis/adapter.ts'
import { fileAt, files } from './repository.ts'

/** Adapter documents that guides show. */
const shown = files(['docs'], '.md').flatMap(({ path, text }) =>
  [...text.matchAll(/```yaml\n(adapter:[\s\S]*?)```/g)].map(([, source = ''], i) => ({
    name: `${path} ${i + 1}`,
    source,
  })),
)

const kept = files(['examples'], '.yaml').map(({ path, text }) => ({ name: path, source: text }))

describe('adapter documents', () => {
  it.each([...shown, ...kept])('$name can be used', ({ source }) => {
    expect(readAdapter(source, registry).adapter).toBe(
      (parse(source) as { adapter: string }).adapter,
    )
  })

  it('are shown in the guide', () => {
    expect(shown.length).toBeGreaterThan(1)
    expect(kept.length).toBeGreaterThan(1)
  })
})

describe('the history of the interface', () => {
  it('ends with the release that is served', () => {
    const text = fileAt('docs/reference/changelog.md')?.text ?? ''
    const { version } = JSON.parse(fileAt('package.json')?.text ?? '{}') as { version: string }
    expect(/^\| v([\d.]+) \|/m.exec(text)?.[1]).toBe(version)
  })
})
