/**
 * An answer that comes piece by piece: what is told of each piece, and the whole at the end, which is made as that of a
 * call without a stream. It reads no stream.
 */
import type { JsonObject, ModelStreamPart, ResolvedModelSelection } from '../../src/index.js'
import { hasRefusal, responseOf, usageOf } from './answer.js'
import { brokenOff, cutOff } from './failure.js'
import type { AnswerContent, StopReason, StreamPart } from './language-model.js'

/** A text or a thought that is not over yet. */
interface Block {
  readonly type: 'text' | 'reasoning'
  text: string
  providerMetadata?: JsonObject
}

/** What is told of arguments that are being made: that the model is not silent. They come with the whole. */
const atWork: ModelStreamPart = Object.freeze({ type: 'reasoning-delta', text: '' })

/** What has come of one answer. */
export class StreamedAnswer {
  readonly #selection: ResolvedModelSelection
  readonly #content: AnswerContent[] = []
  readonly #open = new Map<string, Block>()
  #refused = false

  constructor(selection: ResolvedModelSelection) {
    this.#selection = selection
  }

  /**
   * Takes the next piece, and gives what is told of it: `undefined` for nothing.
   *
   * @throws What the model failed with; an error with `isRetryable` where the answer was cut.
   */
  take(part: StreamPart): ModelStreamPart | undefined {
    switch (part.type) {
      case 'text-start':
        return this.#begin('text', part)
      case 'reasoning-start':
        return this.#begin('reasoning', part)
      case 'text-delta':
        return this.#add('text', part)
      case 'reasoning-delta':
        return this.#add('reasoning', part)
      case 'text-end':
        return this.#end('text', part)
      case 'reasoning-end':
        return this.#end('reasoning', part)
      case 'tool-input-delta':
        return atWork
      case 'tool-call':
        this.#content.push(part)
        return undefined
      case 'raw':
        this.#refused ||= hasRefusal(part.rawValue)
        return undefined
      case 'error':
        throw brokenOff(part.error, this.#selection)
      case 'finish':
        return this.#finish(part)
      default:
        return undefined
    }
  }

  #begin(type: Block['type'], part: StreamPart): undefined {
    const block: Block = { type, text: '' }
    // Its place is where it begins: tools are called while a text is still open.
    this.#content.push(block)
    this.#open.set(key(type, part), block)
    note(block, part)
  }

  #add(type: Block['type'], part: StreamPart): ModelStreamPart | undefined {
    if (!this.#open.has(key(type, part))) this.#begin(type, part)
    const block = this.#open.get(key(type, part)) as Block
    const { delta: text = '' } = part
    block.text += text
    note(block, part)
    return text === '' ? undefined : { type: `${type}-delta`, text }
  }

  #end(type: Block['type'], part: StreamPart): undefined {
    const block = this.#open.get(key(type, part))
    if (block === undefined) return
    note(block, part)
    this.#open.delete(key(type, part))
  }

  #finish({ finishReason = '', usage = {} }: StreamPart): ModelStreamPart {
    if (!this.#refused && isUntold(finishReason)) {
      throw Object.assign(cutOff(this.#selection), { usage: usageOf(usage) })
    }
    const response = responseOf({ content: this.#content, finishReason, usage }, this.#selection)
    return { type: 'finish', response: this.#refused ? { ...response, finishReason: 'content-filter' } : response }
  }
}

function key(type: Block['type'], { id = '' }: StreamPart): string {
  return `${type} ${id}`
}

/** What hangs on a block comes with any of its pieces, and later ones say what earlier ones did not know. */
function note(block: Block, { providerMetadata }: StreamPart): void {
  if (providerMetadata === undefined || providerMetadata === null) return
  const known = { ...block.providerMetadata }
  for (const [provider, data] of Object.entries(providerMetadata)) {
    known[provider] = { ...(known[provider] as JsonObject | undefined), ...(data as JsonObject) }
  }
  block.providerMetadata = known
}

/**
 * Whether the provider never said why it stops: packages end a stream as well where the connection was closed in the
 * middle of the answer.
 */
function isUntold(reason: StopReason | null): boolean {
  if (typeof reason === 'string') return reason === 'unknown' || reason === ''
  return reason === null || (reason.unified === 'other' && (reason.raw ?? '') === '')
}
