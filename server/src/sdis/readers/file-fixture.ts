import { mkdtempSync, readdirSync, readlinkSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { FileError, type SheetRow, type Table } from './types.ts'

/** A folder for the files of one test file. */
export interface FileFixture {
  folder: string
  /** Writes a file and gives its path. */
  write(name: string, bytes: string | Uint8Array): string
  remove(): void
}

/** Makes a folder for test files; `remove` belongs into `afterAll`. */
export function fileFixture(): FileFixture {
  const folder = mkdtempSync(join(tmpdir(), 'grid-readers-'))
  return {
    folder,
    write(name, bytes) {
      const path = join(folder, name)
      writeFileSync(path, bytes)
      return path
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** All rows of a table. */
export async function readAll(table: Table): Promise<SheetRow[]> {
  const rows: SheetRow[] = []
  for await (const batch of table.rows) rows.push(...batch)
  return rows
}

/** The error by which a file is refused, at once or while its rows are read. */
export async function refusal(opening: Promise<Table>): Promise<FileError> {
  try {
    await readAll(await opening)
  } catch (error) {
    if (error instanceof FileError) return error
    throw error
  }
  throw new Error('The file was not refused')
}

/** How many handles this process has open on files whose path contains `part` (Linux). */
export function openHandles(part: string): number {
  const links = readdirSync('/proc/self/fd').map((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`)
    } catch {
      return ''
    }
  })
  return links.filter((link) => link.includes(part)).length
}
