/**
 * Reads the stream of one answer: one piece for each that is asked for, and none after it was left or given up. What the
 * pieces mean is decided elsewhere.
 */
import type { ModelStreamPart, ResolvedModelSelection } from '../../src/index.js'
import { cutOff, failureOf } from './failure.js'
import type { StreamPart, StreamResult } from './language-model.js'
import { StreamedAnswer } from './streamed-answer.js'

/** Asks the model. The signal fires when the caller's does, and when the stream is left. */
export type OpenStream = (signal: AbortSignal) => PromiseLike<StreamResult>

type Reader = ReadableStreamDefaultReader<StreamPart>

const nothing = (): void => undefined

/**
 * The pieces of an answer, to be read once. The model is asked when the first one is.
 *
 * @param signal - Gives the caller's signal. Called when the first piece is asked for.
 */
export function answerStream(
  open: OpenStream,
  selection: ResolvedModelSelection,
  signal: () => AbortSignal,
): AsyncIterableIterator<ModelStreamPart, undefined, void> {
  const own = new AbortController()
  let isLeft = false
  const pieces = read()
  return {
    next: () => pieces.next(),
    return() {
      isLeft = true
      // Or the generator would first wait for a piece that may never come.
      own.abort()
      return pieces.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }

  async function* read(): AsyncGenerator<ModelStreamPart, undefined, void> {
    const caller = signal()
    const giveUp = (): void => own.abort(caller.reason)
    let reader: Reader | undefined
    const free = (): void => {
      caller.removeEventListener('abort', giveUp)
      own.abort()
      reader?.releaseLock()
      reader = undefined
    }
    try {
      caller.throwIfAborted()
      caller.addEventListener('abort', giveUp)
      reader = await openReader(open, own.signal)
      const answer = new StreamedAnswer(selection)
      for (;;) {
        const { done, value } = await reader.read()
        own.signal.throwIfAborted()
        if (done) throw cutOff(selection)
        const piece = answer.take(value)
        if (piece?.type === 'finish') {
          // Before it is told: nobody has to ask for more.
          free()
          yield piece
          return undefined
        }
        if (piece !== undefined) yield piece
      }
    } catch (error) {
      if (isLeft) return undefined
      caller.throwIfAborted()
      throw failureOf(error, selection)
    } finally {
      free()
    }
  }
}

/** The reader of a stream that is canceled when the signal fires, also by a model that does not look at the signal. */
async function openReader(open: OpenStream, signal: AbortSignal): Promise<Reader> {
  const asked = Promise.resolve(open(signal))
  const stopped = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  try {
    const { stream } = await Promise.race([asked, stopped])
    signal.throwIfAborted()
    const reader = stream.getReader()
    signal.addEventListener('abort', () => void reader.cancel(signal.reason).catch(nothing), { once: true })
    return reader
  } catch (error) {
    asked.then(({ stream }) => stream.cancel(), nothing).catch(nothing)
    throw error
  }
}
