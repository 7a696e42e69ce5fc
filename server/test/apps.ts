/** An app that its own organization has installed. */
import type { TestClient } from './grid.ts'
import type { Ids } from './samples.ts'

/** @returns the ids of the app and of its installation. */
export async function installedApp(client: TestClient): Promise<Ids> {
  const app = await client.post('/developer/apps/register', {
    client_name: 'Rent Roll Studio',
    redirect_uris: ['https://app.example.com/done'],
    scope: 'read:leases',
  })
  const { id: client_id } = app.body
  const installation = await client.post('/apps/installations', {
    client_id,
    scopes: ['read:leases'],
  })
  return { app: client_id, app_installation: installation.body.id }
}
