// The page of the tests, with a button for each thing that a test does. Bundled once for each version of the AI SDK.
import { createElement as element, useState } from 'react'
import { createRoot } from 'react-dom/client'
import { countedParts, loadMessages, useFlowChat, useNews } from './use-flow-chat.mjs'

const parameters = new URLSearchParams(location.search)
const id = parameters.get('chat')
const everyMs = Number(parameters.get('every') ?? 60_000)

/** The buttons of a reply. */
function Choices({ data: { turn, name, options }, choose }) {
  return options.map(({ value, label }) =>
    element('button', { key: value, type: 'button', onClick: () => choose(label, { turn, name, value }) }, label),
  )
}

function Part({ part, choose }) {
  if (part.type === 'text') return element('span', null, part.text)
  if (part.type === 'file' && part.mediaType.startsWith('image/'))
    return element('img', { src: part.url, alt: 'photo' })
  if (part.type === 'data-choices') return element(Choices, { data: part.data, choose })
  if (part.type.startsWith('tool-')) return element('em', null, `[${part.type} ${part.state}]`)
  return null
}

function Message({ message, choose }) {
  const parts = countedParts(message.parts).map((part, key) => element(Part, { key, part, choose }))
  return element('li', { 'data-role': message.role, title: message.metadata?.by }, parts)
}

function Page({ messages: initial }) {
  const [text, setText] = useState('')
  const [files, setFiles] = useState()
  const chat = useFlowChat(id, initial)
  useNews(chat.chat, everyMs)
  const { messages, status, error } = chat
  const choose = (label, choice) => chat.sendMessage({ text: label }, { body: { choice } })
  globalThis.setMessages = chat.setMessages
  globalThis.messages = messages
  const actions = [
    ['Send', () => chat.sendMessage({ text, ...(files === undefined ? {} : { files }) })],
    ['Stop', chat.stop],
    ['Leave only', chat.leave],
    ['Resume', () => chat.resumeStream()],
    ['Come back', chat.comeBack],
    ['Again', () => chat.regenerate()],
    ['Begin anew', () => chat.regenerate({ body: { newSession: true } })],
  ]
  return element(
    'main',
    null,
    element(
      'ol',
      null,
      messages.map((message) => element(Message, { key: message.id, message, choose })),
    ),
    element('output', null, status),
    element('p', { role: 'alert' }, error === undefined ? '' : error.message),
    element('input', { 'aria-label': 'Message', value: text, onChange: (event) => setText(event.target.value) }),
    element('input', { 'aria-label': 'Photo', type: 'file', onChange: (event) => setFiles(event.target.files) }),
    actions.map(([name, onClick]) => element('button', { key: name, type: 'button', onClick }, name)),
  )
}

createRoot(document.querySelector('#root')).render(element(Page, { messages: await loadMessages(id) }))
