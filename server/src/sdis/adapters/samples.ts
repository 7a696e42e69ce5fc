/** Files that are only looked at: received like those of jobs, and dropped when the answer is known. */
import { join } from 'node:path'
import { ApiError } from '../../kit/errors.ts'
import type { Store } from '../../kit/store.ts'
import { Spool } from '../../documents/index.ts'
import type { SpooledFile } from '../../documents/index.ts'
import { FileError } from '../readers/types.ts'
import { jobFileKey } from '../service.ts'

export interface SampleFile {
  name: string
  path: string
  byte_size: number
  sha256: string
}

/** Where samples lie while they are looked at; the sweep of imports takes what a crash left. */
export function sampleSpool(data_dir: string): Spool {
  return new Spool(join(data_dir, 'imports'), false)
}

/** A text that is sent in place of a file. */
export async function spooled(
  store: Pick<Store, 'db'>,
  data_dir: string,
  org_id: number,
  text: string,
): Promise<{ file: SampleFile; drop: () => Promise<void> }> {
  const [id] = (await store.db.ids(1)) as [number]
  const key = jobFileKey(org_id, id)
  const spool = sampleSpool(data_dir)
  const bytes = Buffer.from(text)
  const file: SpooledFile = await spool.take(key, once(bytes), bytes.length)
  return { file: { ...file, name: 'inline' }, drop: async () => await spool.drop(key) }
}

// oxlint-disable-next-line typescript/require-await
async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

/** Runs what reads a file. @throws 422 `invalid_file` with the reason, where the file cannot be used. */
export async function reading<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof FileError)) throw error
    const { code, message, details } = error
    throw new ApiError('invalid_file', message, { file_error: { code, details } })
  }
}
