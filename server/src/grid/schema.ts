/** The model as data: types, attributes and what can be done with them. */
import { createHash } from 'node:crypto'
import { filterColumns, isSortable, operatorsOf } from '../kit/list-columns.ts'
import { deployed } from '../kit/extension.ts'
import { valueSchema } from '../kit/extension-schema.ts'
import { nullable } from '../kit/field.ts'
import { publicId } from '../kit/ids.ts'
import { allFields } from '../kit/resource.ts'
import type { Resource, Row } from '../kit/resource.ts'

export interface SchemaDocument {
  etag: string
  text: string
}

/** `GET /grid/v2/schema`, with the fingerprint of its content as version. */
export function schemaDocument(resources: readonly Resource[]): SchemaDocument {
  const types = resources.map(typeView)
  const version = createHash('sha256').update(JSON.stringify(types)).digest('hex').slice(0, 12)
  return { etag: `"s${version}"`, text: JSON.stringify({ object: 'schema', version, types }) }
}

function typeView(resource: Resource): Row {
  const columns = filterColumns(resource)
  return {
    name: resource.name,
    title: resource.title,
    description: resource.description,
    id_prefix: resource.prefix,
    path: `/${resource.path}`,
    grid_path: `/grid/v2/${resource.path}`,
    lifecycle: resource.lifecycle,
    attributes: Object.entries(allFields(resource)).map(([name, field]) => {
      const column = columns.get(name)
      return {
        name,
        kind: field.kind,
        description: field.schema['description'] ?? '',
        schema: field.writeOnly ? field.schema : nullable(field.schema),
        required: field.required,
        read_only: field.readOnly,
        derived: resource.derived.includes(name),
        relation: field.target,
        operators: column ? operatorsOf(column) : [],
        sortable: column !== undefined && isSortable(column),
      }
    }),
    ext: deployed(resource.extensions).map((extension) => {
      const column = columns.get(`ext.${extension.name}`)
      return {
        id: publicId('fld', extension.id),
        name: `ext.${extension.name}`,
        label: extension.label,
        kind: extension.type,
        description: extension.description ?? '',
        schema: nullable(valueSchema(extension)),
        required: extension.required,
        filterable: extension.filterable,
        operators: column ? operatorsOf(column) : [],
        sortable: column !== undefined && isSortable(column),
      }
    }),
    rollups: Object.entries(resource.rollups).map(([name, field]) => ({
      name,
      kind: field.kind,
      description: field.schema['description'] ?? '',
    })),
  }
}
