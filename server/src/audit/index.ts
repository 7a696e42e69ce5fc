/** What other features need of the audit log. */
export { canonical } from './canonical.ts'
