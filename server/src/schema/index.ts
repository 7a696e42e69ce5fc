export { tendSchemas } from './upkeep.ts'
export { additionsOf } from './additions.ts'
export type { Addition } from './additions.ts'
