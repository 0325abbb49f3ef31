/**
 * Collects the parts of a streamed answer: returns the engine's stream part for each of them, and at the end the whole
 * answer, which `answer.ts` translates as for a call without a stream. The stream itself is read in `answer-stream.ts`.
 */
import type { JsonObject, ModelStreamPart, ResolvedModelSelection } from '../../src/index.js'
import { hasRefusal, responseOf, usageOf } from './answer.js'
import { cutOffError, streamError } from './failure.js'
import type { AnswerContent, StopReason, StreamPart } from './language-model.js'

/** A text or a reasoning that has begun and not ended. */
interface Block {
  readonly type: 'text' | 'reasoning'
  text: string
  providerMetadata?: JsonObject
}

/**
 * Sent while the model writes the arguments of a call, which the engine gets as a whole: it shows that the model is
 * working.
 */
const stillWorking: ModelStreamPart = Object.freeze({ type: 'reasoning-delta', text: '' })

/** What was received of one answer. */
export class StreamedAnswer {
  readonly #selection: ResolvedModelSelection
  readonly #content: AnswerContent[] = []
  readonly #open = new Map<string, Block>()
  #refused = false

  constructor(selection: ResolvedModelSelection) {
    this.#selection = selection
  }

  /**
   * Adds the next part. Returns the engine's stream part for it; `undefined` if there is none.
   *
   * @throws The error that the stream reported; an error with `isRetryable` if the answer was cut off.
   */
  add(part: StreamPart): ModelStreamPart | undefined {
    switch (part.type) {
      case 'text-start':
        return this.#begin('text', part)
      case 'reasoning-start':
        return this.#begin('reasoning', part)
      case 'text-delta':
        return this.#append('text', part)
      case 'reasoning-delta':
        return this.#append('reasoning', part)
      case 'text-end':
        return this.#end('text', part)
      case 'reasoning-end':
        return this.#end('reasoning', part)
      case 'tool-input-delta':
        return stillWorking
      case 'tool-call':
        this.#content.push(part)
        return undefined
      case 'raw':
        this.#refused ||= hasRefusal(part.rawValue)
        return undefined
      case 'error':
        throw streamError(part.error, this.#selection)
      case 'finish':
        return this.#finish(part)
      default:
        return undefined
    }
  }

  #begin(type: Block['type'], part: StreamPart): undefined {
    const block: Block = { type, text: '' }
    // Blocks are ordered by their beginning: a tool can be called while a text is still open.
    this.#content.push(block)
    this.#open.set(keyOf(type, part), block)
    mergeMetadata(block, part)
  }

  #append(type: Block['type'], part: StreamPart): ModelStreamPart | undefined {
    const key = keyOf(type, part)
    if (!this.#open.has(key)) this.#begin(type, part)
    const block = this.#open.get(key) as Block
    const { delta: text = '' } = part
    block.text += text
    mergeMetadata(block, part)
    return text === '' ? undefined : { type: `${type}-delta`, text }
  }

  #end(type: Block['type'], part: StreamPart): undefined {
    const key = keyOf(type, part)
    const block = this.#open.get(key)
    if (block === undefined) return
    mergeMetadata(block, part)
    this.#open.delete(key)
  }

  #finish({ finishReason = '', usage = {} }: StreamPart): ModelStreamPart {
    if (!this.#refused && hasNoReason(finishReason)) {
      throw Object.assign(cutOffError(this.#selection), { usage: usageOf(usage) })
    }
    const response = responseOf({ content: this.#content, finishReason, usage }, this.#selection)
    return { type: 'finish', response: this.#refused ? { ...response, finishReason: 'content-filter' } : response }
  }
}

function keyOf(type: Block['type'], { id = '' }: StreamPart): string {
  return `${type} ${id}`
}

/**
 * Adds the metadata of a part to its block. Any part can have some; later parts complete and replace what earlier ones
 * had.
 */
function mergeMetadata(block: Block, { providerMetadata }: StreamPart): void {
  if (providerMetadata === undefined || providerMetadata === null) return
  const merged = { ...block.providerMetadata }
  for (const [provider, data] of Object.entries(providerMetadata)) {
    merged[provider] = { ...(merged[provider] as JsonObject | undefined), ...(data as JsonObject) }
  }
  block.providerMetadata = merged
}

/**
 * Whether the provider gave no reason for the end of the answer. Packages also finish a stream without one if the
 * connection was closed in the middle of the answer.
 */
function hasNoReason(reason: StopReason | null): boolean {
  if (reason === null) return true
  if (typeof reason === 'string') return reason === 'unknown' || reason === ''
  return reason.unified === 'other' && (reason.raw ?? '') === ''
}
