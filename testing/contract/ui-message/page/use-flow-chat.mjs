import { Chat, useChat } from '@ai-sdk/react'
import { DefaultChatTransport } from 'ai'
import { useEffect, useState } from 'react'

const api = '/api/chat'
const transport = new DefaultChatTransport({ api })

/** The messages of a chat, before the page shows it. */
export async function loadMessages(id) {
  const response = await fetch(`${api}/${encodeURIComponent(id)}`)
  if (!response.ok) throw new Error(await response.text())
  return (await response.json()).messages
}

/** A chat with a flow. `id` is made once by the page, `crypto.randomUUID()`, and kept in its address. */
export function useFlowChat(id, messages) {
  const [chat] = useState(() => new Chat({ id, messages, transport }))
  const state = useChat({ chat, resume: true })

  async function stop() {
    const headers = { 'Content-Type': 'application/json' }
    try {
      await fetch(`${api}/${encodeURIComponent(id)}/stop`, { method: 'POST', headers })
    } finally {
      // Also if the server cannot be reached: then it may finish the turn.
      await chat.stop()
    }
  }

  /** After a lost connection: goes on with the reply that runs, or gets the one that has ended meanwhile. */
  async function comeBack() {
    await chat.resumeStream()
    if (chat.lastMessage?.metadata?.session === undefined) await chat.regenerate()
  }

  return { ...state, chat, leave: state.stop, stop, comeBack }
}

/** Shows what the server says meanwhile: a decision, a reminder. */
export function useNews(chat, everyMs = 5000) {
  useEffect(() => {
    const isWaiting = () => chat.status === 'ready' && chat.lastMessage?.metadata?.sessionState === 'running'
    async function ask() {
      const { messages } = chat
      const at = messages.findLastIndex(({ metadata }) => metadata?.turn !== undefined)
      const response = await fetch(`${api}/${encodeURIComponent(chat.id)}?after=${messages[at]?.metadata.turn ?? 0}`)
      const { messages: newer, complete } = await response.json()
      const all = complete ? [...messages.slice(0, at + 1), ...newer] : await loadMessages(chat.id)
      // Unless the user has written meanwhile.
      if (chat.messages === messages && (newer.length > 0 || !complete)) chat.messages = all
    }
    const timer = setInterval(() => !document.hidden && isWaiting() && ask().catch(() => undefined), everyMs)
    return () => clearInterval(timer)
  }, [chat, everyMs])
}

/** What counts of a reply: no text before the last reset. */
export function countedParts(parts) {
  const lastReset = parts.findLastIndex(({ type }) => type === 'data-reset')
  return parts.filter(({ type }, index) => type !== 'text' || index > lastReset)
}
