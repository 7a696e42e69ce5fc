/** What other features may do with fields of organizations' own. */
export { cellValue } from './convert.ts'
export { tendSchemas } from './upkeep.ts'
