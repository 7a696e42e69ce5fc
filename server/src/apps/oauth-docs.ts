/** Documentation of the OAuth endpoints. */
import type { JsonSchema } from '../kit/field.ts'
import type { Parameter } from '../kit/parameters.ts'
import type { RouteDocs } from '../kit/schemas.ts'
import { GRANT_TYPES } from './apps.ts'

/** Routes whose form the handler reads itself. */
type FormDocs = RouteDocs & { schema: { requestBody?: JsonSchema } }

const text = (description: string, example: string): JsonSchema => ({
  type: 'string',
  description,
  examples: [example],
})

const CLIENT_ID = text('Id of the app.', 'app_1042')

const REDIRECT_URI = text(
  'Where the answer goes; one of the addresses the app registered, compared as text.',
  'https://app.example.com/oauth/done',
)

const SCOPE = text(
  'Scopes, separated by spaces; all that are allowed when left out.',
  'read:leases read:parties',
)

const CHALLENGE = text(
  'base64url of the SHA-256 of the code_verifier (RFC 7636).',
  'E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM',
)

/** The authorization request, as query parameters and as fields of the consent page. */
const AUTHORIZATION: Record<string, JsonSchema> = {
  response_type: { type: 'string', enum: ['code'], description: 'Always code.' },
  client_id: CLIENT_ID,
  redirect_uri: REDIRECT_URI,
  scope: SCOPE,
  state: text('Given back unchanged.', 'af0ifjsldkj'),
  code_challenge: CHALLENGE,
  code_challenge_method: { type: 'string', enum: ['S256'], description: 'Always S256.' },
}

const OPTIONAL = new Set(['scope', 'state'])

const authorizationParameters: Parameter[] = Object.entries(AUTHORIZATION).map(
  ([name, { description, ...schema }]) => ({
    name,
    in: 'query',
    description: String(description),
    schema,
    ...(OPTIONAL.has(name) ? {} : { required: true }),
  }),
)

const form = (
  title: string,
  description: string,
  properties: Record<string, JsonSchema>,
  required: readonly string[],
): JsonSchema => ({
  content: {
    'application/x-www-form-urlencoded': {
      schema: { title, type: 'object', description, properties, required },
    },
  },
})

const PAGE: JsonSchema = {
  type: 'string',
  description: 'The page on which a person consents.',
  'x-content-type': 'text/html',
}

const FAULT_PAGE: JsonSchema = { ...PAGE, description: 'The page, saying what is wrong.' }

const REDIRECT: JsonSchema = {
  type: 'null',
  description: 'Location is redirect_uri with code or error, with state and iss (RFC 9207).',
}

/** RFC 6749 5.2: what clients of OAuth expect in place of a problem. */
const REFUSAL: JsonSchema = {
  title: 'OAuthError',
  type: 'object',
  description: 'Why there is no token.',
  properties: {
    error: {
      type: 'string',
      enum: [
        'invalid_request',
        'invalid_client',
        'invalid_grant',
        'invalid_scope',
        'unauthorized_client',
        'unsupported_grant_type',
      ],
      description: 'Code of RFC 6749 5.2.',
    },
    error_description: text('In words.', 'The code is not known, has ended or was used before.'),
  },
  required: ['error', 'error_description'],
}

const CLIENT: Record<string, JsonSchema> = {
  client_id: { ...CLIENT_ID, description: 'Id of the app, unless Authorization names it.' },
  client_secret: text('Secret of an app that registered client_secret_post.', 'grid_app_...'),
}

function clientDocs(
  operationId: string,
  summary: string,
  description: string,
  body: JsonSchema,
  answer: JsonSchema,
): FormDocs {
  return {
    config: { scope: 'public' },
    schema: {
      operationId,
      summary,
      description: `${description} The app proves itself with HTTP Basic or with client_secret in the form, as it registered.`,
      tags: ['oauth'],
      requestBody: body,
      response: { 200: answer, 400: REFUSAL, 401: REFUSAL },
      parameters: [],
      problems: [413, 415],
    },
  }
}

export const authorize: RouteDocs = {
  config: { scope: 'public' },
  schema: {
    operationId: 'authorizeApp',
    summary: 'Ask for consent',
    description:
      'Send the browser of a person here. The page shows who asks for what; the answer goes to redirect_uri. PKCE with S256 is required. What is wrong with app or redirect_uri is shown and never redirected.',
    tags: ['oauth'],
    response: { 200: PAGE, 303: REDIRECT, 400: FAULT_PAGE },
    parameters: authorizationParameters,
    problems: [],
  },
}

