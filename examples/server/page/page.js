/**
 * A conversation with one flow. What to look at:
 *
 * - Text is shown as it arrives, and is provisional: `reset` discards it, `result` has the reply that counts.
 * - Stop aborts the request, and with it the turn: the session does not change, and the next turn continues from there.
 *   So the page takes the session's ID from the result, and not from the header of a turn that may be stopped.
 * - A turn that fails does not end the conversation: the page keeps the ID unless the reply says that the session has ended.
 *   After the same failure twice in a row, in a session that goes on, it offers a new conversation.
 * - Text is put into the page as text, never as HTML, whoever wrote it.
 */
import { readEvents } from './read-events.js'

const conversation = find('conversation', HTMLOListElement)
const state = find('state', HTMLElement)
const form = find('form', HTMLFormElement)
const input = find('message', HTMLInputElement)
const send = find('send', HTMLButtonElement)
const stop = find('stop', HTMLButtonElement)
const startAgain = find('start-again', HTMLButtonElement)
const { flow: flowName } = document.body.dataset

let session = ''
/** The code of the last turn, if it failed. */
let lastFailure = ''
/** @type {AbortController | undefined} */
let turn

form.addEventListener('submit', (event) => {
  event.preventDefault()
  if (turn !== undefined) return
  addItem('user', input.value)
  void takeTurn(input.value, addItem('desk', ''))
  input.value = ''
})

stop.addEventListener('click', () => turn?.abort())

startAgain.addEventListener('click', () => {
  session = ''
  lastFailure = ''
  startAgain.hidden = true
  state.textContent = 'Your next message begins a new conversation.'
  input.focus()
})

/**
 * @param {string} message
 * @param {HTMLLIElement} item - where the reply goes
 */
async function takeTurn(message, item) {
  turn = new AbortController()
  const { signal } = turn
  setBusy(true)
  state.textContent = 'The desk is thinking.'
  try {
    await receive(await request(message, signal), item)
  } catch {
    item.className = signal.aborted ? 'stopped' : 'failed'
    item.append(signal.aborted ? ' (Stopped.)' : ' (The connection was lost. Say it again.)')
    state.textContent = ''
  }
  turn = undefined
  setBusy(false)
  input.focus()
}

/**
 * @param {string} message
 * @param {AbortSignal} signal
 */
function request(message, signal) {
  return fetch('ai/run', {
    method: 'POST',
    signal,
    headers: {
      Accept: 'text/event-stream',
      'Content-Type': 'application/json',
      ...(session === '' ? {} : { CHAT_SESSION_ID: session }),
    },
    body: JSON.stringify({ flowName, message }),
  })
}

/**
 * @param {Response} response
 * @param {HTMLLIElement} item
 */
async function receive(response, item) {
  const isNew = response.headers.has('Chat-Session-Restarted')
  // A turn that fails before it has begun is answered without a stream.
  if (response.body === null || response.headers.get('Chat-Reply') !== 'stream') {
    const outcome = {
      sessionState: response.headers.get('Chat-Session-State'),
      code: response.headers.get('Chat-Error'),
    }
    return settle({ ...(await response.json()), ...outcome }, item, isNew)
  }
  for await (const { type, data } of readEvents(response.body)) {
    if (type === 'text-delta') item.append(data.text)
    else if (type === 'reset') item.textContent = ''
    else if (type === 'tool-start') state.textContent = `The desk is looking: ${data.tool}.`
    else if (type === 'result' || type === 'error') return settle(data, item, isNew)
  }
  throw new Error('The stream was cut.')
}

/**
 * @param {{ success: boolean, message: string, session: string, sessionState: string | null, code?: string | null }} reply
 * @param {HTMLLIElement} item
 * @param {boolean} isNew - whether a new session answered in place of the one that was named
 */
function settle({ success, message, session: answered, sessionState, code }, item, isNew) {
  item.textContent = message
  if (!success) item.className = 'failed'
  const hasEnded = sessionState === 'completed' || sessionState === 'aborted' || sessionState === 'none'
  const neverBegan = sessionState === 'none' && session === ''
  // A reply that names no session says nothing about the ID that the page has.
  session = hasEnded ? '' : answered || session
  const failure = success ? '' : (code ?? 'unknown')
  // In an outage of the store the state is unknown: the conversation is to be continued when the store is back.
  startAgain.hidden = sessionState !== 'running' || failure === '' || failure !== lastFailure
  lastFailure = failure
  state.textContent = isNew ? 'The earlier conversation could not be continued. This is a new one.' : ''
  if (hasEnded && !neverBegan) {
    state.textContent = 'This conversation has ended. Your next message begins a new one.'
  }
}

/**
 * @param {string} className
 * @param {string} text
 */
function addItem(className, text) {
  const item = document.createElement('li')
  item.className = className
  item.textContent = text
  conversation.append(item)
  return item
}

/** @param {boolean} busy */
function setBusy(busy) {
  // A screen reader waits for the whole reply, and does not read it piece by piece.
  conversation.setAttribute('aria-busy', String(busy))
  send.disabled = busy
  stop.disabled = !busy
}

/**
 * @template {HTMLElement} Kind
 * @param {string} id
 * @param {new () => Kind} kind
 */
function find(id, kind) {
  const element = document.getElementById(id)
  if (element instanceof kind) return element
  throw new Error(`The page has no ${id}.`)
}
