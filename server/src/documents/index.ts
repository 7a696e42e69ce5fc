/** What other features use of documents: the reception of files that are sent in forms, and their storage. */
export type { FileKey, SpooledFile } from './files.ts'
export type { Storage } from './storage.ts'
export { COMING, Spool, tooLarge } from './spool.ts'
export { discardRest, FORM_LIMITS, receive, receiveFrom } from './upload.ts'
export type { FormPart, Upload, UploadedFile } from './upload.ts'
export { documentFile } from './service.ts'
