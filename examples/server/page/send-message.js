/**
 * Sends one message until there is an outcome, whatever becomes of the network meanwhile. What to look at:
 *
 * - Every attempt has the key of the message, so that the message is answered once, however often it arrives.
 * - A stream that was cut goes on: the next attempt says which event came last.
 * - The attempts are bounded, and the pauses between them grow. Where the browser knows that it is offline, it waits.
 */
import { readEvents } from './read-events.js'

const maxAttempts = 8
const longestPauseMs = 8000

/** A connection on which nothing comes for so long is closed. A server sends something every 15 seconds (`heartbeatMs`). */
const silenceMs = 45_000

/** Failures that pass, whatever is known of the session: a first message has none yet. */
const passing = ['SESSION_CONFLICT', 'SESSION_BUSY', 'SESSION_STORE_ERROR', 'ENGINE_BUSY', 'ENGINE_CLOSED']

/** Failures that the same request meets again, also where nobody could look at the session. */
const refusals = ['INVALID_INPUT', 'LIMIT_EXCEEDED', 'IDEMPOTENCY_MISMATCH', 'TURN_ABORTED']

/**
 * @typedef {object} Message
 * @property {string} key - made once, when the user presses send, and kept with the message
 * @property {string} text
 * @property {string} [session] - the one that it is sent to, empty for a new one; absent before it is sent
 */

/**
 * The events of the message's turn. The last one is `result` or `error`, also where the reply is not a stream. `retry` says that
 * there was no outcome, and that another attempt follows.
 *
 * @param {string} flowName
 * @param {Message} message
 * @param {AbortSignal} stopped - after it nothing is repeated
 * @returns {AsyncGenerator<{ type: string, data?: any }, void, void>}
 * @throws where no outcome came
 */
export async function* sendMessage(flowName, message, stopped) {
  let lastEventId = ''
  for (let attempt = 1; ; attempt++) {
    const mayRepeat = () => attempt < maxAttempts && !stopped.aborted
    for await (const event of attemptOf(flowName, message, lastEventId)) {
      if (mayRepeat() && isToBeRepeated(event)) break
      lastEventId = event.id
      yield event
      if (isOutcome(event)) return
    }
    if (!mayRepeat()) throw new Error('No reply came.')
    yield { type: 'retry' }
    await pause(Math.min(500 * 2 ** (attempt - 1), longestPauseMs), stopped)
  }
}

/** @param {{ type: string }} event */
function isOutcome({ type }) {
  return type === 'result' || type === 'error'
}

/**
 * Whether the same request may have another outcome in a moment.
 *
 * @param {{ type: string, data: any }} event
 */
function isToBeRepeated({ type, data }) {
  if (type !== 'error') return false
  if (passing.includes(data.code)) return true
  return data.sessionState === 'unknown' && !refusals.includes(data.code)
}

/**
 * The events of one attempt. It ends without an outcome where the network was lost: whether the turn ran is unknown, and the key
 * makes the repeat safe.
 *
 * @param {string} flowName
 * @param {Message} message
 * @param {string} lastEventId - empty if there was none
 * @returns {AsyncGenerator<{ type: string, id: string, data: any }, void, void>}
 */
async function* attemptOf(flowName, { key, text, session = '' }, lastEventId) {
  const connection = new AbortController()
  let timer = setTimeout(() => connection.abort(), silenceMs)
  try {
    const response = await fetch('ai/run', {
      method: 'POST',
      signal: connection.signal,
      headers: {
        Accept: 'text/event-stream',
        'Content-Type': 'application/json',
        'Idempotency-Key': key,
        ...(session === '' ? {} : { CHAT_SESSION_ID: session }),
        ...(lastEventId === '' ? {} : { 'Last-Event-ID': lastEventId }),
      },
      body: JSON.stringify({ flowName, message: text }),
    })
    const { body, headers } = response
    const restarted = headers.get('Chat-Session-Restarted') ?? undefined
    if (body === null || headers.get('Chat-Reply') !== 'stream') {
      // A turn that fails before it has begun is answered without a stream.
      yield { type: 'error', id: lastEventId, data: { ...(await readFailure(response)), restarted } }
      return
    }
    const received = new TransformStream({
      transform(chunk, controller) {
        clearTimeout(timer)
        timer = setTimeout(() => connection.abort(), silenceMs)
        controller.enqueue(chunk)
      },
    })
    for await (const { type, id, data } of readEvents(body.pipeThrough(received))) {
      yield { type, id, data: { restarted, ...data } }
    }
  } catch {
    // There is no outcome.
  } finally {
    clearTimeout(timer)
    connection.abort()
  }
}

/** @param {Response} response */
async function readFailure(response) {
  const { status, headers } = response
  if (headers.has('Chat-Reply')) {
    const state = { sessionState: headers.get('Chat-Session-State'), code: headers.get('Chat-Error') }
    return { ...(await response.json()), ...state }
  }
  // Something in front of the server answered in its place. What it refuses it refuses again.
  if (status < 400 || status > 499 || status === 408 || status === 429) throw new Error(`Status ${status}.`)
  return { success: false, message: `The message was refused (status ${status}).`, session: '', code: String(status) }
}

/**
 * @param {number} ms
 * @param {AbortSignal} stopped
 * @throws where it is stopped
 */
async function pause(ms, stopped) {
  await new Promise((resolve) => {
    setTimeout(resolve, ms)
    stopped.addEventListener('abort', resolve)
  })
  if (navigator.onLine === false && !stopped.aborted) {
    await new Promise((resolve) => {
      addEventListener('online', resolve, { once: true })
      stopped.addEventListener('abort', resolve)
    })
  }
  stopped.throwIfAborted()
}
