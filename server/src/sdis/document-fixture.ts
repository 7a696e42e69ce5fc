/** Adapter documents for tests, and what is wrong with them. */
import { ApiError } from '../kit/errors.ts'
import type { Issue } from '../kit/errors.ts'
import { registry } from '../resources.ts'
import { readAdapter } from './adapter.ts'

export type Part = Record<string, unknown>

/** A document that is fine but for what the test puts in. */
export function document(stream: Part = {}, more: Part = {}): string {
  return JSON.stringify({
    adapter: 'test',
    source: { name: 'Test', kind: 'csv' },
    streams: [{ type: 'building', key: 'row.Code', map: { name: 'row.Name' }, ...stream }],
    ...more,
  })
}

export function issuesOf(text: string): Issue[] {
  try {
    readAdapter(text, registry)
    return []
  } catch (error) {
    if (error instanceof ApiError) return error.extra['errors'] as Issue[]
    throw error
  }
}
