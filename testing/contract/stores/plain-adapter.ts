// A Keyv adapter without a compare-and-swap, as most are: it answers a moment later, and fails on request.
import type { KeyvStoreAdapter, StoredData } from 'keyv'

/** An adapter over a Map. */
export class PlainAdapter implements KeyvStoreAdapter {
  readonly opts: { readonly dialect: string } = { dialect: 'plain' }
  readonly values: Map<string, unknown> = new Map()
  namespace?: string | undefined
  throwOnErrors = false
  /** Whether it is down. Like many adapters it then hides that, unless `throwOnErrors` is set. */
  isDown = false
  disconnected = 0

  async get<Value>(key: string): Promise<StoredData<Value> | undefined> {
    return (await this.#answers()) ? (this.values.get(key) as StoredData<Value>) : undefined
  }

  async set(key: string, value: unknown): Promise<boolean> {
    if (await this.#answers()) this.values.set(key, value)
    return true
  }

  async delete(key: string): Promise<boolean> {
    return (await this.#answers()) && this.values.delete(key)
  }

  async clear(): Promise<void> {
    this.values.clear()
  }

  async disconnect(): Promise<void> {
    this.disconnected++
  }

  on(): this {
    return this
  }

  async #answers(): Promise<boolean> {
    await new Promise((resolve) => setImmediate(resolve))
    if (this.isDown && this.throwOnErrors) throw new Error('The plain adapter is down.')
    return !this.isDown
  }
}

/** One that can give its keys, of a dialect for which Keyv makes an iterator. */
export class IterableAdapter extends PlainAdapter {
  override readonly opts = { dialect: 'mongo' }

  async *iterator<Value>(_namespace?: string): AsyncGenerator<[string, Value | undefined], void> {
    for (const [key, value] of this.values) yield [key, value as Value]
  }
}
