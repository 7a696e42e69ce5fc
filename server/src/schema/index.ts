export { tendSchemas } from './upkeep.ts'
