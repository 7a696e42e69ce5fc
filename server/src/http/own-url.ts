import type { FastifyInstance } from 'fastify'
import { baseUrl } from '../config.ts'

/** The base URL under which this process is reached. */
export function ownUrl(app: FastifyInstance): string {
  const address = app.server.address()
  return baseUrl(app.config, typeof address === 'object' ? address?.port : undefined)
}
