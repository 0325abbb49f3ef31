/**
 * What users and flows say, as elements. Everything is text, an image without scripts, or a sandboxed frame; the page of
 * examples/server builds the parts of replies.
 */
import { h, type VNode } from 'preact'
import { useLayoutEffect, useRef } from 'preact/hooks'
import { elementsOf } from '../../../examples/server/page/parts.js'
import type { TurnInput, TurnView } from '../api/types.js'
import { e, json, tag } from './element.js'
import { send } from './studio.js'

/** Elements that are built without preact. They stay until the key of this component changes; `isOff` disables them. */
export function Built({ build, isOff = false }: { build: () => HTMLElement[]; isOff?: boolean }): VNode {
  const place = useRef<HTMLDivElement>(null)
  useLayoutEffect(() => place.current?.replaceChildren(...build()), [])
  useLayoutEffect(() => void place.current?.querySelector('fieldset')?.toggleAttribute('disabled', isOff), [isOff])
  return tag('div', { ref: place })
}

/** What a turn was given. */
export function inputOf({ text, choice, attachments = [], event, sender = 'user' }: TurnInput): VNode {
  const who = { user: 'You', application: event?.by ?? 'The application', clock: 'The clock' }[sender]
  const files = attachments.map((part) => {
    const name = (part.type === 'file' && part.name) || 'attachment'
    return part.data === undefined ? e('p.text', part.url) : bytesOf(part.mediaType, part.data, name)
  })
  const head = e('span.who', who, choice && ' pressed', event && [' sent the event ', e('code', event.name)])
  const payload = event?.payload !== undefined && json(event.payload)
  return e('div.said', head, text !== '' && e('p.text', text), payload, files)
}

/** What the flow answered; `closed` names the parts that cannot be used. */
export function replyOf(turn: TurnView, closed: { readonly choices: boolean; readonly form: boolean }): VNode {
  const { number = 0, parts = [], error, reply } = turn
  const answers = {
    choose: (text: string, choice: NonNullable<TurnInput['choice']>) => void send({ text, choice }),
    fillIn: (name: string, payload: object) => send({ text: '', event: { name, payload: payload as never } }, true),
  }
  const elements = parts.map((part) => {
    if (part.type === 'custom') return e('div.part', part.name, ' ', json(part.data, true))
    const build = (): HTMLElement[] => elementsOf(Object.assign({ turn: number }, part), answers)
    return h(Built, { key: JSON.stringify(part), build, isOff: part.type in closed && closed[part.type as 'form'] })
  })
  return e('div.reply', reply !== error?.text && bodyOf(turn), elements, error && failureOf(error))
}

function bodyOf({ reply, contentType, encoding }: TurnView): VNode {
  if (encoding === 'base64') return bytesOf(contentType, reply, 'reply')
  // The frame runs no scripts, because its sandbox is set before its text.
  if (/html|xml/i.test(contentType))
    return tag('iframe', { sandbox: '', srcdoc: reply, title: `Reply: ${contentType}` })
  return e('p.text', reply)
}

function bytesOf(mediaType: string, data: string, name: string): VNode {
  const address = `data:${mediaType};base64,${data}`
  if (mediaType.startsWith('image/')) return tag('img', { src: address, alt: name })
  return e('p', tag('a', { href: address, download: name }, name), ` (${mediaType})`)
}

/** An error with the author's frames. */
export function failureOf({ code, text, frames }: NonNullable<TurnView['error']>): VNode {
  return e('div.problem', e('strong', code), ' ', text, frames.length > 0 && e('pre', frames.join('\n')))
}
