/** Files and their places, wherever those are. */
import type { Readable } from 'node:stream'
import { publicId } from '../kit/ids.ts'

/** Names one version of one document's file. */
export interface FileKey {
  org_id: number
  document_id: number
  version_id: number
}

/** A file in the spool: complete, flushed to disk and measured. */
export interface SpooledFile {
  path: string
  sha256: string
  byte_size: number
  /** Its first bytes, to see what it is. */
  head: Buffer
}

/** The bytes `start` to `end`, both included. */
export interface ByteRange {
  start: number
  end: number
}

/** Files at their places. */
export interface Files {
  /** Resolves once the file would survive a loss of power. */
  put: (key: FileKey, file: SpooledFile) => Promise<void>
  /** @throws when there is no such file. */
  open: (key: FileKey, range: ByteRange | null) => Promise<Readable>
  /** Removes the file if it exists. */
  remove: (key: FileKey) => Promise<void>
  close: () => Promise<void>
}

/** The segments of a file's place: `org_1`, `doc_5001`, `ver_9001`. */
export function keySegments({ org_id, document_id, version_id }: FileKey): string[] {
  return [publicId('org', org_id), publicId('doc', document_id), publicId('ver', version_id)]
}
