/** Memory that a start leaves behind. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'

/**
 * Gives back what loading the modules and seeding took: the young generation has grown to its full size by then and would
 * keep it, although a calm process needs a tenth. Takes some 30 ms, during which nothing else runs.
 */
export function giveBackMemory(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (how: object) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}
