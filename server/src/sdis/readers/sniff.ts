import type { FileHandle } from 'node:fs/promises'

/** What the first bytes of a file say it is. `text` when nothing speaks against it. */
export type Looks =
  | 'zip'
  | 'ole2'
  | 'PDF'
  | 'PNG'
  | 'JPEG'
  | 'GIF'
  | 'GZIP'
  | '7z'
  | 'RAR'
  | 'RTF'
  | 'HTML'
  | 'XML'
  | 'SQLite'
  | 'Parquet'
  | 'binary data'
  | 'text'

/** Bytes that `looksLike` wants to see. */
export const HEAD_BYTES = 4096

const MAGIC: readonly [Looks, string][] = [
  ['zip', 'PK\x03\x04'],
  ['zip', 'PK\x05\x06'],
  ['ole2', '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1'],
  ['PNG', '\x89PNG'],
  ['JPEG', '\xff\xd8\xff'],
  ['GIF', 'GIF8'],
  ['GZIP', '\x1f\x8b'],
  ['7z', '7z\xbc\xaf\x27\x1c'],
  ['RAR', 'Rar!\x1a'],
  ['RTF', '{\\rtf'],
  ['SQLite', 'SQLite format 3\0'],
  ['Parquet', 'PAR1'],
]

/** Says what a file is from its first bytes, whatever its name claims. */
export function looksLike(head: Buffer): Looks {
  const text = head.toString('latin1')
  const magic = MAGIC.find(([, start]) => text.startsWith(start))
  if (magic) return magic[0]
  // Readers of PDF accept rubbish before the mark, so mail gateways and scanners leave some.
  if (text.slice(0, 1024).includes('%PDF-')) return 'PDF'
  const start = text.replace(/^\xef\xbb\xbf/, '').trimStart()
  // Web reports often send an HTML table under the name of a workbook.
  if (/^<(!doctype html|html|table)\b/i.test(start)) return 'HTML'
  if (start.startsWith('<?xml')) return 'XML'
  return text.includes('\0') ? 'binary data' : 'text'
}

/** True for UTF-16: it has a mark, or a zero byte in every other place as Latin text does. */
export function looksLikeUtf16(head: Buffer): boolean {
  if (head.length < 2) return false
  const mark = head.readUInt16BE(0)
  if (mark === 0xfffe || mark === 0xfeff) return true
  const zeros = [0, 0]
  for (const [index, byte] of head.entries()) if (byte === 0) zeros[index % 2]! += 1
  const [even = 0, odd = 0] = zeros
  return Math.max(even, odd) > head.length / 4 && Math.min(even, odd) < head.length / 20
}

/** Which program's file hides in an OLE2 container, from the names in its directory. */
export async function oleContent(
  handle: FileHandle,
): Promise<'encrypted' | 'XLS' | 'DOC' | 'PPT' | 'OLE2'> {
  const head = Buffer.alloc(512)
  await handle.read(head, 0, 512, 0)
  const sector = 2 ** Math.min(Math.max(head.readUInt16LE(30), 9), 12)
  // The directory may be scattered; its first sectors hold the names that matter in practice.
  const directory = Buffer.alloc(65_536)
  const at = (head.readUInt32LE(48) + 1) * sector
  const { bytesRead } = await handle.read(directory, 0, directory.length, at)
  const has = (name: string): boolean =>
    directory.subarray(0, bytesRead).includes(Buffer.from(name + '\0', 'utf16le'))
  if (has('EncryptedPackage')) return 'encrypted'
  if (has('Workbook') || has('Book')) return 'XLS'
  if (has('WordDocument')) return 'DOC'
  return has('PowerPoint Document') ? 'PPT' : 'OLE2'
}
