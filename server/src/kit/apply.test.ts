import { array, assert, constantFrom, dictionary, letrec, oneof, property } from 'fast-check'
import { describe, expect, it } from 'vitest'
import { mergePatch } from './apply.ts'

/** The test cases of RFC 7396, appendix A. */
const RFC: [unknown, unknown, unknown][] = [
  [{ a: 'b' }, { a: 'c' }, { a: 'c' }],
  [{ a: 'b' }, { b: 'c' }, { a: 'b', b: 'c' }],
  [{ a: 'b' }, { a: null }, {}],
  [{ a: 'b', b: 'c' }, { a: null }, { b: 'c' }],
  [{ a: ['b'] }, { a: 'c' }, { a: 'c' }],
  [{ a: 'c' }, { a: ['b'] }, { a: ['b'] }],
  [{ a: { b: 'c' } }, { a: { b: 'd', c: null } }, { a: { b: 'd' } }],
  [{ a: [{ b: 'c' }] }, { a: [1] }, { a: [1] }],
  [
    ['a', 'b'],
    ['c', 'd'],
    ['c', 'd'],
  ],
  [{ a: 'b' }, ['c'], ['c']],
  [{ a: 'foo' }, null, null],
  [{ a: 'foo' }, 'bar', 'bar'],
  [{ e: null }, { a: 1 }, { e: null, a: 1 }],
  [[1, 2], { a: 'b', c: null }, { a: 'b' }],
  [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
]

/** The pseudo code of RFC 7396, section 2, on JSON text. */
function byTheBook(target: unknown, patch: unknown): unknown {
  if (patch === null || typeof patch !== 'object' || Array.isArray(patch)) return patch
  const isObject = target !== null && typeof target === 'object' && !Array.isArray(target)
  const result = new Map<string, unknown>(isObject ? Object.entries(target) : [])
  for (const [name, value] of Object.entries(patch)) {
    if (value === null) result.delete(name)
    else result.set(name, byTheBook(result.get(name), value))
  }
  return Object.fromEntries(result)
}

const { tree } = letrec((tie) => ({
  tree: oneof(
    { maxDepth: 4 },
    constantFrom(null, 1, 'x', true),
    array(tie('tree'), { maxLength: 2 }),
    dictionary(constantFrom('a', 'b', 'c'), tie('tree'), { maxKeys: 3, noNullPrototype: true }),
  ),
}))

describe('a merge patch', () => {
  it.each(RFC)('of %j with %j is %j', (target, patch, expected) => {
    expect(mergePatch(target, patch)).toEqual(expected)
  })

  it('follows the standard on any JSON, and leaves what it was given alone', () => {
    assert(
      property(tree, tree, (target, patch) => {
        const before = JSON.stringify(target)
        const after = mergePatch(target, patch)
        expect(after).toEqual(byTheBook(target, patch))
        expect(mergePatch(after, patch)).toEqual(after)
        expect(JSON.stringify(target)).toBe(before)
      }),
      { numRuns: 2_000 },
    )
  })
})
