/** The endpoint that an app brings along: made with its installation, ended with it. */
import type { Tx } from '../kit/types.ts'
import type { App, Installation } from './apps.ts'

export async function installWebhook(
  _tx: Tx,
  _installation: Installation,
  _app: App,
): Promise<void> {}

export async function uninstallWebhook(_tx: Tx, _installation: Installation): Promise<void> {}
