/** kill -9 of the process that serves, works and owns the database, again and again under writes. */
import { checkOrganization } from '../../server/test/consistency.ts'
import { counted } from '../scenario.ts'
import type { Scenario } from '../scenario.ts'
import { pause, Service } from '../service.ts'
import { missing, Writers } from '../writers.ts'

const KILLS = 40

export const serverKilled: Scenario = {
  row: 1,
  fault: 'kill -9 of the API between commit and answer',
  pass: 'every acknowledged write is there once; row, facts, event and audit entry agree; a repeated request gets the stored answer',
  run: async (size) => {
    const service = await Service.start()
    try {
      const writers = new Writers(service, 6)
      const kills = Math.max(2, Math.round(KILLS * size))
      for (let i = 0; i < kills; i++) {
        await pause(50 + Math.random() * 700)
        await service.kill()
        await service.launch()
      }
      await writers.stop()
      const faults = await missing(service, writers)
      const owner = await service.owner()
      const disagreeing = await checkOrganization(service.org_id, owner)
      await owner.end()
      const { size: written } = writers.acknowledged
      return counted(
        written,
        faults,
        `${kills} kills, ${writers.repeated} requests repeated, ${disagreeing.length} disagreements`,
        disagreeing.length === 0 && written > kills,
      )
    } finally {
      await service.end()
    }
  },
}
