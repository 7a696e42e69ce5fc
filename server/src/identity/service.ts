/** What other features ask of identity: which object has an identifier. */
export { findByIdentifier } from './match-queries.ts'
