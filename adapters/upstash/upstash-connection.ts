/**
 * Sends commands to Upstash Redis as scripts that a client of `@upstash/redis` runs. This undoes what the client's
 * settings do to replies and errors: it parses texts as JSON, groups requests into pipelines, and repeats commands in
 * errors.
 */
import { script } from '../../src/stores/keyv/drivers/redis/redis-scripts.js'

/** The used part of a client of `@upstash/redis`. */
export interface UpstashRedisLike {
  /** Runs a script by its hash. */
  evalsha(sha1: string, keys: string[], values: string[]): Promise<unknown>
  /** Runs a script. */
  eval(script: string, keys: string[], values: string[]): Promise<unknown>
}

/**
 * Runs its values as a command. Unless its option `automaticDeserialization` is off, the client parses every text of a
 * reply that is valid JSON. So the script puts a colon before each text, because no JSON begins with one.
 */
const commandScript = script(`
local function marked(reply)
  if type(reply) == 'string' then return ':' .. reply end
  if type(reply) ~= 'table' then return reply end
  if reply.ok then return ':' .. reply.ok end
  for index = 1, #reply do reply[index] = marked(reply[index]) end
  return reply
end
return marked(redis.call(unpack(ARGV)))
`)

/** One client. */
export class UpstashConnection {
  readonly #redis: UpstashRedisLike

  constructor(redis: UpstashRedisLike) {
    this.#redis = redis
  }

  /** Sends a command. Rejects if the server cannot be reached or refuses the command. */
  send(key: string, words: readonly string[]): Promise<unknown> {
    // The driver's scripts return numbers, which the client leaves unchanged.
    const [name, source = '', , scriptKey = '', ...values] = words
    if (name === 'EVALSHA') return this.#run(() => this.#redis.evalsha(source, [scriptKey], values))
    if (name === 'EVAL') return this.#run(() => this.#redis.eval(source, [scriptKey], values))
    return this.#command([key], words)
  }

  /** There is only one connection. */
  sendOn(_connection: unknown, words: readonly string[]): Promise<unknown> {
    return this.#command([], words)
  }

  /** Each command is one request. */
  async close(): Promise<void> {}

  async #command(keys: string[], words: readonly string[]): Promise<unknown> {
    const digest = await commandScript.digest()
    try {
      return unmarked(await this.#run(() => this.#redis.evalsha(digest, keys, [...words])))
    } catch (error) {
      if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error
      return unmarked(await this.#run(() => this.#redis.eval(commandScript.source, keys, [...words])))
    }
  }

  async #run(work: () => Promise<unknown>): Promise<unknown> {
    try {
      return await work()
    } catch (error) {
      throw withoutCommand(error)
    }
  }
}

/** Converts a reply of {@link commandScript} back to the server's reply to the command. */
function unmarked(reply: unknown): unknown {
  if (reply === null || typeof reply === 'number') return reply
  if (Array.isArray(reply)) return reply.map(unmarked)
  if (typeof reply === 'string' && reply.startsWith(':')) return reply.slice(1)
  throw new Error('Upstash Redis answered a script with a value that the script does not return.')
}

/** The server's message alone: the client appends the command, which contains texts of the conversation. */
function withoutCommand(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const [message = ''] = error.message.replace(/^Command failed: /, '').split(', command was: ', 1)
  return message === error.message ? error : new Error(message)
}
