/** The list of messages, and what a screen reader announces. All text goes into the page as text, never as HTML. */
import { elementsOf, spokenPart } from './parts.js'
import { textElement } from './text-element.js'

/** @typedef {import('./client.js').ChatTurn} ChatTurn */
/** @typedef {import('./parts.js').Answers} Answers */
/** @typedef {{ user: HTMLLIElement, reply: HTMLLIElement, turn?: ChatTurn }} Place */

/** The entries of each turn, by its ID. */
const places = /** @type {Map<string, Place>} */ (new Map())

/**
 * Shows these turns, and no other.
 *
 * @param {HTMLOListElement} list
 * @param {readonly ChatTurn[]} turns
 * @param {Answers} answers
 */
export function showTurns(list, turns, answers) {
  const shown = new Set(turns.map(({ id }) => id))
  const entries = turns.flatMap((turn) => entriesOf(turn, answers, shown))
  // The focus, a text selection and a screen reader's position survive, unless earlier turns change.
  if ([...list.children].every((entry, at) => entry === entries[at]))
    list.append(...entries.slice(list.children.length))
  else list.replaceChildren(...entries)
}

/** Keeps the newest text in sight while the page grows, unless the reader has scrolled up. */
export function followEnd() {
  const { documentElement } = document
  let isAtEnd = true
  let lastY = scrollY
  addEventListener('scroll', () => {
    // Only a way up leaves the end: the page may have grown since it was scrolled down, before this event came.
    if (innerHeight + scrollY >= documentElement.scrollHeight - 8) isAtEnd = true
    else if (scrollY < lastY) isAtEnd = false
    lastY = scrollY
  })
  new ResizeObserver(() => {
    if (isAtEnd) scrollTo(0, documentElement.scrollHeight)
  }).observe(document.body)
}

/**
 * @param {ChatTurn} turn
 * @param {Answers} answers
 * @param {ReadonlySet<string>} shown
 */
function entriesOf(turn, answers, shown) {
  const place = places.get(turn.id) ?? takeOver(turn, shown) ?? addPlace(turn)
  const { user, reply } = place
  reply.className = turn.status
  setText(reply, '.who', whoAnswers(turn))
  setText(reply, '.text', textOf(turn))
  if (turn.file !== undefined && reply.querySelector('.file') === null) reply.append(elementOf(turn.file))
  if (turn.parts !== undefined && place.turn?.parts === undefined) {
    reply.append(...turn.parts.flatMap((part) => elementsOf(part, answers)))
  }
  place.turn = turn
  // A conversation may begin with the flow's greeting, an event comes without a message, and a flow may stay silent.
  const hasMessage = turn.message !== '' || turn.attachments.length > 0
  return [...(hasMessage ? [user] : []), ...(isSilent(turn) ? [] : [reply])]
}

/**
 * The entries of the page's own turn, if this is the stored copy that replaces it: a form that the user is filling in
 * stays as it is.
 *
 * @param {ChatTurn} turn
 * @param {ReadonlySet<string>} shown
 */
function takeOver({ id, message, text, parts }, shown) {
  for (const [own, place] of places) {
    const { turn } = place
    const isSame = turn?.message === message && turn.text === text
    if (shown.has(own) || !isSame || JSON.stringify(turn.parts) !== JSON.stringify(parts)) continue
    places.delete(own)
    places.set(id, place)
    return place
  }
  return undefined
}

/**
 * Whether the flow has taken the turn and says nothing.
 *
 * @param {ChatTurn} turn
 */
function isSilent({ status, text, file }) {
  return status === 'answered' && text === '' && file === undefined
}

/**
 * The line above the reply of a turn: who spoke, if an event caused it.
 *
 * @param {ChatTurn} turn
 */
function whoAnswers({ status, event }) {
  return status === 'failed' ? 'The desk could not answer' : (event?.by ?? 'Desk')
}

/**
 * The announcement of a settled turn by a screen reader.
 *
 * @param {ChatTurn} turn
 */
export function spoken(turn) {
  const { file, parts = [] } = turn
  if (isSilent(turn)) return ''
  const reply = file === undefined ? `${whoAnswers(turn)}: ${textOf(turn)}` : `The desk sent a file: ${file.type}.`
  return reply + parts.map(spokenPart).join('')
}

/**
 * The text of a reply, or a note if there is none.
 *
 * @param {ChatTurn} turn
 */
function textOf({ status, text, failure }) {
  if (status === 'failed') return failure?.message ?? ''
  if (status === 'stopped') return `${text} (${failure === undefined ? 'Stopped before a reply came.' : 'Stopped.'})`
  if (status === 'superseded') return `${text} (Not taken: your next message came first.)`
  if (status === 'unanswered') return `${text} (No reply came.)`
  return text
}

/**
 * @param {ChatTurn} turn
 * @returns {Place}
 */
function addPlace({ id, message, attachments }) {
  const place = { user: entry('You', message), reply: entry('Desk', '') }
  place.user.className = 'user'
  for (const { mediaType, data } of attachments) {
    // The server keeps the bytes of the newest photos only.
    if (data !== undefined) place.user.append(image(`data:${mediaType};base64,${data}`, 'The photo that you sent'))
  }
  places.set(id, place)
  return place
}

/**
 * @param {string} who
 * @param {string} text
 */
function entry(who, text) {
  const item = document.createElement('li')
  for (const [className, content] of Object.entries({ who, text })) {
    const line = textElement('p', content)
    line.className = className
    item.append(line)
  }
  return item
}

/**
 * @param {HTMLElement} item
 * @param {string} selector
 * @param {string} text
 */
function setText(item, selector, text) {
  const line = item.querySelector(selector)
  if (line !== null && line.textContent !== text) line.textContent = text
}

/** @param {Blob} file */
function elementOf(file) {
  const address = URL.createObjectURL(file)
  const element = file.type.startsWith('image/') ? image(address, 'A picture from the desk') : download(address, file)
  element.classList.add('file')
  return element
}

/**
 * @param {string} address
 * @param {Blob} file
 */
function download(address, { type, size }) {
  const link = textElement('a', `Save the reply (${type}, ${size} bytes)`)
  link.href = address
  link.download = 'reply'
  return link
}

/**
 * @param {string} address
 * @param {string} description
 */
function image(address, description) {
  const element = document.createElement('img')
  element.src = address
  element.alt = description
  return element
}
