/**
 * Where the files of documents are kept.
 *
 * There is no table of files: a document's row lists its versions, and a version's file lies at a place made of the
 * three ids organization, document and version. Ids are never used twice, so a file is written once and never replaced,
 * and no path leads from one organization to another's files.
 *
 * An upload goes through these steps; a crash after any of them loses nothing that was acknowledged:
 * 1. the bytes go to the spool, a local folder, under the name of their future place, and are flushed to disk;
 * 2. the file is put at its place (a second link to the same bytes, or a PUT to S3);
 * 3. one transaction writes the document with its new version;
 * 4. the file leaves the spool.
 * What is still in the spool a day later belongs to an upload that never came to step 4. The sweep asks the database
 * whether the version exists and, if not, removes the file. So it removes only files that this installation wrote and
 * did not finish; it never compares a bucket with a database that may be the wrong one.
 */
import { join, resolve } from 'node:path'
import type { Config } from '../config.ts'
import { Egress } from '../egress.ts'
import type { Files } from './files.ts'
import { Spool } from './spool.ts'
import { diskFiles } from './storage-disk.ts'
import { s3Files } from './storage-s3.ts'

/** Files at their places, and the folder in which they are received. */
export interface Storage extends Files {
  spool: Spool
}

/**
 * The storage the settings ask for. Files being received are always local.
 * @throws when S3 is configured in part.
 */
export function storageOf(config: Config): Storage {
  const root = join(resolve(config.GRID_DATA_DIR), 'files')
  const spool = new Spool(join(root, 'incoming'))
  const endpoint = config.GRID_S3_ENDPOINT
  if (!endpoint) return { ...diskFiles(root), spool }
  const needed = ['GRID_S3_BUCKET', 'GRID_S3_ACCESS_KEY_ID', 'GRID_S3_SECRET_ACCESS_KEY'] as const
  const missing = needed.filter((name) => !config[name])
  if (missing.length > 0) throw new Error(`GRID_S3_ENDPOINT also needs ${missing.join(', ')}`)
  const files = s3Files(
    {
      endpoint,
      bucket: config.GRID_S3_BUCKET as string,
      region: config.GRID_S3_REGION,
      access_key_id: config.GRID_S3_ACCESS_KEY_ID as string,
      secret_access_key: config.GRID_S3_SECRET_ACCESS_KEY as string,
    },
    new Egress(),
  )
  return { ...files, spool }
}
