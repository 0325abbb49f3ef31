/**
 * The golden sessions: their place, how to read them, and how the ones of this release were written. An existing file
 * is never written again: it is what a release left behind.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { Keyv } from 'keyv'
import {
  FlowEngine,
  type FlowRunInput,
  type ModelProviderAdapter,
  type ModelRequest,
  type ModelResponse,
  type SessionDocument,
  type SessionStore,
} from '../../../src/index.js'
import { KeyvSessionStore } from '../../../src/stores/keyv/index.js'
import { VirtualClock } from '../../virtual-clock/virtual-clock.js'
import { countingProvider } from '../simulation/flows.js'
import { FakeDriver, type FakeRecord } from '../stores/fake-driver.js'
import { TextStore } from '../text-store.js'
import { Golden } from './golden-flow.js'

export const goldenId = 'golden-session'
/** The key that a Keyv without settings gives it. */
export const goldenKey: string = `keyv:${goldenId}`

/** A Keyv session as its file holds it: the texts are the backend's, byte for byte. */
export interface GoldenKeyvSession {
  readonly revision: string
  readonly head: string
  readonly chunks: Readonly<Record<string, string>>
}

function fileOf(name: string): URL {
  return new URL(`./${name}.json`, import.meta.url)
}

/** The document of a layout version, as text. */
export function readDocument(version: number): string {
  return readFileSync(fileOf(`document-${version}`), 'utf8').trimEnd()
}

/** The document of a layout version whose messages have every type of part, as text. */
export function readDocumentOfParts(version: number): string {
  return readFileSync(fileOf(`document-${version}-parts`), 'utf8').trimEnd()
}

/** The stored session of a version of heads and chunks. */
export function readKeyvSession(layout: number): GoldenKeyvSession {
  return JSON.parse(readFileSync(fileOf(`keyv-${layout}`), 'utf8')) as GoldenKeyvSession
}

/** A text store that holds one text. */
export function textStoreOf(text: string, revision: string): TextStore {
  return new TextStore(new Map([[goldenId, { revision, text }]]))
}

/** A backend that holds one session. */
export function backendOf({ revision, head, chunks }: GoldenKeyvSession): Map<string, FakeRecord> {
  return new Map([[goldenKey, { revision, head, chunks: new Map(Object.entries(chunks)) }]])
}

export function keyvStoreOver(records: Map<string, FakeRecord>): SessionStore {
  return new KeyvSessionStore({ keyv: new Keyv(), driver: new FakeDriver(records) })
}

/** An engine that uses nothing of the machine. */
export function goldenEngine(
  sessionStore: SessionStore,
  ids: Record<string, string> = {},
  provider: ModelProviderAdapter = countingProvider,
): FlowEngine {
  let count = 0
  return new FlowEngine({
    flows: [Golden],
    providers: [provider],
    sessionStore,
    clock: new VirtualClock(),
    generateId: (kind) => ids[kind] ?? `${kind}${++count}`,
  })
}

/** What the golden sessions talked about. */
export const goldenTalk: readonly string[] = [
  'hello',
  'Größe: 5 €, "quoted", \\ and 👋\n',
  'move on to the model',
  'and more',
]

/** What the golden session of parts talked about. */
export const talkOfParts: readonly Pick<FlowRunInput, 'userMessage' | 'attachments'>[] = [
  {
    userMessage: 'move on: which of the two is it?',
    attachments: [
      { type: 'image', mediaType: 'image/png', data: 'iVBORw0KGgo=' },
      {
        type: 'file',
        mediaType: 'application/pdf',
        url: 'https://files.example/manual.pdf',
        name: 'Bedienung für Töpfe.pdf',
      },
    ],
  },
  {
    userMessage: '',
    attachments: [
      { type: 'image', mediaType: 'image/jpeg', url: 'https://files.example/photo.jpg?size=2' },
      { type: 'file', mediaType: 'audio/wav', data: 'UklGRg==' },
    ],
  },
]

/** In place of the counting model: its answers have every part that a model may answer with. */
const thinkingProvider: ModelProviderAdapter = {
  provider: 'counting',
  resolve: () => ({ provider: 'counting', name: 'counting', generate: think }),
}

async function think({ origin }: ModelRequest): Promise<ModelResponse> {
  const usage = { inputTokens: 20, outputTokens: 8, cachedInputTokens: 4, reasoningTokens: 5 }
  const number = `${origin.turnNumber}-${origin.callNumber}`
  if (origin.callNumber > 1) return { parts: [{ type: 'text', text: 'The one with the spout.' }], usage }
  return {
    parts: [
      { type: 'reasoning', text: 'A spout, or a lid?', providerData: { counting: { signature: `signed-${number}` } } },
      { type: 'reasoning', text: '', providerData: { counting: { encrypted: 'c2VjcmV0' } } },
      { type: 'text', text: 'Let me look.', providerData: { counting: { itemId: `text-${number}` } } },
      {
        type: 'tool-call',
        toolCallId: `call-${number}`,
        toolName: 'note',
        input: {},
        providerData: { counting: { itemId: 1 } },
      },
      { type: 'tool-call', toolCallId: `lost-${number}`, toolName: 'measure', input: { unit: 'cm', of: [null, 2.5] } },
    ],
    usage,
  }
}

async function writeDocumentOfParts(): Promise<void> {
  const store = new TextStore(new Map())
  const engine = goldenEngine(store, { session: goldenId }, thinkingProvider)
  for (const [index, said] of talkOfParts.entries()) {
    const response = await engine.run({ flowName: 'Golden', ...said, ...(index === 0 ? {} : { sessionId: goldenId }) })
    if (!response.success) throw new Error(response.message)
  }
  const text = store.data.get(goldenId)?.text ?? ''
  writeOnce(`document-${(JSON.parse(text) as SessionDocument).version}-parts`, text)
}

/** Writes the files that are missing. */
export async function writeGoldenFiles(): Promise<void> {
  await writeDocumentOfParts()
  const textStore = new TextStore(new Map())
  const records = new Map<string, FakeRecord>()
  for (const store of [textStore, keyvStoreOver(records)]) {
    const engine = goldenEngine(store, { session: goldenId })
    let sessionId: string | undefined
    for (const userMessage of goldenTalk) {
      const input = { flowName: 'Golden', userMessage, config: { theme: 'dark', sizes: [1, 2.5] } }
      const response = await engine.run(sessionId === undefined ? input : { ...input, sessionId })
      if (!response.success) throw new Error(response.message)
      sessionId = response.session
    }
  }
  const record = records.get(goldenKey) as FakeRecord
  const { version } = JSON.parse(textStore.data.get(goldenId)?.text ?? '') as SessionDocument
  const { layout } = JSON.parse(record.head) as { layout: number }
  writeOnce(`document-${version}`, textStore.data.get(goldenId)?.text ?? '')
  writeOnce(`keyv-${layout}`, JSON.stringify({ ...record, chunks: Object.fromEntries(record.chunks) }, null, 2))
}

function writeOnce(name: string, text: string): void {
  if (!existsSync(fileOf(name))) writeFileSync(fileOf(name), `${text}\n`)
}
