/** Every scenario, in the order of the report. */
import type { Scenario } from './scenario.ts'
import { auditTampered } from './scenarios/audit-tampered.ts'
import { clockSkew } from './scenarios/clock-skew.ts'
import { databaseKilled } from './scenarios/database-killed.ts'
import { deadReceiver } from './scenarios/dead-receiver.ts'
import { diskFull } from './scenarios/disk-full.ts'
import { herd } from './scenarios/herd.ts'
import { idempotency } from './scenarios/idempotency.ts'
import { keyRevoked } from './scenarios/key-revoked.ts'
import { lateCommits } from './scenarios/late-commits.ts'
import { limits } from './scenarios/limits.ts'
import { poison } from './scenarios/poison.ts'
import { rebinding } from './scenarios/rebinding.ts'
import { receiverFaults } from './scenarios/receiver-faults.ts'
import { replay } from './scenarios/replay.ts'
import { secretRotated } from './scenarios/secret-rotated.ts'
import { serverKilled } from './scenarios/server-killed.ts'
import { tenantsApart } from './scenarios/tenants-apart.ts'
import { workerKilled } from './scenarios/worker-killed.ts'

export const scenarios: readonly Scenario[] = [
  serverKilled,
  workerKilled,
  databaseKilled,
  diskFull,
  receiverFaults,
  deadReceiver,
  herd,
  poison,
  clockSkew,
  rebinding,
  secretRotated,
  keyRevoked,
  limits,
  idempotency,
  lateCommits,
  auditTampered,
  tenantsApart,
  replay,
]
