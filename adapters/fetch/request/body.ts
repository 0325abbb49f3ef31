/**
 * Reads the body of a request as text, bounded in size, time and values, and refuses invalid UTF-8. Then checks the
 * fields of a run request, their types, and how deep its JSON is nested. The engine checks sizes and the values inside
 * `config`.
 */
import type { FlowRunInput, JsonObject } from '../../../src/index.js'
import { Refusal } from '../reply/refusal.js'
import { takeArrivedBody } from './arrived-body.js'
import { isObject } from './is-object.js'
import { hasMoreValues } from './json-values.js'

/** Reads one body; throws a {@link Refusal}. An absent body is the empty text. */
export type BodyReader = (request: Request) => Promise<string>

/**
 * @param maxBodyBytes - the most bytes a body may have, whatever its `Content-Length` says
 * @param bodyTimeoutMs - how long it may take to arrive; `Infinity` for no limit
 * @param maxJsonValues - the most values that its JSON may have; `Infinity` for no limit
 */
export function createBodyReader(
  maxBodyBytes: number,
  bodyTimeoutMs: number = Number.POSITIVE_INFINITY,
  maxJsonValues: number = Number.POSITIVE_INFINITY,
): BodyReader {
  const decoder = new TextDecoder('utf-8', { fatal: true })

  function tooLarge(unread: ReadableStreamDefaultReader<Uint8Array> | 'untouched'): Refusal {
    return new Refusal(`The request body is larger than ${maxBodyBytes} bytes (maxBodyBytes).`, 413, unread)
  }

  async function readCounted(reader: ReadableStreamDefaultReader<Uint8Array>, isLate: () => boolean) {
    const chunks: Uint8Array[] = []
    let length = 0
    while (true) {
      const { done, value } = await reader.read()
      // The refusal reads what still comes.
      if (done || isLate()) return join(chunks, length)
      length += value.byteLength
      if (length > maxBodyBytes) throw tooLarge(reader)
      chunks.push(value)
    }
  }

  /** Counts the bytes and the time. */
  function readStream(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
    const reader = body.getReader()
    if (bodyTimeoutMs === Number.POSITIVE_INFINITY) return readCounted(reader, () => false)
    return new Promise((resolve, reject) => {
      let isLate = false
      const timer = setTimeout(() => {
        isLate = true
        reject(new Refusal(`The request body took longer than ${bodyTimeoutMs} ms (bodyTimeoutMs).`, 408, reader))
      }, bodyTimeoutMs)
      readCounted(reader, () => isLate)
        .finally(() => clearTimeout(timer))
        .then(resolve, reject)
    })
  }

  async function readBytes(request: Request): Promise<Uint8Array> {
    try {
      // A body that was read before would look like an empty one.
      if (request.bodyUsed) throw readBefore()
      return request.body === null ? new Uint8Array() : await readStream(request.body)
    } catch (error) {
      if (error instanceof Refusal) throw error
      // The client went away, or `authorize` read the body.
      throw new Refusal('The request body could not be read.')
    }
  }

  function decode(bytes: Uint8Array): string {
    if (hasMoreValues(bytes, maxJsonValues)) {
      throw new Refusal(`The request body has more than ${maxJsonValues} values (maxJsonValues).`, 422)
    }
    try {
      return decoder.decode(bytes)
    } catch {
      throw new Refusal('The request body is not valid UTF-8.')
    }
  }

  return async function readBody(request) {
    const declared = declaredLengthOf(request)
    if (declared !== undefined && declared > maxBodyBytes) throw tooLarge('untouched')
    // On a Node server the body arrives just after the handler is called.
    await undefined
    const arrived = declared === undefined ? undefined : takeArrivedBody(request, declared)
    const bytes = arrived ?? (await readBytes(request))
    if (declared !== undefined && bytes.byteLength !== declared) {
      // A body parser of a Node framework leaves nothing to read.
      if (bytes.byteLength === 0) throw readBefore()
      throw new Refusal('The request body does not have the length that Content-Length says.')
    }
    return decode(bytes)
  }
}

