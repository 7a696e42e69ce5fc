import { expect, test } from 'vitest'
import { contentType, cut, safeFilename } from './file-type.ts'

const OFFICE = 'application/vnd.openxmlformats-officedocument'

test.each([
  ['application/pdf', 'anything', 'a.bin', 'application/pdf'],
  ['Application/PDF; name=a.pdf', '', 'a.pdf', 'application/pdf'],
  ['application/octet-stream', '%PDF-1.4', 'a', 'application/pdf'],
  ['text/plain', '%PDF-1.4', 'a', 'application/pdf'],
  ['', '%PDF-1.4', 'a', 'application/pdf'],
  ['not a type', 'text', 'a', 'application/octet-stream'],
  [`a/${'b'.repeat(200)}`, 'text', 'a', 'application/octet-stream'],
  ['application/octet-stream', '\x89PNG\r\n\x1a\n', 'a', 'image/png'],
  ['application/octet-stream', '\xff\xd8\xff\xe0', 'a', 'image/jpeg'],
  ['application/octet-stream', 'PK\x03\x04', 'a.DOCX', `${OFFICE}.wordprocessingml.document`],
  ['application/zip', 'PK\x03\x04', 'a.xlsx', `${OFFICE}.spreadsheetml.sheet`],
  ['application/x-zip-compressed', 'PK\x03\x04', 'a.zip', 'application/zip'],
  [
    'application/octet-stream',
    '\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1',
    'a.msg',
    'application/vnd.ms-outlook',
  ],
  ['application/octet-stream', 'a,b\n1,2', 'a.csv', 'application/octet-stream'],
  ['text/plain', 'just text', 'a.txt', 'text/plain'],
])('%s with %j called %s is %s', (sent, head, name, expected) => {
  expect(contentType(sent, Buffer.from(head, 'latin1'), name)).toBe(expected)
})

test.each([
  [undefined, 'file'],
  ['', 'file'],
  ['...', 'file'],
  ['/etc/passwd', 'passwd'],
  ['..\\..\\boot.ini', 'boot.ini'],
  ['a/', 'file'],
  ['line\r\nbreak.pdf', 'linebreak.pdf'],
  ['zero\0byte', 'zerobyte'],
  ['  wide   gap .pdf ', 'wide gap .pdf'],
  ['half\ud800.pdf', 'half.pdf'],
  ['e\u0301.pdf', 'é.pdf'],
  ['x'.repeat(260), 'x'.repeat(255)],
  [`${'x'.repeat(250)}😀😀.pdf`, `${'x'.repeat(250)}.pdf`],
])('the file name %j becomes %j', (sent, expected) => {
  expect(safeFilename(sent)).toBe(expected)
  expect(safeFilename(sent).length).toBeLessThanOrEqual(255)
})

test('text is cut between characters', () => {
  expect(cut('ab😀', 3)).toBe('ab')
  expect(cut('ab😀', 4)).toBe('ab😀')
})
