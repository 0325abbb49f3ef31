/**
 * Which part of the source tree may import which: the one list. `testing/contract/architecture.test.ts` checks every
 * import against it, and the table of docs/architecture.md against {@link layersTable}.
 */

/** What one area decides, and what it may import. */
export interface ImportRule {
  /** What is decided there, as the table of the layers says it. */
  readonly decides: string
  /** Areas that may be imported, in any way. The own area always may. */
  readonly areas: readonly string[]
  /** Single files of other areas that may be imported. */
  readonly files?: readonly string[]
  /** Areas of which only types may be imported. */
  readonly typesOnly?: readonly string[]
  /** Packages that may be imported; `*` is any, Node's own modules included. */
  readonly packages: readonly string[]
}

/** What a text must look like, and how options are checked: for everything that checks them. */
const checks = ['src/util/options.ts', 'src/util/patterns.ts']
const leaf = ['src/util', 'src/errors', 'src/config']

/**
 * The rules by area. `src/(root)` is `src/index.ts` and `src/index.node.ts`.
 */
export const importRules: Readonly<Record<string, ImportRule>> = {
  'src/util': { decides: 'what JSON may be stored, how options are checked, digests', areas: leaf, packages: [] },
  'src/errors': { decides: 'error classes, codes, what follows from them, and sentences', areas: [], packages: [] },
  'src/config': { decides: 'settings, the clock, deadlines', areas: leaf, packages: [] },
  'src/model': {
    decides: 'messages, selections, which models there are',
    areas: ['src/util', 'src/errors'],
    packages: ['@standard-schema/spec'],
  },
  'src/session': {
    decides: 'the document, its codec, the lock, the access to the store',
    areas: ['src/util', 'src/errors', 'src/config'],
    typesOnly: ['src/model'],
    packages: [],
  },
  'src/flow': {
    decides: 'what flow authors write: flows, steps, tools, transitions, memory',
    areas: ['src/util', 'src/errors', 'src/model', 'src/session'],
    packages: ['@standard-schema/spec'],
  },
  'src/stores': {
    decides: 'the memory store, and which store `SESSION_STORE` means',
    areas: ['src/util', 'src/errors', 'src/config', 'src/session'],
    packages: [],
  },
  'src/stores/keyv': {
    decides: 'sessions in Redis, SQLite, Postgres and other Keyvs: `turnkeeper/keyv`',
    areas: ['src/util', 'src/errors', 'src/config', 'src/session', 'src/stores'],
    packages: ['keyv', '@keyv/redis', '@keyv/sqlite', '@keyv/postgres', 'pg'],
  },
  'src/engine': {
    decides: 'the turn: order, limits, commit, failure',
    areas: ['src/util', 'src/errors', 'src/config', 'src/model', 'src/session', 'src/flow', 'src/stores'],
    packages: ['@standard-schema/spec'],
  },
  'src/compaction': {
    decides: 'how memories are kept short: `turnkeeper/compaction`',
    areas: ['src/util', 'src/errors', 'src/config', 'src/model', 'src/session', 'src/flow', 'src/engine'],
    packages: [],
  },
  'src/prompt': {
    decides: 'prompt templates: `turnkeeper/prompt`',
    areas: ['src/errors'],
    packages: [],
  },
  'src/forms': {
    decides: 'forms in a conversation: `turnkeeper/forms`',
    areas: ['src/util', 'src/errors', 'src/model', 'src/flow'],
    packages: ['@standard-schema/spec'],
  },
  'src/parts': {
    decides: 'parts of replies: `turnkeeper/parts`',
    areas: ['src/util', 'src/errors', 'src/model'],
    packages: [],
  },
  'src/(root)': {
    decides: 'the public names',
    areas: [...leaf, 'src/model', 'src/session', 'src/flow', 'src/stores', 'src/engine'],
    // Computed: the late import of the Keyv store, which bundlers must not follow.
    packages: ['(computed)'],
  },
  'adapters/fetch': {
    decides: 'HTTP to engine calls and back',
    areas: ['src/(root)'],
    files: [...checks, 'src/errors/error-facts.ts', 'src/util/random-id.ts'],
    packages: [],
  },
  'adapters/openapi': {
    decides: 'the description of the HTTP routes: `turnkeeper/openapi`',
    areas: ['src/(root)', 'adapters/fetch'],
    files: ['src/util/options.ts', 'src/errors/error-facts.ts'],
    packages: [],
  },
  'adapters/hono': {
    decides: 'the same as a Hono app',
    areas: ['src/(root)', 'adapters/fetch'],
    files: ['src/util/options.ts'],
    packages: ['hono'],
  },
  'adapters/chat': {
    decides: 'chats that a client names: whose they are, which turn answers a message, who reads it',
    // The body, CORS and `authorize` of a chat are those of the other routes:
    // docs/decisions/chats.md.
    areas: ['src/(root)', 'adapters/fetch'],
    files: [...checks, 'src/util/digest.ts'],
    packages: [],
  },
  'adapters/ui-message': {
    decides: 'a chat as a stream of messages of the AI SDK: `turnkeeper/ui-message`',
    areas: ['src/(root)', 'adapters/chat', 'adapters/fetch'],
    files: checks,
    // No package of the AI SDK, not even for types.
    packages: [],
  },
  'adapters/ag-ui': {
    decides: 'a chat as the events of an AG-UI run: `turnkeeper/ag-ui`',
    areas: ['src/(root)', 'adapters/chat', 'adapters/fetch'],
    files: checks,
    packages: [],
  },
  'adapters/tickets': {
    decides: 'links and buttons that send one event: `turnkeeper/tickets`',
    areas: ['src/(root)'],
    files: ['src/util/options.ts', 'src/util/digest.ts', 'src/util/json.ts'],
    packages: [],
  },
  'adapters/node': {
    decides: "a Fetch handler as a listener of Node's `http`",
    areas: [],
    files: ['src/util/options.ts'],
    packages: ['@hono/node-server', 'node:http'],
  },
  'adapters/d1': {
    decides: 'sessions in a D1 database',
    // What stores over a backend share: docs/decisions/serverless-stores.md.
    areas: ['src/(root)', 'src/stores/keyv'],
    files: checks,
    packages: [],
  },
  'adapters/durable-object': {
    decides: 'a Durable Object for each session, and the store that calls it',
    areas: ['src/(root)', 'src/stores/keyv'],
    files: checks,
    packages: [],
  },
  'adapters/client': {
    decides: 'a conversation from a page',
    areas: [],
    typesOnly: ['src/(root)'],
    packages: [],
  },
  'adapters/ai-sdk': {
    decides: "models of the AI SDK's provider packages",
    areas: ['src/(root)'],
    files: checks,
    // No package of the AI SDK, not even for types: what is needed of its specification is written down there.
    packages: [],
  },
  'adapters/upstash': {
    decides: 'sessions in Upstash Redis over HTTP',
    // The layout and the scripts are those of Redis: docs/decisions/serverless-stores.md.
    areas: ['src/(root)', 'src/stores/keyv'],
    files: checks,
    // Not even for types: what is used of a client is declared there.
    packages: [],
  },
  'adapters/otel': {
    decides: 'spans and metrics through OpenTelemetry: `turnkeeper/otel`',
    areas: ['src/(root)'],
    files: checks,
    packages: ['@opentelemetry/api'],
  },
  testing: {
    decides: 'helpers for tests of flows and stores',
    areas: ['src/(root)', 'src/errors'],
    // What a harness stores, and what it finds stored, is JSON by the engine's own rule.
    files: [
      ...checks,
      'src/config/clock.ts',
      // What a user is asked, and how an answer is said.
      'src/forms/form-fields.ts',
      'src/forms/words.ts',
      'src/util/json.ts',
      'src/util/observed-promise.ts',
      'src/util/shown-value.ts',
    ],
    // Loaded late, where `simulate` and `replayAll` are used.
    packages: ['fast-check', '(computed)'],
  },
  'testing/diagram': {
    decides: 'flows as data and as a Mermaid flowchart: `turnkeeper/diagram`',
    areas: ['src/(root)', 'testing'],
    files: checks,
    packages: [],
  },
  'testing/studio': {
    decides: 'conversations that are watched, taken back and saved: `turnkeeper/studio`',
    areas: ['src/(root)', 'testing', 'testing/diagram', 'testing/scenarios'],
    files: [...checks, 'src/config/clock.ts', 'src/model/json-schema.ts', 'src/util/json.ts'],
    packages: [
      'node:crypto',
      'node:fs',
      'node:http',
      'node:module',
      'node:net',
      'node:path',
      'node:stream',
      'node:util',
    ],
  },
  'testing/studio/page': {
    decides: "the studio's page, which the build writes into one file",
    // It shows parts and forms as the example's page does.
    areas: ['examples'],
    files: ['adapters/client/chat-message.ts', 'testing/studio/api/duration.ts'],
    typesOnly: ['testing/studio'],
    packages: ['@dagrejs/dagre', 'preact'],
  },
  'testing/msw': {
    decides: 'a flow service as MSW handlers',
    areas: ['src/(root)', 'src/errors', 'testing', 'adapters/fetch'],
    files: [...checks, 'src/config/clock.ts'],
    packages: ['msw'],
  },
  'testing/suites': {
    decides: 'what every store and every model provider must do, as tests',
    areas: ['src/(root)', 'src/compaction'],
    files: checks,
    packages: [],
  },
  'testing/judge': {
    decides: 'what replies mean, by recordings or a model: `turnkeeper/testing/judge`',
    areas: ['src/(root)', 'testing'],
    files: checks,
    packages: ['node:fs', 'node:path', 'node:url'],
  },
  'testing/scenarios': {
    decides: 'conversations written as text: `turnkeeper/testing/scenarios`',
    areas: ['src/(root)', 'testing'],
    files: checks,
    packages: [],
  },
  'testing/vitest': {
    decides: 'matchers, the plugin that runs scenario files, and the reporter of coverage',
    areas: ['src/(root)', 'testing', 'testing/scenarios'],
    files: checks,
    packages: ['vitest', 'node:fs', 'node:path'],
  },
  examples: { decides: 'what the pages show, run as an application would', areas: [], packages: ['*'] },
}

const paths: Readonly<Record<string, string>> = {
  'src/(root)': 'src/index.ts',
  '(computed)': 'one that is named when it is needed',
  '*': 'any package, this one by its name',
}

/** The table of the layers in docs/architecture.md. */
export function layersTable(): string {
  const list = (names: readonly string[]): string[] =>
    names.map((name) => (/^[(*]/.test(name) ? (paths[name] ?? name) : `\`${paths[name] ?? name}\``))
  const rows = Object.entries(importRules).map(([area, { decides, areas, files = [], typesOnly = [], packages }]) => {
    const others = list(areas.filter((other) => other !== area))
    const may = [...others, ...list(files), ...list(typesOnly).map((name) => `types of ${name}`), ...list(packages)]
    return `| \`${paths[area] ?? `${area}/`}\` | ${decides} | ${may.join(', ') || 'nothing'} |`
  })
  return ['| folder | decides | may import |', '|---|---|---|', ...rows].join('\n')
}
