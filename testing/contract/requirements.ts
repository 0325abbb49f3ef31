// The contract as data: every sentence of its sections 1 to 7, word for word, in its order. Tests cite the ids in their
// titles, as in `test('[4.1-3] a failed turn answers 400', ...)`; coverage.test.ts fails on a rule that none cites.
// This file decides what the ids are, no more: an id is the section and the place in it, so a sentence is never moved
// or taken out, and a new one goes to the end of its section.
//
// A table row is one requirement, its cells joined by ' | '. If its last cell has several sentences, those after
// the first are separate requirements and follow it.

/** One sentence of the contract. */
export interface Requirement {
  /** The section and the number of the sentence in it, such as `4.1-3`. */
  readonly id: string
  /** The section of the contract, such as `4.1`. */
  readonly section: string
  /** The sentence, word for word. */
  readonly text: string
  /** `rule`: some test must cite it. `note`: it states nothing that a test could show. */
  readonly kind: 'rule' | 'note'
}

interface Note {
  readonly note: string
}

const note = (text: string): Note => ({ note: text })

const sections: Readonly<Record<string, readonly (string | Note)[]>> = {
  // What the service does
  '1': [
    'The service runs registered conversational flows.',
    'A flow is identified by a flow name.',
    'A caller sends one user turn at a time and receives the reply text for that turn.',
    'A conversation is stored as one session document.',
    'The first turn creates it and binds it permanently to one flow.',
    'Later turns continue it, identified by a session ID.',
    'The HTTP adapter has three routes: run a turn, list registered flow names, and permanently delete a session.',
    'The engine is the single runtime object an application holds.',
    'It owns the flow registry, the model registry and the session facade.',
    'It does not depend on any web framework.',
    'Base address of the HTTP adapter: {base_url}.',
  ],
  // Session ID
  '2.1': [
    'A string identifying one session document.',
    'It is returned in the `session` field of a run response and in the `CHAT_SESSION_ID` response header.',
    'It is a cursor for exactly one flow.',
    'Reusing it with another flow name fails (see Errors).',
    'An absent or empty session ID on a run means a new session is created with a new random ID.',
  ],
  // Run request (HTTP body and header)
  '2.2': [
    'Body | `flowName` | string | yes | Registered flow name',
    'Body | `message` | string | no | The user turn',
    'Body | `config` | object | no | Session-wide configuration; stored as flow context on the first turn',
    'Header | `CHAT_SESSION_ID` | string | no | Omit to start a new session; send the previously returned value to continue',
    'The body field carrying the user turn is named `message`.',
    'A generated API description may name it `userMessage`; that is wrong for the HTTP body and `message` must be used.',
    '(The engine-level input does use `userMessage`, see 2.5.)',
  ],
  // Run response (JSON envelope)
  '2.3': [
    '`success` | boolean | True when the turn ran without an unhandled error',
    '`completed` | boolean | True when the current step is an end step.',
    'Clients stop sending the session ID once it is true',
    '`message` | string | Text to show the user',
    '`session` | string | Session ID; same value as the `CHAT_SESSION_ID` response header',
    '`contentType` | string | Content type of the current step (an HTTP content type enumeration value)',
  ],
  // Content type enumeration
  '2.4': [
    'The content type enumeration holds standard MIME strings in these groups: data formats (Json, Xml, Yaml, JsonLd, JsonApi and others), documents (Plain, Html, Markdown, Pdf, Docx and others), spreadsheets (Csv, Xlsx and others), images (Png, Jpeg, Svg and others), audio and video, and binary types (OctetStream, Zip, Gzip, Tar).',
    '`Plain` is the default meaning of a text reply with the JSON envelope.',
    'A step sets its content type at transition time through a `withContentType(...)` modifier on the transition.',
  ],
  // Engine types
  '2.5': [
    'FlowEngineOptions (all optional, read-only) | `configManager`: ConfigManager; `flows`: FlowRegistration; `models`: array of Model; `providers`: array of ModelProviderAdapter; `sessionStore`: SessionStore (overrides the configured backend, meant for tests and dependency injection)',
    'FlowConstructor | constructible with no arguments and yielding a Flow; has read-only string `id` (defaults to the class name)',
    'FlowConstructorMap | read-only record: string key to FlowConstructor',
    'FlowRegistration | either a read-only array of FlowConstructor or a FlowConstructorMap',
    'FlowRunInput (read-only) | `flowName`: string (required); `userMessage`: string (required); `sessionId`: string (optional); `config`: object (optional)',
    'RunResponseType / failure envelope | `success`, `message`, `completed`, `session`, `contentType` as in 2.3',
    'Delete result | `success`: boolean; `session`: string; `message`: string (optional, present on failure)',
  ],
  // Session document (fields that are referenced)
  '2.6': [
    '`flow.name`: the registered flow name the session is bound to.',
    'It is compared with the registered name on restore; a mismatch fails before any restore hook runs.',
    '`runStatus`: run status of the session; the value `aborted` is set on certain failures (see 3).',
    '`error`: array of error messages; a message is appended on abort.',
    'Flow context: holds `{ config }` when a config was supplied on the first turn.',
    'The session store backend is selected by the environment setting `SESSION_STORE`; the set of allowed values and the full field list of the session document: not shown.',
  ],
  // States and transitions
  '3': [
    'no session | run without session ID | flow registered | session exists, bound to the flow | new ID returned in header and `session`; config (if given) stored as context',
    'session exists | run turn | turn ends without error | session saved | `completed` reflects whether the current step is an end step',
    'session exists | run turn | error other than the three conflict classes | `runStatus` = `aborted` | message appended to `error`; document saved',
    'session exists | run turn | error is a session conflict, flow mismatch or flow invariant error | unchanged | document left untouched so the winning document is intact',
    'session exists | end step reached (terminate step) | workflow finishes | finished | document is kept for diagnostics',
    'session exists | POST /ai/end or deleteSession | any | deleted | record permanently removed',
    'no session | delete | document missing | no change | success reported (no-op)',
    'Deletion is not completion: finishing a workflow keeps the document; deleting destroys it.',
    note('The complete list of `runStatus` values and any other transitions: not shown.'),
  ],
  // POST {base_url}/ai/run
  '4.1': [
    'Request: JSON body per 2.2 (`flowName` required; `message`, `config` optional); optional header `CHAT_SESSION_ID`.',
    'Success: HTTP 200.',
    'Failure: HTTP 400.',
    'Default response: the JSON envelope of 2.3, also with the response header `CHAT_SESSION_ID` set to the session ID.',
    "The header is set whenever the result's session is non-empty, including on failures that already have a session.",
    "Raw response rule: when the result's `contentType` is present and is not `Plain`, the response body is only the raw `message` text, sent with that content type as the HTTP `Content-Type`.",
    'No `success`, `completed`, `session` or `contentType` fields are in the body then; the session ID is still in the response header.',
    'Clients must branch on the response `Content-Type`.',
    'Failures always use the JSON envelope with `contentType` Plain, never the raw path, even for flows whose steps normally return non-plain content.',
    'Session round trip: first call omits the header; the reply carries the new ID in header and `session`; every later turn of the same conversation sends it back in the `CHAT_SESSION_ID` request header.',
    'Using a session ID with a different `flowName` than the one it is bound to fails.',
  ],
  // GET {base_url}/ai/flows
  '4.2': [
    'No body, no parameters.',
    "Returns a JSON array of strings: every registered flow name (result of the engine's getFlowNames).",
  ],
  // POST {base_url}/ai/end
  '4.3': [
    'No body.',
    'The session travels in the `CHAT_SESSION_ID` request header.',
    "Permanently deletes the session document via the engine's deleteSession.",
    'Success response: `{ success: true, session: <session_id> }`.',
    'Failure: HTTP 400 with `{ success: false, message: <text>, session: <session_id> }`.',
    'A missing session is a successful no-op.',
    'A request without the header also reports success, because an empty ID is skipped.',
  ],
  // Engine operations
  '4.4': [
    '`FlowEngine.create(options?)` | FlowEngineOptions (default empty) | Promise of engine | Asynchronous but currently returns a new engine at once.',
    'Construction reads environment configuration through the config manager and builds the session store chosen by `SESSION_STORE`, unless `sessionStore` was supplied.',
    'Models and providers passed here are registered with replace = true, so a later `registerProvider` without replace does not override them',
    '`registerFlows(flowSpecs)` | FlowRegistration | engine (chainable) | Validates the whole batch before writing any; a bad batch leaves the registry unchanged.',
    "Array form takes each name from the flow's static `id`; map form takes the key as the name",
    '`registerFlow(the service)` | FlowConstructor | engine | Single-entry wrapper with the same validation',
    '`getFlow(flowName)` | string | FlowConstructor or undefined | Lookup',
    '`getFlowNames()` | none | array of string | Backs GET /ai/flows',
    '`run(input)` | FlowRunInput | Promise of response envelope | See 4.5',
    '`runFlow(flowName, userMessage, sessionId?, context?)` | as named | Promise of response envelope | Run under the session lock',
    '`getFlowSession()` | none | FlowSession | Exposes `withSessionLock(sessionId, work)`',
    '`deleteSession(sessionId)` | string | Promise of delete result | See 4.6',
    '`endChat(sessionId)` | string | as deleteSession | Deprecated; plain delegate to deleteSession',
    '`registerProviders(providers, replace?)`, `registerProvider(provider, replace?)` | ModelProviderAdapter(s), boolean | engine | Register model providers',
    '`registerModels(models, replace?)`, `registerModel(model, replace?)` | Model(s), boolean | engine | Register models',
    '`resolveModel(selection)` | ResolvedModelSelection | RuntimeModel | Resolve a selection',
    '`validateModel(selection)` | ResolvedModelSelection | void | Checks the selection against the model catalog and the registry.',
    "Flow bootstrap calls it for the flow's model and for every non-logic step, so an unregistered provider or unsupported parameter fails at session start, not mid-turn",
    '`close()` | none | Promise of void | Closes the session store; to be called on shutdown and in tests that open a persistent store',
  ],
  // Run behaviour
  '4.5': [
    "A supplied `config` is wrapped as `{ config }` and added to the flow context before the flow's init.",
    "When `config` is undefined, no context is added, so a restored session's stored context is not disturbed.",
    '`run` delegates to `runFlow`, which takes the per-session lock and, inside it: creates the flow instance (context, init, step collection, bootstrap); when the flow is a batch flow, saves the session once as an extra checkpoint; runs the flow with the user message; saves the session.',
    'Neither method rejects.',
    'Every error becomes a failure envelope: `success` false, `message` the error text, `completed` true, `session` the session ID (empty string when none), `contentType` Plain.',
    'If saving the aborted document also fails, that second failure text is appended to the returned `message`.',
  ],
  // Delete behaviour
  '4.6': [
    "Removes one persisted session document under the same session lock, using the document's current revision as the compare-and-swap token.",
    'A missing document: success, no-op.',
    'An empty `sessionId`: nothing happens, success reported.',
    'Failures resolve as `{ success: false, message, session }` and are not thrown.',
  ],
  // Registration validation
  '4.7': [
    'Missing name, non-function, or blank `id` on the constructor | A registered flow must have a name and constructor.',
    "Map key differs from the constructor's `id` | Flow registration '<name>' must match Flow ID '<id>'.",
    "Name already registered, or repeated within the batch | Flow '<name>' is already registered.",
    "A map key must equal the constructor's `id`; a map does not decouple the public name from the class name.",
    'To keep a stable public name, the flow class overrides its static `id` accessor to return the desired name.',
    'The registered name is part of the persisted schema (see 2.6).',
  ],
  // Session locking
  '4.8': [
    'Requests for the same session ID within one engine instance run one after another in first-in-first-out order; different IDs run concurrently.',
    'A call with an undefined session ID skips the lock, since it creates a new random ID.',
    '`runFlow` and `deleteSession` each run their whole body inside the lock, so a local delete cannot race a local run.',
    'The lock is process-local.',
    'Across processes, correctness relies on revision-based compare-and-swap in the session store.',
  ],
  // Authentication
  '5': [
    note('Authentication of the HTTP routes: not shown.'),
    'The only header shown is `CHAT_SESSION_ID`, which identifies a session and is not a credential.',
    'Provider credentials (an API key per model provider) are passed to provider adapters at engine creation as `<API_KEY>` values.',
  ],
  // Events
  '6': [note('Events, webhooks or notifications emitted by the service: not shown.')],
  // Envelope
  '7.1': [
    'Every engine error is resolved into the failure envelope of 4.5 item 3.',
    'Only the error message text survives in the response body; internal error codes and intended status codes are not in the body.',
    "Example message shape: Flow class '<name>' not registered.",
  ],
  // Mapping
  '7.2': [
    'Stale compare-and-swap on save or delete | SESSION_CONFLICT | 409 | 400',
    'Session ID reused with a different flow | SESSION_FLOW_MISMATCH | 409 | 400',
    'Malformed one-flow envelope | SESSION_FLOW_INVARIANT | 409 | 400',
    'Session backend failure | SESSION_STORE_ERROR | 500 | 400',
    'Unregistered flow name, model error, tool error, handler exception | none | 400 | 400',
  ],
  // Rules
  '7.3': [
    'Every unsuccessful result of run or end is HTTP 400 in the adapter.',
    'For the three 409-class codes the session document is left untouched (not marked aborted).',
    'For every other error the session is marked `aborted` (see 3).',
    "An application needing precise conflict semantics catches the engine's error classes and maps the three 409-class codes to HTTP 409; the adapter itself does not.",
  ],
}

/** Every sentence of sections 1 to 7, in the order of the contract. */
export const requirements: readonly Requirement[] = Object.keys(sections)
  .sort((left, right) => Number(left) - Number(right))
  .flatMap((section) =>
    (sections[section] ?? []).map((sentence, index) => {
      const id = `${section}-${index + 1}`
      return typeof sentence === 'string'
        ? { id, section, text: sentence, kind: 'rule' as const }
        : { id, section, text: sentence.note, kind: 'note' as const }
    }),
  )

/** The rules that no id in `cited` names, one readable line each. Empty when all are cited. */
export function listUncited(cited: Iterable<string>): string[] {
  const ids = new Set(cited)
  return requirements.filter(({ id, kind }) => kind === 'rule' && !ids.has(id)).map(({ id, text }) => `${id}  ${text}`)
}
