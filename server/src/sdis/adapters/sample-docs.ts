/** Documentation of the endpoints that look at a sample. */
import { adapterId, route } from './docs.ts'
import { inferBodies, previewBodies, previewSchema, proposalSchema } from './sample-schemas.ts'

export const previewAdapter = route(
  'write:jobs',
  'previewAdapter',
  'Preview an adapter',
  'Reads the first rows of a file with a version of the adapter: raw, mapped and issues side by side, what each column looks like, and what columns could fill that it leaves out. Nothing is loaded and the file is not kept. A file that cannot be read at all is 422 invalid_file with file_error.',
  { 200: previewSchema },
  {
    parameters: [adapterId],
    problems: [400, 404, 413, 415, 422],
    requestBody: previewBodies.content,
  },
)

export const inferAdapter = route(
  'write:jobs',
  'inferAdapter',
  'Propose an adapter from a sample',
  'Looks at the first 2,000 rows of a file and proposes a document: kind of file and header, how numbers and dates are written, what the rows describe, their key, and which column fills which field by its name and its values, each with a confidence and a reason. The document can be sent to POST /sdis/adapters as it is. No model is asked, nothing is loaded, and the file is not kept.',
  { 200: proposalSchema },
  { problems: [400, 413, 415, 422], requestBody: inferBodies.content },
)
