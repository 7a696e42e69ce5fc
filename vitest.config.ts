import { defineConfig } from 'vitest/config'

/** Rules about the repository itself: no database, part of every `npm run check`. */
const CHECKS = ['server/test/check/**/*.test.ts']

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'check',
          include: CHECKS,
          pool: 'threads',
          isolate: false,
          testTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'server',
          include: ['server/**/*.test.ts', 'chaos/**/*.test.ts'],
          exclude: CHECKS,
          globalSetup: ['server/test/database.ts'],
          pool: 'threads',
          isolate: false,
          maxWorkers: 2,
          testTimeout: 30_000,
          hookTimeout: 60_000,
        },
      },
    ],
  },
})
