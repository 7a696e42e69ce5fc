/** What other features need of truth. */
export { factsWhere } from './fact-queries.ts'
export { conflictViews, factViews } from './views.ts'
export { objectOf } from './object.ts'
export { conflictProperties } from './docs.ts'
export { claimProperties, claimSchema } from './fact-docs.ts'
