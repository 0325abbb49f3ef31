/**
 * Documents as the engine makes them: a new session after its first turn, and the same session after one more. Lists
 * are frozen, earlier entries are the same objects in the next document, and each document has a fresh revision.
 */
import type { JsonObject, Message, SessionDocument, SessionSaveHint, SessionSummary } from '../../../../src/index.js'

/** The content of a turn. */
export interface TurnTexts {
  /** Default: a text that counts the turns. */
  readonly message?: string
  /** Default: a text that counts the turns. */
  readonly reply?: string
  /** The memory namespaces that get it. Default: `Ask`. */
  readonly namespaces?: readonly string[]
}

/** A turn that is ready to be saved. */
export interface NextTurn {
  readonly document: SessionDocument
  /** The revision that it follows. */
  readonly expectedRevision: string
  readonly hint: SessionSaveHint
}

/** Random characters: `bytes` twice in hexadecimal. */
export function randomToken(bytes = 8): string {
  const values = crypto.getRandomValues(new Uint8Array(bytes))
  return Array.from(values, (value) => value.toString(16).padStart(2, '0')).join('')
}

/** The revision of the `count`-th save. */
export function newRevision(count: number): string {
  return `${count}-${randomToken()}`
}

/** A session after its first turn. */
export function newSession(id: string, texts: TurnTexts = {}): SessionDocument {
  const at = new Date().toISOString()
  const unborn: SessionDocument = {
    id,
    version: 2,
    revision: '0-',
    owner: 'user-7',
    runStatus: 'running',
    createdAt: at,
    savedAt: at,
    error: [],
    usage: { inputTokens: 0, outputTokens: 0, modelCalls: 0 },
    turns: 0,
    bytes: 0,
    flow: {
      name: 'Booking',
      version: 1,
      currentStep: 'Ask',
      context: { config: { language: 'en' } },
      steps: {},
      memory: {},
      sequence: Object.freeze([Object.freeze({ step: 'Ask', level: 0 })]),
    },
    history: Object.freeze([]),
  }
  return nextTurn(unborn, texts).document
}

/** The session after one more turn. */
export function nextTurn(base: SessionDocument, texts: TurnTexts = {}): NextTurn {
  const turn = base.turns + 1
  const at = new Date().toISOString()
  const { message = `Message ${turn}`, reply = `Reply ${turn}`, namespaces = ['Ask'] } = texts
  const entry: SessionDocument['history'][number] = {
    turn,
    id: `turn-${turn}`,
    at,
    message,
    reply,
    contentType: 'text/plain',
    step: 'Ask',
  }
  const added = [textMessage('user', message, turn), textMessage('assistant', reply, turn)]
  const appended: Record<string, number> = { history: 1 }
  const memory = new Map(Object.entries(base.flow.memory))
  for (const namespace of namespaces) {
    memory.set(namespace, { messages: Object.freeze([...(memory.get(namespace)?.messages ?? []), ...added]) })
    appended[`memory:${namespace}`] = added.length
  }
  const { usage, flow } = base
  const document: SessionDocument = {
    ...base,
    revision: newRevision(Number.parseInt(base.revision, 10) + 1),
    savedAt: at,
    turns: turn,
    usage: { inputTokens: usage.inputTokens + 7, outputTokens: usage.outputTokens + 5, modelCalls: turn },
    bytes: base.bytes + JSON.stringify([entry, ...added]).length,
    flow: { ...flow, steps: { ...flow.steps, Ask: { state: { turns: turn } } }, memory: Object.fromEntries(memory) },
    history: Object.freeze([...base.history, Object.freeze(entry)]),
  }
  return { document, expectedRevision: base.revision, hint: { appended } }
}

/** A message of one text. */
export function textMessage(role: 'user' | 'assistant', text: string, turn: number): Message {
  return freezeDeep({ role, parts: [{ type: 'text', text }], turn })
}

/** A session of that many turns, two messages each. */
export function longSession(id: string, turns: number): SessionDocument {
  const history: SessionDocument['history'][number][] = []
  const messages: Message[] = []
  const base = newSession(id)
  for (let turn = 1; turn <= turns; turn++) {
    const texts = { message: `Message ${turn}`, reply: `Reply ${turn}` }
    history.push({ turn, at: base.savedAt, ...texts, contentType: 'text/plain', step: 'Ask' })
    messages.push(textMessage('user', texts.message, turn), textMessage('assistant', texts.reply, turn))
  }
  const bytes = JSON.stringify([history, messages]).length
  return { ...withMemory(base, { Ask: { messages } }), bytes, history: freezeDeep(history) }
}

/** The same document with another memory. */
export function withMemory(document: SessionDocument, memory: SessionDocument['flow']['memory']): SessionDocument {
  const entries = Object.entries(memory).map(([name, { messages }]) => [name, { messages: freezeDeep(messages) }])
  return { ...document, flow: { ...document.flow, memory: Object.fromEntries(entries) } }
}

/** The same document with another context. */
export function withContext(document: SessionDocument, context: JsonObject): SessionDocument {
  return { ...document, flow: { ...document.flow, context } }
}

/** Freezes a tree, and returns it. */
export function freezeDeep<T>(value: T): T {
  if (typeof value === 'object' && value !== null && !Object.isFrozen(value)) {
    for (const part of Object.values(value)) freezeDeep(part)
    Object.freeze(value)
  }
  return value
}

/** A session as a listing shows it. */
export function rowOf({ id, flow, runStatus, owner, createdAt, savedAt, turns }: SessionDocument): SessionSummary {
  const { name: flowName, currentStep: step, wakeAt } = flow
  const optional = { ...(owner === undefined ? {} : { owner }), ...(wakeAt === undefined ? {} : { wakeAt }) }
  return { id, flowName, step, runStatus, createdAt, savedAt, turns, ...optional }
}
