/**
 * A conversation with one flow. What to look at:
 *
 * - Text is shown as it arrives, and is provisional: `reset` discards it, `result` has the reply that counts.
 * - Each message has a key, made when the user presses send. `send-message.js` sends it under this key until there is an outcome.
 * - The tab keeps the session, and the messages that have no outcome yet: after a reload it goes on with them.
 * - The user need not wait for a reply: what becomes of a message for a busy session is for the flow to say. Only the first message
 *   of a conversation is waited for, because its outcome has the session's ID.
 * - Stop cancels the turn on the server: to leave does not stop a turn that has a key. The session does not change, and the next turn
 *   continues from there.
 * - A turn that fails does not end the conversation: the page keeps the ID unless the reply says that the session has ended.
 *   After the same failure twice in a row, in a session that goes on, it offers a new conversation.
 * - Text is put into the page as text, never as HTML, whoever wrote it.
 */
import { sendMessage } from './send-message.js'

/** @typedef {import('./send-message.js').Message} Message */
/** @typedef {{ message: Message, item: HTMLLIElement, stopping: AbortController, session: string }} Turn */

const conversation = find('conversation', HTMLOListElement)
const state = find('state', HTMLElement)
const form = find('form', HTMLFormElement)
const input = find('message', HTMLInputElement)
const stop = find('stop', HTMLButtonElement)
const tryAgain = find('try-again', HTMLButtonElement)
const startAgain = find('start-again', HTMLButtonElement)
const { flow: flowName = '' } = document.body.dataset

/** @type {{ session: string, pending: Message[] }} */
const kept = JSON.parse(sessionStorage.getItem(flowName) ?? '{ "session": "", "pending": [] }')
/** The turns that have no outcome yet. */
const turns = /** @type {Set<Turn>} */ (new Set())
/** Settles with the newest turn. */
let newest = Promise.resolve()
/** The newest message that was not answered, and the place of its reply. */
let failed = /** @type {{ message: Message, item: HTMLLIElement } | undefined} */ (undefined)
/** The code of the last turn, if it failed. */
let lastFailure = ''

form.addEventListener('submit', (event) => {
  event.preventDefault()
  // A new message takes the place of one that was not answered.
  if (failed !== undefined) forget(failed.message)
  say({ key: crypto.randomUUID(), text: input.value })
  // A second click finds an empty field, which the browser does not submit.
  input.value = ''
  input.focus()
})

stop.addEventListener('click', () => {
  state.textContent = 'Stopping.'
  kept.pending = []
  keep()
  const sessions = new Set(Array.from(turns, ({ session }) => session || kept.session))
  for (const { stopping } of turns) stopping.abort()
  for (const session of sessions) void cancel(session)
  input.focus()
})

tryAgain.addEventListener('click', () => {
  if (failed === undefined) return
  const { message, item } = failed
  item.className = 'desk'
  item.textContent = ''
  begin(message, item)
  input.focus()
})

startAgain.addEventListener('click', () => {
  kept.session = ''
  keep()
  lastFailure = ''
  startAgain.hidden = true
  tryAgain.hidden = true
  state.textContent = 'Your next message begins a new conversation.'
  input.focus()
})

for (const message of kept.pending) say(message)

/** @param {Message} message */
function say(message) {
  addItem('user', message.text)
  begin(message, addItem('desk', ''))
}

/**
 * @param {Message} message
 * @param {HTMLLIElement} item - where the reply goes
 */
function begin(message, item) {
  if (!kept.pending.includes(message)) kept.pending.push(message)
  keep()
  failed = undefined
  tryAgain.hidden = true
  startAgain.hidden = true
  newest = takeTurn({ message, item, stopping: new AbortController(), session: '' }, newest)
}

/**
 * @param {Turn} turn
 * @param {Promise<void>} before - settles with the turn before it
 */
async function takeTurn(turn, before) {
  const { message, stopping } = turn
  turns.add(turn)
  showBusy()
  state.textContent = 'The desk is thinking.'
  try {
    if (message.session === undefined && kept.session === '') await before
    stopping.signal.throwIfAborted()
    message.session ??= kept.session
    keep()
    for await (const { type, data } of sendMessage(flowName, message, stopping.signal)) show(type, data, turn)
  } catch {
    leaveOpen(turn)
  }
  turns.delete(turn)
  showBusy()
}

/**
 * @param {string} type
 * @param {any} data
 * @param {Turn} turn
 */
