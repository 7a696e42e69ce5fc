/** The database dies or throws its clients out while the process lives on. */
import { execFileSync } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { checkOrganization } from '../../server/test/consistency.ts'
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { pause, Service, until } from '../service.ts'
import { missing, Writers } from '../writers.ts'

const STORMS = 20

/** Readiness has to be green again this long after the database is. */
const READY_MS = 5_000

export const databaseKilled: Scenario = {
  row: 3,
  fault: 'kill -9 of a database process; all its connections terminated, again and again',
  pass: 'the process stays up; readiness is green within 5 s; no acknowledged write is lost',
  run: async (size) => {
    const service = await Service.start()
    try {
      const { pid } = service
      const writers = new Writers(service, 4)
      const storms = Math.max(2, Math.round(STORMS * size))
      let slowest = 0
      for (let i = 0; i < storms; i++) {
        await pause(100 + Math.random() * 300)
        await (i % 4 === 3 ? killBackend(service) : terminateAll(service))
        const started = performance.now()
        await until('the service is ready again', async () => await ready(service), READY_MS)
        slowest = Math.max(slowest, performance.now() - started)
      }
      await writers.stop()
      const faults = await missing(service, writers)
      const owner = await service.owner()
      const disagreeing = await checkOrganization(service.org_id, owner)
      await owner.end()
      return counted(
        writers.acknowledged.size,
        faults,
        `${storms} storms, ready again after ${Math.round(slowest)} ms at most, ${disagreeing.length} disagreements`,
        disagreeing.length === 0 && service.pid === pid,
      )
    } finally {
      await service.end()
    }
  },
}

async function ready(service: Service): Promise<boolean> {
  const answer = await fetch(`http://127.0.0.1:${service.port}/health/ready`).catch(() => null)
  await answer?.body?.cancel()
  return answer?.ok ?? false
}

async function terminateAll(service: Service): Promise<void> {
  // While the database recovers from the storm before, there is nobody to throw out.
  const owner = await service.owner().catch(() => null)
  if (!owner) return
  await owner.query(
    `select pg_terminate_backend(pid) from pg_stat_activity where pid <> pg_backend_pid() and backend_type = 'client backend'`,
  )
  await owner.end().catch(() => {})
}

/** The crash of one of its processes makes the database end all others and recover; waits until it has noticed. */
async function killBackend(service: Service): Promise<void> {
  const lock = await readFile(join(service.data_dir, 'postgres', 'postmaster.pid'), 'utf8')
  const [postmaster = ''] = lock.split('\n')
  const clients = (): string[] => {
    const all = execFileSync('ps', ['-eo', 'ppid=,pid=,args='], { encoding: 'utf8' })
    return all.split('\n').flatMap((line) => {
      const [parent, pid = '', ...args] = line.trim().split(/\s+/)
      return parent === postmaster && / grid postgres /.test(args.join(' ')) ? [pid] : []
    })
  }
  const before = clients()
  if (before.length === 0) return
  process.kill(Number(before[0]), 'SIGKILL')
  await until(
    'the database has ended the processes of its clients',
    async () => clients().every((pid) => !before.includes(pid)),
    READY_MS,
  )
}
