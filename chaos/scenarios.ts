/** Every scenario, in the order of the report. */
import type { Scenario } from './scenario.ts'
import { databaseKilled } from './scenarios/database-killed.ts'
import { diskFull } from './scenarios/disk-full.ts'
import { idempotency } from './scenarios/idempotency.ts'
import { lateCommits } from './scenarios/late-commits.ts'
import { serverKilled } from './scenarios/server-killed.ts'
import { tenantsApart } from './scenarios/tenants-apart.ts'

export const scenarios: readonly Scenario[] = [
  serverKilled,
  databaseKilled,
  diskFull,
  idempotency,
  lateCommits,
  tenantsApart,
]
