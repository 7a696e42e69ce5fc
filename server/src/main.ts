/** The way in. What is compiled is kept beside the libraries: the next start, and every thread, need not compile it again. */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../node_modules/.cache/grid')
enableCompileCache(process.env['NODE_COMPILE_CACHE'])

try {
  const { run } = await import('./command-line.ts')
  process.exitCode = await run(process.argv.slice(2))
} catch (error) {
  process.stderr.write(`grid: ${error instanceof Error ? error.message : String(error)}\n`)
  if (process.env['GRID_LOG'] === 'debug') process.stderr.write(`${(error as Error).stack}\n`)
  process.exit(1)
}