function show(type, data, turn) {
  const { item, stopping } = turn
  if (type === 'text-delta') item.append(data.text)
  if (type === 'reset') item.textContent = ''
  if (type === 'tool-start') state.textContent = `The desk is looking: ${data.tool}.`
  if (type === 'retry') state.textContent = 'There is no reply yet. The page tries again.'
  if (type === 'result' || type === 'error') settle(data, turn)
  if (type !== 'session') return
  turn.session = data.session
  state.textContent = 'The desk is thinking.'
  // Where the user pressed Stop earlier, there was nothing to cancel yet.
  if (stopping.signal.aborted) void cancel(data.session)
}

/**
 * Nobody knows whether the message was answered. To find out, it is sent again: the page keeps it.
 *
 * @param {Turn} turn
 */
function leaveOpen({ message, item, stopping: { signal } }) {
  item.className = signal.aborted ? 'stopped' : 'failed'
  item.append(signal.aborted ? ' (Stopped before a reply came.)' : ' (No reply came.)')
  if (signal.aborted) return
  state.textContent = ''
  offerToTryAgain(message, item)
}

/**
 * @typedef {object} Outcome
 * @property {boolean} success
 * @property {string} message
 * @property {string} session
 * @property {string} [sessionState]
 * @property {string} [code] - of a failure
 * @property {string} [restarted] - why a new session answered in place of the one that was named
 */

/**
 * @param {Outcome} outcome
 * @param {Turn} turn
 */
function settle(outcome, { message, item }) {
  const { success, code = '' } = outcome
  forget(message)
  state.textContent = followSession(outcome) || (turns.size > 1 ? 'The desk is thinking.' : '')
  if (code === 'TURN_ABORTED' || code === 'TURN_SUPERSEDED') return leave(code, item)
  item.textContent = outcome.message
  // In an outage of the store the state is unknown: the conversation is to be continued when the store is back.
  startAgain.hidden = success || outcome.sessionState !== 'running' || code !== lastFailure
  lastFailure = success ? '' : code
  if (!success) showFailure(outcome, { message, item })
}

/**
 * Keeps the session of the next message.
 *
 * @param {Outcome} outcome
 * @returns {string} what the user has to know about it
 */
function followSession({ session, sessionState = '', restarted }) {
  const hadBegun = sessionState !== 'none' || kept.session !== ''
  const hasEnded = ['completed', 'aborted', 'none'].includes(sessionState)
  // A reply that names no session says nothing about the ID that the page has.
  kept.session = hasEnded ? '' : session || kept.session
  keep()
  if (hasEnded && hadBegun) return 'This conversation has ended. Your next message begins a new one.'
  return restarted === undefined ? '' : 'The earlier conversation could not be continued. This is a new one.'
}

/**
 * @param {Outcome} outcome
 * @param {{ message: Message, item: HTMLLIElement }} turn
 */
function showFailure({ sessionState, code }, { message, item }) {
  item.className = 'failed'
  // The failure that ended a session is recorded under its key, and a key that belongs to another message stays that one's.
  const needsKey = sessionState === 'aborted' || code === 'IDEMPOTENCY_MISMATCH'
  const key = needsKey ? crypto.randomUUID() : message.key
  // Where the conversation has ended, or never began, the message begins one.
  offerToTryAgain(kept.session === '' ? { key, text: message.text } : { ...message, key }, item)
}

/**
 * A turn that was stopped, or whose place a newer message took. Where the flow merges messages, that one's reply answers both.
 *
 * @param {string} code
 * @param {HTMLLIElement} item
 */
function leave(code, item) {
  item.className = code === 'TURN_ABORTED' ? 'stopped' : 'superseded'
  item.append(code === 'TURN_ABORTED' ? ' (Stopped.)' : ' (See the reply to your next message.)')
}

/**
 * @param {Message} message
 * @param {HTMLLIElement} item
 */
function offerToTryAgain(message, item) {
  failed = { message, item }
  tryAgain.hidden = false
}

/** @param {string} session */
async function cancel(session) {
  if (session === '') return
  try {
    await fetch('ai/cancel', { method: 'POST', headers: { CHAT_SESSION_ID: session } })
  } catch {
    state.textContent = 'The network is lost: the desk was not told to stop.'
  }
}

/** @param {Message} message */
function forget(message) {
  kept.pending = kept.pending.filter(({ key }) => key !== message.key)
  keep()
}

function keep() {
  sessionStorage.setItem(flowName, JSON.stringify(kept))
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

function showBusy() {
  const isBusy = turns.size > 0
  // A screen reader waits for the whole reply, and does not read it piece by piece.
  conversation.setAttribute('aria-busy', String(isBusy))
  stop.disabled = !isBusy
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
