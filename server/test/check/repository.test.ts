import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { ALL_SCOPES } from '../../src/kit/scopes.ts'
import { resources } from '../../src/resources.ts'
import { fileAt, files, linesWith, ROOT } from './repository.ts'

const CODE = ['server', 'bench', 'console', 'sdk', 'examples']
const code = [...files(CODE, '.ts'), ...files(CODE, '.tsx')]

/** Scopes whose endpoints are still to come; a scope leaves this list with its first endpoint. */
const RESERVED: readonly string[] = ['read:intelligence', 'run:assistant', 'run:agents']

/** Lines of code a file may have; longer ones hold more than one thing. */
const LINES_MAX = 400

/** Tests that run alone or not at all, and notes of work left behind. */
const LEFT_BEHIND = /\b(it|test|describe)\.(only|skip)\b|\b(TODO|FIXME|XXX)\b/

describe('code', () => {
  it('has no test that runs alone or not at all, and no note of work left', () => {
    const others = code.filter(({ path }) => !path.endsWith('check/repository.test.ts'))
    expect(others.flatMap((file) => linesWith(file, LEFT_BEHIND))).toEqual([])
  })

  it(`has no file of more than ${LINES_MAX} lines`, () => {
    const long = code.map(({ path, text }) => ({ path, lines: text.split('\n').length - 1 }))
    expect(long.filter(({ lines }) => lines > LINES_MAX)).toEqual([])
  })

  it('reads the environment in one place', () => {
    const allowed = /^server\/src\/(config|commands|main)\.ts$/
    const readers = files(['server/src'], '.ts').flatMap((file) =>
      allowed.test(file.path) ? [] : linesWith(file, /\bprocess\.env\b/),
    )
    expect(readers).toEqual([])
  })

  it('asks for every scope that a key can hold', () => {
    const routes = files(['server/src'], '.ts').filter(({ path }) => !path.endsWith('scopes.ts'))
    const named = routes.flatMap(({ text }) =>
      [...text.matchAll(/'([a-z]+:[a-z_]+)'/g)].map(([, scope]) => scope),
    )
    const used = new Set([...named, ...resources.map(({ scope }) => `read:${scope}`)])
    const writable = new Set(resources.map(({ scope }) => `write:${scope}`))
    const unused = ALL_SCOPES.filter((scope) => !used.has(scope) && !writable.has(scope))
    expect(unused.toSorted()).toEqual(RESERVED.toSorted())
  })
})

describe('documents', () => {
  const documents = files(['.'], '.md')
  const links = documents.flatMap(({ path, text }) =>
    [...text.matchAll(/\[[^\]]*\]\(([^)\s]+)\)/g)].map(([, target = '']) => ({ path, target })),
  )

  it('link only to files that exist', () => {
    const broken = links.filter(({ path, target }) => {
      if (/^[a-z]+:/.test(target)) return false
      const [file = ''] = target.split('#')
      return file !== '' && !existsSync(join(ROOT, dirname(path), file))
    })
    expect(broken).toEqual([])
  })

  it('link only to headings that exist', () => {
    const broken = links.filter(({ path, target }) => {
      const [file = '', anchor] = target.split('#')
      if (/^[a-z]+:/.test(target) || !anchor) return false
      const page = fileAt(file ? join(dirname(path), file) : path)
      return !page || !headings(page.text).includes(anchor)
    })
    expect(broken).toEqual([])
  })
})

/** Anchors of a page's headings, as GitHub makes them. */
function headings(markdown: string): string[] {
  return [...markdown.matchAll(/^#+\s+(.*)$/gm)].map(([, title = '']) =>
    title
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}\s_-]/gu, '')
      .trim()
      .replaceAll(' ', '-'),
  )
}
