/**
 * The baseline: what a careful developer writes without a library. Both copy a document on its way in and out, and save
 * it only over the loaded revision.
 *
 * F1  a Map of documents, copied with structuredClone
 * F2  a Map of JSON texts
 */
import { answer, order, respond, stepCount, toolArguments, toolName } from './work.mjs'

/** Sessions that a floor keeps: the oldest goes. */
const maxSessions = 10_000

/** Map and structuredClone. */
export function createF1(withTool) {
  return createFloor({ withTool, keep: (document) => structuredClone(document), read: (kept) => structuredClone(kept) })
}

/** Map and JSON. */
export function createF2(withTool) {
  return createFloor({ withTool, keep: (document) => JSON.stringify(document), read: (kept) => JSON.parse(kept) })
}

function createFloor({ withTool, keep, read }) {
  const sessions = new Map()
  let started = 0

  async function load(id) {
    const stored = sessions.get(id)
    return stored === undefined ? newDocument(id) : read(stored.kept)
  }

  async function save(document, expectedRevision) {
    const stored = sessions.get(document.id)
    if ((stored?.revision ?? 0) !== expectedRevision) throw new Error('Another request changed the session.')
    sessions.set(document.id, { revision: document.revision, kept: keep(document) })
    if (sessions.size > maxSessions) sessions.delete(sessions.keys().next().value)
  }

  async function runTurn(id, text) {
    const document = await load(id)
    const { messages } = document
    messages.push({ role: 'user', content: text })
    let response = await callModel(messages, withTool)
    if (response.callId !== undefined) {
      messages.push({
        role: 'assistant',
        content: '',
        toolCalls: [{ id: response.callId, name: toolName, arguments: toolArguments }],
      })
      messages.push({ role: 'tool', callId: response.callId, content: JSON.stringify(await callTool()) })
      response = await callModel(messages, withTool)
    }
    messages.push({ role: 'assistant', content: response.text })
    document.step = (document.step + 1) % stepCount
    const loaded = document.revision++
    await save(document, loaded)
    return response.text
  }

  return {
    start() {
      const id = `session-${++started}`
      return async (text) => {
        if ((await runTurn(id, text)) !== answer) throw new Error('The floor gave another answer.')
      }
    },
  }
}

function newDocument(id) {
  return {
    id,
    revision: 0,
    flow: { name: 'Support' },
    step: 0,
    runStatus: 'running',
    context: {},
    error: [],
    messages: [],
  }
}

async function callModel(messages, withTool) {
  return respond(messages.at(-1).role, withTool)
}

async function callTool() {
  return order
}
