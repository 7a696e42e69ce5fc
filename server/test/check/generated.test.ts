import { expect, it } from 'vitest'
import { generatedFiles } from '../../src/generated.ts'
import { fileAt } from './repository.ts'

it('generated files are what the code says; refresh them with: npm run generate', async () => {
  const stale = [...(await generatedFiles())]
    .filter(([path, text]) => fileAt(path)?.text !== text)
    .map(([path]) => `${path} is stale`)
  expect(stale, 'run: npm run generate').toEqual([])
})
