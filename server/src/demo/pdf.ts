/** The smallest PDF that holds text: pages of lines in one typeface, uncompressed, so that any reader finds the words. */

const PAGE = { width: 612, height: 792, left: 72, top: 720, leading: 15, size: 10.5 }
const TITLE_SIZE = 15

/** @param pages lines of each page; the first line of the first page is the title. */
export function pdf(pages: readonly (readonly string[])[]): Buffer {
  const font = 3
  const contents = pages.map((lines, page) => content(lines, page === 0))
  const pageIds = pages.map((_, i) => font + 1 + i * 2)
  const kids = pageIds.map((id) => `${id} 0 R`).join(' ')
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>',
    ...contents.flatMap((stream, i) => [
      `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 ${PAGE.width} ${PAGE.height}] ` +
        `/Resources << /Font << /F1 ${font} 0 R >> >> /Contents ${(pageIds[i] as number) + 1} 0 R >>`,
      `<< /Length ${Buffer.byteLength(stream, 'latin1')} >>\nstream\n${stream}\nendstream`,
    ]),
  ]
  return Buffer.from(assemble(objects), 'latin1')
}

/** Objects one after the other, and the table of where each begins. */
function assemble(objects: readonly string[]): string {
  let file = '%PDF-1.4\n%\xe2\xe3\xcf\xd3\n'
  const offsets = objects.map((object, i) => {
    const offset = file.length
    file += `${i + 1} 0 obj\n${object}\nendobj\n`
    return offset
  })
  const start = file.length
  const rows = offsets.map((offset) => `${String(offset).padStart(10, '0')} 00000 n \n`).join('')
  const count = objects.length + 1
  file += `xref\n0 ${count}\n0000000000 65535 f \n${rows}`
  file += `trailer\n<< /Size ${count} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF\n`
  return file
}

function content(lines: readonly string[], hasTitle: boolean): string {
  const commands = lines.map((line, i) => {
    const isTitle = hasTitle && i === 0
    return `/F1 ${isTitle ? TITLE_SIZE : PAGE.size} Tf (${escaped(line)}) Tj T*`
  })
  return `BT ${PAGE.leading} TL ${PAGE.left} ${PAGE.top} Td\n${commands.join('\n')}\nET`
}

/** Typographic signs beyond Latin-1 are written with plain ones. */
function escaped(line: string): string {
  return line
    .replaceAll(/[\u2018\u2019]/g, "'")
    .replaceAll(/[\u2013\u2014]/g, '-')
    .replaceAll(/[^\x20-\x7e\xa0-\xff]/g, '?')
    .replaceAll(/[\\()]/g, String.raw`\$&`)
}
