/** The folder in which files are received: streamed to disk, measured on the way, flushed. */
import { createHash } from 'node:crypto'
import { mkdir, open, readdir, rm, stat, truncate } from 'node:fs/promises'
import { join } from 'node:path'
import { ApiError } from '../kit/errors.ts'
import { idDigits } from '../kit/ids.ts'
import { HEAD_BYTES } from './file-type.ts'
import { keySegments } from './files.ts'
import type { FileKey, SpooledFile } from './files.ts'

const MEGABYTE = 1024 * 1024

/** Ends the name of a file that comes from elsewhere, until it is whole. */
export const COMING = '.pull'

export class Spool {
  private readonly dir: string
  private readonly durable: boolean

  /** @param durable whether files have to outlive a crash of the machine; those that are only looked at need not. */
  constructor(dir: string, durable = true) {
    this.dir = dir
    this.durable = durable
  }

  /**
   * Writes a stream to disk, one chunk after the other: a chunk is asked for when the one before it is written. Leaves
   * nothing behind when it fails.
   * @throws 413 beyond `max_bytes`, 503 when the disk is full.
   */
  async take(key: FileKey, source: AsyncIterable<Buffer>, max_bytes: number): Promise<SpooledFile> {
    await mkdir(this.dir, { recursive: true, mode: 0o700 })
    const path = this.path(key)
    const handle = await open(path, 'wx', 0o600)
    try {
      const hash = createHash('sha256')
      const head: Buffer[] = []
      let byte_size = 0
      for await (const chunk of source) {
        if (byte_size < HEAD_BYTES) head.push(chunk.subarray(0, HEAD_BYTES - byte_size))
        byte_size += chunk.length
        if (byte_size > max_bytes) throw tooLarge(max_bytes)
        hash.update(chunk)
        await handle.writeFile(chunk)
      }
      if (this.durable) await handle.sync()
      await handle.close()
      return { path, sha256: hash.digest('hex'), byte_size, head: Buffer.concat(head) }
    } catch (error) {
      await handle.close().catch(() => {})
      await this.drop(key)
      throw diskFull(error)
    }
  }

  async drop(key: FileKey): Promise<void> {
    const path = this.path(key)
    await Promise.all([path, path + COMING].map(async (name) => await rm(name, { force: true })))
  }

  /** Leaves the name alone, for the sweep to find. */
  async empty(key: FileKey): Promise<void> {
    await truncate(this.path(key))
  }

  /** Files that were last written before a time, epoch milliseconds. */
  async leftovers(before: number): Promise<FileKey[]> {
    const names = await readdir(this.dir).catch(absent([]))
    const keys: FileKey[] = []
    for (const name of names) {
      const key = keyOf(name)
      const found = key && (await stat(join(this.dir, name)).catch(absent(null)))
      if (found && found.mtimeMs < before) keys.push(key)
    }
    return keys
  }

  private path(key: FileKey): string {
    return join(this.dir, keySegments(key).join('.'))
  }
}

function keyOf(name: string): FileKey | null {
  const [org = '', doc = '', ver = ''] = name.split('.')
  const org_id = idDigits('org', org)
  const document_id = idDigits('doc', doc)
  const version_id = idDigits('ver', ver)
  if (org_id === null || document_id === null || version_id === null) return null
  return { org_id, document_id, version_id }
}

/** 413 that says how much is allowed. */
export function tooLarge(max_bytes: number): ApiError {
  const detail = `A file may have at most ${Math.floor(max_bytes / MEGABYTE)} MB.`
  return new ApiError('payload_too_large', detail, { max_bytes })
}

function diskFull(error: unknown): unknown {
  const { code } = error as NodeJS.ErrnoException
  if (code !== 'ENOSPC' && code !== 'EDQUOT') return error
  return new ApiError('unavailable', 'There is no room for the file at the moment.', {}, error)
}

/** What a missing file or folder stands for. */
function absent<T>(value: T): (error: NodeJS.ErrnoException) => T {
  return (error) => {
    if (error.code === 'ENOENT') return value
    throw error
  }
}
