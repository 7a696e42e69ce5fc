/** Every scope a key can hold, with what it allows; the list is the documentation. */
export const SCOPES = {
  'read:organizations': 'See the organization and its sandboxes.',
  'write:organizations': 'Change the organization; create and delete child organizations.',
  'read:parties': 'See parties (tenants, owners, vendors) and their contacts.',
  'write:parties': 'Create, change and delete parties and contacts.',
  'read:properties': 'See properties.',
  'write:properties': 'Create, change and delete properties.',
  'read:buildings': 'See buildings, floors and spaces.',
  'write:buildings': 'Create, change and delete buildings, floors and spaces.',
  'read:leases': 'See leases.',
  'write:leases': 'Create, change and delete leases.',
  'read:documents': 'See documents and download their content.',
  'write:documents': 'Upload, change and delete documents.',
  'read:work_orders': 'See work orders.',
  'write:work_orders': 'Create, change and delete work orders.',
  'read:facts': 'See the facts behind values, their sources and history, and the schema.',
  'write:queries': 'Save, change and delete queries.',
  'console:sql': 'Run SQL that reads every object and fact of the organization.',
  'write:schema': 'Propose and preview fields of your own.',
  'deploy:schema': 'Approve, deploy and roll back fields of your own.',
  'write:facts':
    'Assert, end and retract facts, pin values, change sources and the rules between them, merge objects.',
  'erase:facts': 'Erase what is known of objects for good, for legal reasons.',
  'read:changes': 'Follow the ordered feed of creates, updates and deletes.',
  'read:events': 'Read the feed of events, with the objects they tell of.',
  'read:jobs': 'See data-integration jobs, their errors and facts.',
  'write:jobs': 'Start and cancel data-integration jobs.',
  'promote:adapters': 'Make a version of an adapter live, and roll back.',
  'read:intelligence': 'Benchmarks and health metrics (enterprise plan only).',
  'run:assistant': 'Ask the assistant.',
  'run:agents': 'Run agents.',
  'read:webhooks': 'See webhooks and deliveries.',
  'write:webhooks': 'Create, change, test and replay webhooks.',
  'read:logs': 'Read the request log.',
  'read:audit': 'Read the audit log.',
  'read:usage': 'Read usage.',
  'read:apps': 'See apps of the organization and what is installed in it.',
  'write:apps': 'Register and change apps of the organization.',
  'write:sandbox':
    'Create, empty, fill and delete sandboxes, move their clocks, take settings live.',
  'run:exports': 'Have lists written to files, and download them.',
  'admin:keys': 'Create, change and revoke API keys; install and uninstall apps.',
} as const

export type Scope = keyof typeof SCOPES

export const ALL_SCOPES = Object.keys(SCOPES) as Scope[]

/** Scopes that a plan must include before a key may use them. */
export const PLAN_SCOPES: Partial<Record<Scope, string>> = { 'read:intelligence': 'enterprise' }

/**
 * Scopes that mean something for a part of the properties. Endpoints of the others concern the organization as a whole,
 * and a key of some properties cannot use them.
 */
export const PROPERTY_SCOPES: ReadonlySet<Scope> = new Set<Scope>([
  'read:organizations',
  'read:parties',
  'read:properties',
  'write:properties',
  'read:buildings',
  'write:buildings',
  'read:leases',
  'write:leases',
  'read:documents',
  'write:documents',
  'read:work_orders',
  'write:work_orders',
  'read:facts',
  'read:changes',
  'read:events',
])

export function isScope(text: string): text is Scope {
  return Object.hasOwn(SCOPES, text)
}
