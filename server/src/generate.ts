/** `npm run generate`: writes the files that follow from the code. */
import { mkdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { generatedFiles } from './generated.ts'

const ROOT = fileURLToPath(new URL('../../', import.meta.url))

for (const [path, text] of await generatedFiles()) {
  const file = join(ROOT, path)
  const before = await readFile(file, 'utf8').catch(() => null)
  if (before !== text) {
    await mkdir(dirname(file), { recursive: true })
    await writeFile(file, text)
  }
  process.stdout.write(`${before === text ? 'same   ' : 'written'} ${path}\n`)
}
