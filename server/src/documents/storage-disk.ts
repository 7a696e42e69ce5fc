/** Files on a local disk, readable by the service alone. */
import { link, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { keySegments } from './files.ts'
import type { FileKey, Files } from './files.ts'

/** What file systems without hard links answer. */
const NO_LINKS = new Set(['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'])

/** @param root folder of the files; the spool lies below it, on the same file system. */
export function diskFiles(root: string): Files {
  const pathOf = (key: FileKey): string => join(root, ...keySegments(key))
  return {
    async put(key, file) {
      const path = pathOf(key)
      const folder = dirname(path)
      await mkdir(folder, { recursive: true, mode: 0o700 })
      await place(file.path, path)
      // A name is durable once every folder on the way to it is.
      for (const dir of [folder, dirname(folder), root]) await flushFolder(dir)
    },
    async open(key, range) {
      const handle = await open(pathOf(key))
      return handle.createReadStream(range ?? {})
    },
    async remove(key) {
      await rm(pathOf(key), { force: true })
    },
    async close() {},
  }
}

/** Gives the bytes a second name and so leaves the first for the sweep to find; moves them where that cannot be done. */
async function place(from: string, to: string): Promise<void> {
  try {
    await link(from, to)
  } catch (error) {
    if (!NO_LINKS.has((error as NodeJS.ErrnoException).code ?? '')) throw error
    await rename(from, to)
  }
}

async function flushFolder(path: string): Promise<void> {
  const handle = await open(path)
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}
