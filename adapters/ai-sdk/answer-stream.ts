/**
 * Reads the stream of one answer: one part for each part that the engine asks for, and none after the engine has
 * stopped reading or aborted. What the parts mean is up to `streamed-answer.ts`.
 */
import type { ModelStreamPart, ResolvedModelSelection } from '../../src/index.js'
import { callError, cutOffError } from './failure.js'
import type { StreamPart, StreamResult } from './language-model.js'
import { StreamedAnswer } from './streamed-answer.js'

/** Calls the model. The signal aborts when the caller's does, and when the reader stops early. */
export type OpenStream = (signal: AbortSignal) => PromiseLike<StreamResult>

type Reader = ReadableStreamDefaultReader<StreamPart>

const ignore = (): void => undefined

/**
 * The parts of an answer, which can be read once. The model is called when the first part is requested.
 *
 * @param signal - Returns the caller's signal. Called when the first part is requested.
 */
export function answerStream(
  open: OpenStream,
  selection: ResolvedModelSelection,
  signal: () => AbortSignal,
): AsyncIterableIterator<ModelStreamPart, undefined, void> {
  const controller = new AbortController()
  let isStopped = false
  const parts = read()
  return {
    next: () => parts.next(),
    return() {
      isStopped = true
      // Without this the generator would wait for the next part, which may never come, before it returns.
      controller.abort()
      return parts.return(undefined)
    },
    [Symbol.asyncIterator]() {
      return this
    },
  }

  async function* read(): AsyncGenerator<ModelStreamPart, undefined, void> {
    const caller = signal()
    const abort = (): void => controller.abort(caller.reason)
    let reader: Reader | undefined
    const release = (): void => {
      caller.removeEventListener('abort', abort)
      controller.abort()
      reader?.releaseLock()
      reader = undefined
    }
    try {
      caller.throwIfAborted()
      caller.addEventListener('abort', abort)
      reader = await openReader(open, controller.signal)
      const answer = new StreamedAnswer(selection)
      let part: ModelStreamPart
      do {
        part = await nextPart(reader, answer, controller.signal, selection)
        // Before the part is yielded: the caller need not ask for another one.
        if (part.type === 'finish') release()
        yield part
      } while (part.type !== 'finish')
      return undefined
    } catch (error) {
      if (isStopped) return undefined
      caller.throwIfAborted()
      throw callError(error, selection)
    } finally {
      release()
    }
  }
}

/** Reads until there is a part for the engine. */
async function nextPart(
  reader: Reader,
  answer: StreamedAnswer,
  signal: AbortSignal,
  selection: ResolvedModelSelection,
): Promise<ModelStreamPart> {
  for (;;) {
    const { done, value } = await reader.read()
    signal.throwIfAborted()
    if (done) throw cutOffError(selection)
    const part = answer.add(value)
    if (part !== undefined) return part
  }
}

/** Opens the stream. It is cancelled when the signal aborts, even if the model ignores the signal. */
async function openReader(open: OpenStream, signal: AbortSignal): Promise<Reader> {
  const opening = Promise.resolve(open(signal))
  const aborted = new Promise<never>((_resolve, reject) => {
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
  })
  try {
    const { stream } = await Promise.race([opening, aborted])
    signal.throwIfAborted()
    const reader = stream.getReader()
    signal.addEventListener('abort', () => void reader.cancel(signal.reason).catch(ignore), { once: true })
    return reader
  } catch (error) {
    opening.then(({ stream }) => stream.cancel(), ignore).catch(ignore)
    throw error
  }
}
