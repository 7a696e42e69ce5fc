/** The disk of the database is full for a while. */
import { execFileSync } from 'node:child_process'
import { mkdtemp, rm, statfs, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { checkOrganization } from '../../server/test/consistency.ts'
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { pause, Service, until } from '../service.ts'
import { missing, Writers } from '../writers.ts'

const DISK_MB = 400
const ROUNDS = 3

export const diskFull: Scenario = {
  row: 4,
  fault: 'the disk of the database is full',
  pass: 'writes are answered 503 and leave nothing half done; with room again they go on',
  run: async (size) => {
    const disk = await mkdtemp(join(tmpdir(), 'grid-disk-'))
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK_MB}m,mode=755`, 'tmpfs', disk])
    try {
      return await onDisk(disk, Math.max(1, Math.round(ROUNDS * size)))
    } finally {
      execFileSync('umount', ['-l', disk])
      await rm(disk, { recursive: true, force: true })
    }
  },
}

async function onDisk(disk: string, rounds: number): ReturnType<Scenario['run']> {
  const service = await Service.start({}, join(disk, 'grid'))
  try {
    const writers = new Writers(service, 4)
    const refusals = new Map<number, number>()
    for (let round = 0; round < rounds; round++) {
      await pause(500)
      const ballast = join(disk, 'ballast')
      await fill(disk, ballast)
      await until('a write is refused', async () => {
        const answer = await service.call('POST', '/parties', {
          kind: 'company',
          legal_name: 'No room '.repeat(20).trim(),
        })
        const status = answer?.status ?? 0
        if (status !== 201) refusals.set(status, (refusals.get(status) ?? 0) + 1)
        return status !== 201
      })
      await pause(1_000)
      await rm(ballast)
      await until('a write succeeds', async () => {
        const body = { kind: 'company', legal_name: 'Room again' }
        const answer = await service.call('POST', '/parties', body)
        return answer?.status === 201
      })
    }
    await writers.stop()
    const faults = await missing(service, writers)
    const owner = await service.owner()
    const disagreeing = await checkOrganization(service.org_id, owner)
    await owner.end()
    const seen = [...refusals].map(([status, count]) => `${count} x ${status}`).join(', ')
    const clean = disagreeing.length === 0 && [...refusals.keys()].every((status) => status === 503)
    return counted(
      writers.acknowledged.size,
      { lost: faults.lost },
      `${rounds} times full, refusals ${seen}, ${disagreeing.length} disagreements`,
      clean,
    )
  } finally {
    await service.end()
  }
}

/** Takes all the room there is. */
async function fill(disk: string, path: string): Promise<void> {
  const { bavail, bsize } = await statfs(disk)
  await writeFile(path, Buffer.alloc(bavail * bsize)).catch(() => {})
}
