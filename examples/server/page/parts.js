/**
 * What a reply carries beside its text, as elements. Everything from the server goes into the page as text, and an
 * address becomes a link only if it is one of the web.
 */
import { formOf } from './form-part.js'
import { textElement } from './text-element.js'

/** @typedef {import('./client.js').ChatPart} ChatPart */
/** @typedef {import('./client.js').ChatChoice} ChatChoice */

/**
 * What the user does with the parts.
 *
 * @typedef {object} Answers
 * @property {(label: string, choice: ChatChoice) => void} choose - A button was pressed.
 * @property {(name: string, payload: object) => Promise<string>} fillIn - A form was sent. Resolves to what went wrong;
 * empty if nothing did.
 */

/**
 * The element of a part. A `custom` part is for components of your own, and this page has none: it shows nothing.
 *
 * @param {ChatPart} part
 * @param {Answers} answers
 * @returns {HTMLElement[]}
 */
export function elementsOf(part, answers) {
  switch (part.type) {
    case 'choices':
      return [buttonsOf(part, answers)]
    case 'card':
      return [cardOf(part)]
    case 'form':
      return [formOf(part, answers)]
    case 'file':
      return [fileOf(part)]
    default:
      return []
  }
}

/**
 * What a screen reader gets of a part.
 *
 * @param {ChatPart} part
 */
export function spokenPart(part) {
  if (part.type === 'choices') return ` Answers: ${part.options.map(({ label }) => label).join(', ')}.`
  if (part.type === 'card') return ` ${part.title}.`
  if (part.type === 'form') return ' There is a form to fill in.'
  return part.type === 'file' ? ` There is a file: ${part.name}.` : ''
}

/**
 * Only the newest buttons and the newest form can be used.
 *
 * @param {HTMLElement} conversation
 * @param {boolean} isClosed - Whether none can be used: a reply is awaited, or the conversation has ended.
 */
export function keepNewest(conversation, isClosed) {
  for (const kind of ['choices', 'form']) {
    const sets = conversation.querySelectorAll(`fieldset.${kind}`)
    for (const set of sets) set.toggleAttribute('disabled', isClosed || set !== sets[sets.length - 1])
  }
}

/**
 * @param {Extract<ChatPart, { type: 'choices' }>} part
 * @param {Answers} answers
 */
function buttonsOf({ turn, name, options }, { choose }) {
  const buttons = document.createElement('fieldset')
  buttons.className = 'choices'
  buttons.setAttribute('aria-label', 'Answers')
  for (const { value, label } of options) {
    const button = textElement('button', label)
    button.type = 'button'
    button.addEventListener('click', () => choose(label, { turn, name, value }))
    buttons.append(button)
  }
  return buttons
}

/** @param {Extract<ChatPart, { type: 'card' }>} part */
function cardOf({ title, rows }) {
  const card = document.createElement('section')
  card.className = 'card'
  const list = document.createElement('dl')
  for (const [label, value] of rows) list.append(textElement('dt', label), textElement('dd', value))
  card.append(textElement('h2', title), list)
  return card
}

/** @param {Extract<ChatPart, { type: 'file' }>} part */
function fileOf({ name, mediaType, url }) {
  const file = document.createElement('p')
  const isOfWeb = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
  if (!isOfWeb) {
    file.textContent = name
    return file
  }
  const link = textElement('a', name)
  link.href = url
  link.download = name
  link.rel = 'noopener'
  // A file of another server opens beside the conversation.
  link.target = '_blank'
  file.append(link, ` (${mediaType})`)
  return file
}
