/** The repository as its rules see it: which files there are, what they hold and what they import. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

export const ROOT = fileURLToPath(new URL('../../../', import.meta.url))

const LEFT_OUT = new Set(['node_modules', '.git', '.grid', 'dist', 'results', 'data'])

export interface SourceFile {
  /** Path from the root of the repository, with forward slashes. */
  path: string
  text: string
}

/** Every file below the folders, given from the root, whose name ends as asked. */
export function files(folders: readonly string[], ending: string): SourceFile[] {
  return folders.flatMap((folder) => walk(join(ROOT, folder), ending)).map(sourceFile)
}

/** One file of the repository, or null when it does not exist (yet). */
export function fileAt(path: string): SourceFile | null {
  return existsSync(join(ROOT, path)) ? sourceFile(join(ROOT, path)) : null
}

function walk(folder: string, ending: string): string[] {
  if (!existsSync(folder)) return []
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (LEFT_OUT.has(entry.name)) return []
    const path = join(folder, entry.name)
    if (entry.isDirectory()) return walk(path, ending)
    return entry.name.endsWith(ending) ? [path] : []
  })
}

function sourceFile(path: string): SourceFile {
  return {
    path: relative(ROOT, path).replaceAll('\\', '/'),
    text: readFileSync(path, 'utf8'),
  }
}

/** What a file imports: other files as paths from the root, libraries by their name. */
export function importsOf({ path, text }: SourceFile): string[] {
  const found = [
    ...text.matchAll(/(?:^|\n)(?:import|export)\s[^'"]*?from\s+'([^']+)'/g),
    ...text.matchAll(/(?:^|\n)import\s+'([^']+)'/g),
    ...text.matchAll(/\bimport\('([^']+)'\)/g),
  ]
  return found.map(([, target = '']) =>
    target.startsWith('.')
      ? relative(ROOT, resolve(ROOT, dirname(path), target)).replaceAll('\\', '/')
      : target,
  )
}

/** Lines of a file that match, as `path:line text`. */
export function linesWith({ path, text }: SourceFile, pattern: RegExp): string[] {
  return text
    .split('\n')
    .flatMap((line, i) => (pattern.test(line) ? [`${path}:${i + 1} ${line.trim()}`] : []))
}
