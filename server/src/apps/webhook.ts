/** The webhook that an app brings along. Both run in the transaction of the installation. */
import type { Tx } from '../kit/types.ts'
import type { App, Installation } from './apps.ts'

/** Where the endpoint for the app's address and events is made, once organizations have webhooks. */
export async function installWebhook(
  _tx: Tx,
  _installation: Installation,
  _app: App,
): Promise<void> {}

/** Where that endpoint is ended. */
export async function uninstallWebhook(_tx: Tx, _installation: Installation): Promise<void> {}
