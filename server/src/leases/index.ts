/** What other features may see of leases: what is in force today, what it holds and what rent it pays. */
export {
  areaIn,
  contractsSql,
  HOLDINGS,
  REMAINING_YEARS,
  RENTS,
  rollUp,
  SIGNED,
} from './in-force-queries.ts'
