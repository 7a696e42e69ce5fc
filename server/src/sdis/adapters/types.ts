/** Adapters that the service keeps: their versions, and the form clients see. */
import { createHash } from 'node:crypto'
import { canonical } from '../../audit/canonical.ts'
import { publicId } from '../../kit/ids.ts'
import type { Row } from '../../kit/resource.ts'
import type { Adapter } from '../adapter.ts'

/**
 * `draft` may be changed; from `tested` on a version stays as it is. One version at most is `live`; it is `superseded`
 * by the next.
 */
export const VERSION_STATES = ['draft', 'tested', 'live', 'superseded'] as const
export type VersionState = (typeof VERSION_STATES)[number]

/** A document as it was sent: JSON, or text that is YAML or JSON. */
export type Sent = string | Row

export interface KeptAdapter {
  org_id: number
  id: number
  name: string
  require_second_person: boolean
  latest_version: number
  live_version: number | null
  /** Versions that were live before, the last one last. */
  earlier_versions: number[]
  version: number
  created_by: string
  created_at: Date
  updated_at: Date
}

/** What a preview of a document saw. */
export interface PreviewNote {
  at: string
  hash: string
  file_sha256: string
  rows: number
  errors: number
}

export interface KeptVersion {
  org_id: number
  adapter_id: number
  version: number
  state: VersionState
  document: Row
  hash: string
  revision: number
  author_type: string
  author_id: string | null
  author_name: string
  preview: PreviewNote | null
  tested: Row | null
  created_at: Date
  updated_at: Date
  live_at: Date | null
}

/** Fingerprint of what a document means: equal ones map files equally, whatever number they have. */
export function contentHash(adapter: Adapter): string {
  const { version: _, adapter_id: __, streams, ...rest } = adapter
  // How the organization's own fields are declared is not said by the document.
  const bare = streams.map((stream) => ({ ...stream, ext: null }))
  const meaning = { ...rest, streams: bare }
  return createHash('sha256').update(canonical(meaning)).digest('hex')
}

export function adapterView(adapter: KeptAdapter): Row {
  return {
    id: publicId('adp', adapter.id),
    object: 'adapter',
    organization_id: publicId('org', adapter.org_id),
    name: adapter.name,
    latest_version: adapter.latest_version,
    live_version: adapter.live_version,
    previous_version: adapter.earlier_versions.at(-1) ?? null,
    require_second_person: adapter.require_second_person,
    version: adapter.version,
    created_by: adapter.created_by,
    created_at: adapter.created_at,
    updated_at: adapter.updated_at,
  }
}

export function versionView(version: KeptVersion): Row {
  return {
    object: 'adapter_version',
    adapter_id: publicId('adp', version.adapter_id),
    version: version.version,
    state: version.state,
    hash: version.hash,
    document: version.document,
    preview: version.preview,
    tested: version.tested,
    created_by: version.author_name,
    created_at: version.created_at,
    updated_at: version.updated_at,
    live_at: version.live_at,
  }
}
