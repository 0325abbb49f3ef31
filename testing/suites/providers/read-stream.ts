/** Reads a stream to its end, and checks that it has the form that every stream must have. */
import type { ModelStreamPart } from '../../../src/index.js'
import { ensure, fail } from '../cases/failure.js'
import { inShort } from '../cases/same-json.js'
import type { OpenStream, StreamedReply } from './suite-case.js'

/** The pieces of the stream. Fails if it does not end with one `finish`, or sends something that is not a piece. */
export async function readStream(stream: OpenStream): Promise<StreamedReply> {
  const texts: string[] = []
  const thoughts: string[] = []
  for (;;) {
    const { done, value } = await stream.next()
    if (done === true) return fail("a last piece 'finish' with the whole answer", `an end after ${texts.length} texts`)
    const piece = value as ModelStreamPart
    if (piece.type === 'text-delta') texts.push(piece.text)
    else if (piece.type === 'reasoning-delta') thoughts.push(piece.text)
    else if (piece.type === 'finish') {
      const after = await stream.next()
      ensure(after.done === true, "nothing after the piece 'finish'", inShort(after.value))
      return { texts, thoughts, response: piece.response }
    } else fail("pieces of the types 'text-delta', 'reasoning-delta' and 'finish'", inShort(piece))
  }
}

/** Reads up to the first text. */
export async function readToText(stream: OpenStream): Promise<string> {
  for (;;) {
    const { done, value } = await stream.next()
    if (done === true) return fail('a text in the stream', 'its end')
    const piece = value as ModelStreamPart
    if (piece.type === 'text-delta') return piece.text
    if (piece.type === 'finish') return fail("a text before the piece 'finish'", inShort(piece))
  }
}

/** Reads the words before a failure, after which no piece comes. */
export async function readFirstWords(stream: OpenStream): Promise<void> {
  let text = ''
  while (text.trim() !== 'It is') {
    if (text.length > 6) fail("the words 'It is' before the stream goes wrong", `'${text}'`)
    text += await readToText(stream)
  }
}

/** The error with which the rest of the stream fails. */
export async function readToFailure(stream: OpenStream): Promise<unknown> {
  for (;;) {
    let piece: IteratorResult<ModelStreamPart, unknown>
    try {
      piece = await stream.next()
    } catch (error) {
      return error
    }
    if (piece.done === true) return fail('the stream to fail', 'its end')
    if (piece.value.type === 'finish') return fail('the stream to fail', inShort(piece.value))
  }
}
