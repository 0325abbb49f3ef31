/**
 * A conversation with one flow. `turnkeeper/client` sends the messages, keeps the session over a reload, and reads the
 * streams; this page shows them. What to look at:
 *
 * - The page shows the turns of the chat's state, and nothing else: text as it arrives, and the
 *   reply that counts in the end.
 * - The user need not wait for a reply: the flow's option `busy` decides what happens to a message for a busy session.
 * - A turn that fails does not end the conversation. After the same failure twice in a row, in a session that goes on,
 *   the page offers a new conversation.
 * - A reply that an outside event caused shows who spoke.
 * - A reply may carry buttons, cards, forms and files (`parts.js`). A button sends its label, with the choice beside it; a
 *   form is an event of the user.
 * - A screen reader gets a reply once, when it is whole, and not piece by piece.
 */
import { createChat } from './client.js'
import { followEnd, showTurns, spoken } from './conversation.js'
import { keepNewest } from './parts.js'
import { photosOf } from './photo.js'
import { sendForm } from './send-form.js'
import { textElement } from './text-element.js'

/** @typedef {import('./conversation.js').ChatTurn} ChatTurn */
/** @typedef {import('./client.js').ChatState} ChatState */

const conversation = find('conversation', HTMLOListElement)
const spokenReply = find('spoken-reply', HTMLElement)
const status = find('state', HTMLElement)
const form = find('form', HTMLFormElement)
const input = find('message', HTMLInputElement)
const photo = find('photo', HTMLInputElement)
const send = find('send', HTMLButtonElement)
const stop = find('stop', HTMLButtonElement)
const tryAgain = find('try-again', HTMLButtonElement)
const startAgain = find('start-again', HTMLButtonElement)

// Another flow of the server: `/?flow=VisitReport`.
const flow = new URLSearchParams(location.search).get('flow') ?? 'SupportDesk'
const chat = createChat({
  url: 'ai',
  flow,
  storage: sessionStorage,
  // What a colleague or the clock says shows without a reload.
  refreshEveryMs: 5_000,
})
/** @type {import('./parts.js').Answers} */
const answers = {
  choose(label, choice) {
    say('The desk is thinking.')
    void chat.send(label, { choice }).then(settle)
    input.focus()
  },
  async fillIn(name, payload) {
    const problem = await sendForm(chat, flow, name, payload)
    const wrong = conversation.querySelector('li:last-child [aria-invalid]')
    if (problem === '') (wrong instanceof HTMLElement ? wrong : input).focus()
    return problem
  },
}
/** The attachments of the next message. */
let photos = /** @type {import('./client.js').ChatAttachment[]} */ ([])
/** The ID of the newest event that a screen reader has got. */
let newestEvent = ''

chat.on('change', show)
chat.on('tool-start', ({ tool }) => say(`The desk is looking: ${tool}.`))
chat.on('retry', () => say('There is no reply yet. The page tries again.'))
chat.on('session', () => say('The desk is thinking.'))
chat.on('result', () => say(noticeOf(chat.state)))
chat.on('error', () => say(noticeOf(chat.state)))

form.addEventListener('submit', (event) => {
  event.preventDefault()
  say('The desk is thinking.')
  void chat.send(input.value, photos).then(settle)
  // A second click finds an empty field, which the browser does not submit.
  form.reset()
  photos = []
  input.focus()
})

photo.addEventListener('change', async () => {
  send.disabled = true
  photos = await photosOf(photo.files).catch(() => {
    photo.value = ''
    say('The file is not a photo that the browser can read. Choose another one.')
    return []
  })
  send.disabled = false
})

stop.addEventListener('click', () => {
  say('Stopping.')
  void chat.stop()
  input.focus()
})

tryAgain.addEventListener('click', () => {
  say('The desk is thinking.')
  void chat.retry().then(settle)
  input.focus()
})

startAgain.addEventListener('click', () => {
  chat.startOver()
  say('Your next message begins a new conversation.')
  input.focus()
})

if (flow !== 'SupportDesk') document.querySelector('header')?.replaceChildren(textElement('h1', flow))
followEnd()
show(chat.state)
void goOn()

/** After a reload: shows the earlier messages, and completes the unanswered ones. */
async function goOn() {
  if (chat.state.turns.length > 0) say('The desk is thinking.')
  void chat.resume().then((turns) => turns.forEach(settle))
  try {
    await chat.history()
    if (chat.state.hasEnded) say(noticeOf(chat.state))
  } catch {
    say('What was said before cannot be shown now. Your next message goes on with it.')
  }
}

/** @param {ChatState} state */
function show({ turns, isBusy, isStuck, hasEnded }) {
  showTurns(conversation, turns, answers)
  keepNewest(conversation, isBusy || hasEnded)
  announceEvent(turns.at(-1))
  conversation.setAttribute('aria-busy', String(isBusy))
  // A button that is disabled loses the focus to nothing.
  if (!isBusy && document.activeElement === stop) input.focus()
  stop.disabled = !isBusy
  const newest = turns.at(-1)?.status
  // A superseded message is older than the one that took its place.
  const isSuperseded = turns.at(-2)?.status === 'superseded' && !isBusy
  tryAgain.hidden = newest !== 'failed' && newest !== 'unanswered' && !isSuperseded
  startAgain.hidden = !isStuck
}

/** @param {ChatTurn | undefined} turn */
function announceEvent(turn) {
  if (turn?.event === undefined || turn.id === newestEvent) return
  newestEvent = turn.id
  settle(turn)
}

/** @param {ChatTurn} turn */
function settle(turn) {
  if (turn.status === 'unanswered' || turn.status === 'stopped') say(noticeOf(chat.state))
  spokenReply.replaceChildren(textElement('p', spoken(turn)))
}

/** @param {ChatState} state */
function noticeOf({ isBusy, hasEnded, hasRestarted }) {
  if (hasEnded) return 'This conversation has ended. Your next message begins a new one.'
  if (hasRestarted) return 'The earlier conversation could not be continued. This is a new one.'
  return isBusy ? 'The desk is thinking.' : ''
}

/** @param {string} text */
function say(text) {
  status.textContent = text
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
