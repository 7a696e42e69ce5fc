import { describe, expect, it } from 'vitest'
import { ApiError } from './errors.ts'
import { names, versionIn } from './etags.ts'

describe('If-None-Match', () => {
  it.each([
    ['"v3"', true],
    ['W/"v3"', true],
    ['"v1", W/"v3"', true],
    ['*', true],
    ['"v2"', false],
    ['v3', false],
    [undefined, false],
  ])('%s', (header, expected) => {
    expect(names(header, '"v3"')).toBe(expected)
  })
})

describe('If-Match', () => {
  it.each([
    [undefined, null],
    ['*', null],
    ['"v3"', 3],
    ['"abc"', 0],
  ])('%s asks for %s', (header, version) => {
    expect(versionIn(header)).toBe(version)
  })

  it.each([
    ['W/"v3"', 412],
    ['W/"abc"', 412],
    ['v3', 422],
    ['"v3", "v4"', 422],
    ['', 422],
  ])('%s is refused with %i', (header, status) => {
    const refused = expect.objectContaining({ status })
    expect(() => versionIn(header)).toThrow(ApiError)
    expect(() => versionIn(header)).toThrow(refused)
  })
})
