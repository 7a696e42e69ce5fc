/** The way in. What is compiled is kept beside the libraries: the next start, and every thread, need not compile it again. */
import { enableCompileCache } from 'node:module'
import { join } from 'node:path'

process.env['NODE_COMPILE_CACHE'] ??= join(import.meta.dirname, '../../node_modules/.cache/grid')
enableCompileCache(process.env['NODE_COMPILE_CACHE'])
await import('./command-line.ts')
