import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { grid, newOrganization } from '../../test/grid.ts'
import { abortedUpload, formBytes } from './upload-fixture.ts'

describe('aborted', () => {
  test('upload', async () => {
    const { app, db } = await grid()
    const client = await newOrganization()
    const whole = formBytes(Buffer.alloc(500_000, 'x'))
    await abortedUpload(client, '/documents', whole.subarray(0, 300_000), whole.length)
    await sleep(300)
    await app.requestLog.flush()
    console.log(await db.query(client.org_id, 'select method, path, status, error_code from request_log where org_id = $1', [client.org_id]))
    console.log(await readdir(join(app.config.GRID_DATA_DIR, 'files', 'incoming')).catch(String))
    expect(1).toBe(1)
  })
})
