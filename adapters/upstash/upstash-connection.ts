/**
 * Commands to Upstash Redis, by the scripts that a client of `@upstash/redis` runs. Whatever that client does to
 * replies and errors by its own settings is undone here: its parsing of texts as JSON, its pipelines, and the commands
 * that its errors repeat.
 */
import { script } from '../../src/stores/keyv/drivers/redis/redis-scripts.js'

/** The part that is used of a client of `@upstash/redis`. */
export interface UpstashRedisLike {
  /** Runs a script that the server knows. */
  evalsha(sha1: string, keys: string[], values: string[]): Promise<unknown>
  /** Runs a script. */
  eval(script: string, keys: string[], values: string[]): Promise<unknown>
}

/**
 * Runs the command that its values are. The client parses each text of a reply that is JSON, unless its option
 * `automaticDeserialization` is off. So a colon is put before each, which no JSON begins with.
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

  /** Sends a command. Rejects where the server cannot be reached, or refuses it. */
  send(key: string, words: readonly string[]): Promise<unknown> {
    // Those of the driver return numbers, which the client leaves as they are.
    const [name, source = '', , scriptKey = '', ...values] = words
    if (name === 'EVALSHA') return this.#run(() => this.#redis.evalsha(source, [scriptKey], values))
    if (name === 'EVAL') return this.#run(() => this.#redis.eval(source, [scriptKey], values))
    return this.#command([key], words)
  }

  /** There is no other connection. */
  sendOn(_connection: unknown, words: readonly string[]): Promise<unknown> {
    return this.#command([], words)
  }

  /** Each command is a request of its own. */
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

/** A reply of {@link commandScript}, as the server answered the command. */
function unmarked(reply: unknown): unknown {
  if (reply === null || typeof reply === 'number') return reply
  if (Array.isArray(reply)) return reply.map(unmarked)
  if (typeof reply === 'string' && reply.startsWith(':')) return reply.slice(1)
  throw new Error('Upstash Redis answered a script with a value that the script does not return.')
}

/** The server's own sentence. The client adds the command, which has the texts of the conversation in it. */
function withoutCommand(error: unknown): unknown {
  if (!(error instanceof Error)) return error
  const [message = ''] = error.message.replace(/^Command failed: /, '').split(', command was: ', 1)
  return message === error.message ? error : new Error(message)
}