export const consent: FormDocs = {
  config: { scope: 'public' },
  schema: {
    operationId: 'consentToApp',
    summary: 'Answer the consent page',
    description:
      'What the page sends: the request again, the decision, and a key of the organization that holds admin:keys and all that is asked for. Installs the app.',
    tags: ['oauth'],
    requestBody: form(
      'OAuthConsent',
      'The authorization request and the decision.',
      {
        ...AUTHORIZATION,
        api_key: text('Key of the organization; not needed to deny.', 'grid_live_...'),
        decision: { type: 'string', enum: ['allow', 'deny'], description: 'What was decided.' },
      },
      ['client_id', 'redirect_uri', 'decision'],
    ),
    response: {
      303: REDIRECT,
      400: FAULT_PAGE,
      401: FAULT_PAGE,
      403: FAULT_PAGE,
      429: FAULT_PAGE,
    },
    parameters: [],
    problems: [413, 415],
  },
}

export const token = clientDocs(
  'issueToken',
  'Get a token',
  'Exchanges a code or a refresh token, or gives an installed app a token of its own (client_credentials). A token is a key: send it as Authorization: Bearer or X-API-Key for an hour. Each code and refresh token is good once; one that comes twice ends all tokens of its consent.',
  form(
    'OAuthTokenRequest',
    'A grant and the client.',
    {
      grant_type: { type: 'string', enum: [...GRANT_TYPES], description: 'What is exchanged.' },
      code: text('The code.', 'grid_code_...'),
      redirect_uri: REDIRECT_URI,
      code_verifier: text(
        'The text whose hash was the code_challenge.',
        'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      ),
      refresh_token: text('The refresh token.', 'grid_ref_...'),
      scope: SCOPE,
      installation_id: text('For client_credentials: where the app is installed.', 'inst_1043'),
      organization_id: text('For client_credentials: the same by organization.', 'org_1'),
      ...CLIENT,
    },
    ['grant_type'],
  ),
  {
    title: 'OAuthToken',
    type: 'object',
    description: 'A token, and the next refresh token.',
    properties: {
      access_token: text('The token.', 'grid_live_...'),
      token_type: { type: 'string', const: 'Bearer', description: 'Always Bearer.' },
      expires_in: { type: 'integer', description: 'Seconds it is good for.', examples: [3600] },
      refresh_token: text('For the next token; replaces the one sent.', 'grid_ref_...'),
      scope: text('What the token holds: app, consent and plan together.', 'read:leases'),
      webhook: {
        type: 'object',
        description:
          'With a code and with client_credentials, where the app gets events: the webhook of the installation.',
        properties: {
          id: text('Its id, as in the header of deliveries.', 'wh_1045'),
          secret: text('What its deliveries are signed with.', 'whsec_...'),
        },
        required: ['id', 'secret'],
      },
    },
    required: ['access_token', 'token_type', 'expires_in', 'scope'],
  },
)

const TOKEN: Record<string, JsonSchema> = {
  token: text('An access or refresh token.', 'grid_live_...'),
  token_type_hint: text('Not needed; accepted as RFC 7009 has it.', 'access_token'),
}

export const revoke = clientDocs(
  'revokeToken',
  'End a token',
  'Ends an access token, or a refresh token with all that came of its consent (RFC 7009). 200 also for what is not known or belongs to another app.',
  form('OAuthRevocation', 'The token and the client.', { ...TOKEN, ...CLIENT }, ['token']),
  { type: 'null', description: 'It is not good any more.' },
)

export const introspect = clientDocs(
  'introspectToken',
  'Look into a token',
  'What a token of the app is good for (RFC 7662). Tokens of others are not active.',
  form('OAuthIntrospection', 'The token and the client.', { ...TOKEN, ...CLIENT }, ['token']),
  {
    title: 'OAuthTokenInfo',
    type: 'object',
    description: 'What a token is good for.',
    properties: {
      active: { type: 'boolean', description: 'Whether it can be used.', examples: [true] },
      scope: text('What it holds.', 'read:leases'),
      client_id: CLIENT_ID,
      token_type: text('Bearer for access tokens.', 'Bearer'),
      sub: text('Organization it acts in.', 'org_1'),
      installation_id: text('Installation it belongs to.', 'inst_1043'),
      iss: text('Who made it.', 'https://grid.example.com'),
      iat: {
        type: 'integer',
        description: 'When it was made, in seconds.',
        examples: [1795232892],
      },
      exp: { type: 'integer', description: 'When it ends, in seconds.', examples: [1795236492] },
      jti: text('Its id as a key.', 'key_1044'),
    },
    required: ['active'],
  },
)

export const metadata: RouteDocs = {
  config: { scope: 'public' },
  schema: {
    operationId: 'getOauthMetadata',
    summary: 'Find the OAuth endpoints',
    description: 'Metadata of the authorization server (RFC 8414).',
    tags: ['oauth'],
    response: { 200: { type: 'object', description: 'The metadata.' } },
    parameters: [],
    problems: [],
  },
}
