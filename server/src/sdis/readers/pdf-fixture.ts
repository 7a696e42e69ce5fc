/** Small PDF documents for tests: texts at places. */

/** A text with its place in points, from the left and the bottom of the page. */
export type PdfText = [left: number, bottom: number, text: string]

/** The content of a page, packed. */
export interface Packed {
  filter: string
  bytes: Buffer
}

/** The bytes of a document whose pages have these texts. @param pack what becomes of the content of each page. */
export function buildPdf(
  pages: readonly (readonly PdfText[])[],
  pack: (content: string) => Packed | null = () => null,
): Buffer {
  const first = 4
  const kids = pages.map((_, i) => `${first + 2 * i} 0 R`).join(' ')
  const objects = [
    '<< /Type /Catalog /Pages 2 0 R >>',
    `<< /Type /Pages /Kids [${kids}] /Count ${pages.length} >>`,
    '<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>',
    ...pages.flatMap((texts, i) => {
      const shown = texts.map(
        ([left, bottom, text]) => `BT /F1 10 Tf ${left} ${bottom} Td (${text}) Tj ET`,
      )
      const content = shown.join('\n')
      const packed = pack(content)
      const stream = packed?.bytes.toString('latin1') ?? content
      const filter = packed ? ` /Filter ${packed.filter}` : ''
      return [
        `<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents ${first + 2 * i + 1} 0 R /Resources << /Font << /F1 3 0 R >> >> >>`,
        `<< /Length ${stream.length}${filter} >>\nstream\n${stream}\nendstream`,
      ]
    }),
  ]
  let text = '%PDF-1.4\n'
  const offsets = objects.map((object, i) => {
    const at = text.length
    text += `${i + 1} 0 obj\n${object}\nendobj\n`
    return `${String(at).padStart(10, '0')} 00000 n \n`
  })
  const start = text.length
  text += `xref\n0 ${objects.length + 1}\n0000000000 65535 f \n${offsets.join('')}`
  text += `trailer\n<< /Size ${objects.length + 1} /Root 1 0 R >>\nstartxref\n${start}\n%%EOF`
  return Buffer.from(text, 'latin1')
}

/** Rows of a table as texts on a page, the columns 120 points apart. */
export function pdfRows(rows: readonly (readonly string[])[], top = 740): PdfText[] {
  return rows.flatMap((row, line) =>
    row.flatMap((text, i): PdfText[] =>
      text === '' ? [] : [[50 + 120 * i, top - 14 * line, text]],
    ),
  )
}
