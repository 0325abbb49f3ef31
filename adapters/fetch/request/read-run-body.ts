// Decides what a body says: the fields of a run request, their types, and how deep JSON may be nested. Sizes and the
// rules for values inside `config` are the engine's.
import type { JsonObject } from '../../../src/index.js'
import { isJsonMediaType } from '../../../src/util/patterns.js'
import { Refusal } from '../reply/refusal.js'

/** The fields of `POST /run` that count. All others are ignored. */
export interface RunBody {
  readonly flowName: string
  readonly message: string
  readonly config: JsonObject | undefined
}

/** @throws Refusal that names what is wrong with the body. */
export function readRunBody(text: string, maxJsonDepth: number): RunBody {
  const { flowName, message = '', config } = parseObject(text, maxJsonDepth)
  if (typeof flowName !== 'string' || flowName === '') {
    throw new Refusal("The field 'flowName' is required and must be a non-empty string.")
  }
  if (typeof message !== 'string') throw new Refusal("The field 'message' must be a string.")
  if (config !== undefined && !isObject(config)) throw new Refusal("The field 'config' must be an object.")
  return { flowName, message, config }
}

/** @throws Refusal unless the body is empty or an empty object: `POST /end` takes nothing else. */
export function checkEndBody(text: string, maxJsonDepth: number): void {
  if (text === '') return
  if (Object.keys(parseObject(text, maxJsonDepth)).length > 0) {
    throw new Refusal('This route takes no request body. The session ID travels in the CHAT_SESSION_ID header.')
  }
}

/**
 * Refuses a body that is declared as something else than JSON when it comes from a web page: a form on a foreign site
 * can send plain text without asking, but JSON only if CORS allows it.
 */
export function checkContentType(request: Request): void {
  if (request.headers.get('origin') === null) return
  const mediaType = (request.headers.get('content-type') ?? '').split(';', 1)[0]?.trim() ?? ''
  if (isJsonMediaType(mediaType)) return
  throw new Refusal('The request body must be sent as application/json.', 415)
}

function parseObject(text: string, maxJsonDepth: number): JsonObject {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Refusal('The request body is not valid JSON.')
  }
  if (isDeeperThan(value, maxJsonDepth)) {
    throw new Refusal(`The request body is nested deeper than ${maxJsonDepth} levels (maxJsonDepth).`)
  }
  if (!isObject(value)) throw new Refusal('The request body must be a JSON object.')
  return value
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** Level by level instead of by recursion, which tens of thousands of brackets would overflow. */
function isDeeperThan(value: unknown, limit: number): boolean {
  let level = isContainer(value) ? [value] : []
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > limit) return true
    const next: object[] = []
    for (const container of level) {
      for (const child of Object.values(container)) if (isContainer(child)) next.push(child)
    }
    level = next
  }
  return false
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
