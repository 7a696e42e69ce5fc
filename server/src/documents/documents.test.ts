import { createHash } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { newOrganization } from '../../test/grid.ts'
import { form, PDF } from './upload-fixture.ts'

const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex')

describe('documents', () => {
  test('a form makes a document that is available at once', async () => {
    const client = await newOrganization()
    const created = await client.post('/documents', form({}, { document_type: 'lease' }))
    if (created.status !== 201) console.log(JSON.stringify(created.body))
    expect(created).toMatchObject({
      status: 201,
      body: {
        title: 'lease.pdf',
        document_type: 'lease',
        status: 'available',
        filename: 'lease.pdf',
        content_type: 'application/pdf',
        byte_size: PDF.length,
        sha256: sha256(PDF),
        version: 1,
        version_number: 1,
      },
    })
  })
})