/**
 * @throws Refusal if a chunked body is empty: a body parser has read it. A turn needs a body.
 */
export function checkUnread(text: string, headers: Headers): void {
  if (text === '' && headers.has('transfer-encoding')) throw readBefore()
}

function readBefore(): Refusal {
  return new Refusal(
    'The request body was read before the handler got the request, by a body parser such as express.json() or by authorize. ' +
      'Use toNodeListener of turnkeeper/node, and read request.clone() in authorize.',
  )
}

function declaredLengthOf(request: Request): number | undefined {
  const header = request.headers.get('content-length')
  return header !== null && /^\d+$/.test(header) ? Number(header) : undefined
}

function join(chunks: readonly Uint8Array[], length: number): Uint8Array {
  const [first] = chunks
  if (chunks.length === 1 && first !== undefined) return first
  const bytes = new Uint8Array(length)
  let offset = 0
  for (const chunk of chunks) {
    bytes.set(chunk, offset)
    offset += chunk.byteLength
  }
  return bytes
}

/** The fields of `POST /run`. All others are ignored. */
export interface RunBody {
  readonly flowName: string
  readonly message: string
  readonly config: JsonObject | undefined
  /** Checked by the engine. */
  readonly event: FlowRunInput['event'] | undefined
  /** Checked by the engine. */
  readonly choice: FlowRunInput['choice'] | undefined
  /** Checked by the engine. */
  readonly attachments: NonNullable<FlowRunInput['attachments']> | undefined
}

/** @throws Refusal that names what is wrong with the body. */
export function readRunBody(text: string, maxJsonDepth: number): RunBody {
  const { flowName, message = '', config, event, choice, attachments } = parseObject(text, maxJsonDepth)
  if (typeof flowName !== 'string' || flowName === '') {
    throw new Refusal("The field 'flowName' is required and must be a non-empty string.")
  }
  if (typeof message !== 'string') throw new Refusal("The field 'message' must be a string.")
  if (config !== undefined && !isObject(config)) throw new Refusal("The field 'config' must be an object.")
  if (event !== undefined && !isObject(event)) throw new Refusal("The field 'event' must be an object.")
  if (choice !== undefined && !isObject(choice)) throw new Refusal("The field 'choice' must be an object.")
  if (attachments !== undefined && !Array.isArray(attachments)) {
    throw new Refusal("The field 'attachments' must be a list.")
  }
  return {
    ...{ flowName, message, config },
    event: event as RunBody['event'],
    choice: choice as RunBody['choice'],
    attachments: attachments as RunBody['attachments'],
  }
}

/** @throws Refusal unless the body is empty or an empty object: `POST /end` takes nothing else. */
export function checkEmptyBody(text: string, maxJsonDepth: number): void {
  if (text === '') return
  if (Object.keys(parseObject(text, maxJsonDepth)).length > 0) {
    throw new Refusal('This route takes no request body. The session ID travels in the CHAT_SESSION_ID header.')
  }
}

/** @throws Refusal unless the body is a JSON object that is not nested too deep. */
export function parseObject(text: string, maxJsonDepth: number): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Refusal('The request body is not valid JSON.')
  }
  if (isDeeperThan(value, maxJsonDepth)) {
    throw new Refusal(`The request body is nested deeper than ${maxJsonDepth} levels (maxJsonDepth).`, 422)
  }
  if (!isObject(value)) throw new Refusal('The request body must be a JSON object.')
  return value as JsonObject
}

/** Goes level by level: tens of thousands of brackets would overflow a recursion. */
function isDeeperThan(value: unknown, limit: number): boolean {
  let level = isContainer(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) return true
    level = containersIn(level)
  }
  return false
}

function containersIn(level: readonly object[]): object[] {
  const found: object[] = []
  for (const container of level) {
    for (const child of Object.values(container)) if (isContainer(child)) found.push(child)
  }
  return found
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
