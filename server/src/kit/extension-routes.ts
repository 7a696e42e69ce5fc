/** Bodies that fail in fields of the product and in the organization's own: one answer names them all. */
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { invalid } from './errors.ts'
import { acceptExtensions } from './extension-input.ts'
import { ownResource } from './extended.ts'
import type { Resource, Row } from './resource.ts'
import type { RouteDocs } from './schemas.ts'
import { validate } from './validate.ts'

/**
 * Goes before the validation of a body. Where that would fail, it adds what is wrong with the organization's own fields;
 * where it would not, the write names those.
 */
export function nameAll(
  app: FastifyInstance,
  resource: Resource,
  { schema }: RouteDocs,
  create: boolean,
): (request: FastifyRequest) => Promise<void> {
  return async (request) => {
    const { body, caller } = request
    if (typeof body !== 'object' || body === null || !schema.body) return
    const { ext } = body as Row
    if (typeof ext !== 'object' || ext === null || Object.keys(ext).length === 0) return
    const declared = validate(schema.body, body)
    if (declared.length === 0) return
    const { extensions } = await ownResource(app.store, caller.org_id, resource)
    const { issues } = acceptExtensions(extensions, ext as Row, create ? null : {})
    throw invalid([...declared, ...issues])
  }
}
