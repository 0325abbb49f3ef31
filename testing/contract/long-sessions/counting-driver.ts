/**
 * A driver in front of another that counts what a store asks of its backend, and how many bytes it reads and writes.
 */
import type { SessionDriver } from '../../../src/stores/keyv/index.js'

/** What a store asked for since the last look. */
export interface DriverTraffic {
  readonly reads: number
  readonly writes: number
  readonly bytesRead: number
  readonly bytesWritten: number
}

const nothing: DriverTraffic = { reads: 0, writes: 0, bytesRead: 0, bytesWritten: 0 }

/** A driver that counts. */
export interface CountingDriver {
  readonly driver: SessionDriver
  /** What was asked for since the last call. */
  takeTraffic(): DriverTraffic
}

/** Puts a counter in front of a driver. */
export function countingDriver(inner: SessionDriver): CountingDriver {
  let traffic: { -readonly [Name in keyof DriverTraffic]: DriverTraffic[Name] } = { ...nothing }
  const addRead = (texts: Iterable<string | undefined>): void => {
    traffic.reads++
    for (const text of texts) traffic.bytesRead += Buffer.byteLength(text ?? '')
  }
  const driver: SessionDriver = {
    ...inner,
    async read(key, chunks, knownRevision) {
      const found = await inner.read(key, chunks, knownRevision)
      addRead(found === undefined ? [] : [found.head, ...found.chunks])
      return found
    },
    async readAll(key) {
      const found = await inner.readAll(key)
      addRead(found === undefined ? [] : [found.head, ...found.chunks.values()])
      return found
    },
    swap(swap) {
      traffic.writes++
      for (const text of [swap.head, ...swap.chunks.map(([, text]) => text)]) {
        traffic.bytesWritten += Buffer.byteLength(text)
      }
      return inner.swap(swap)
    },
  }
  return {
    driver,
    takeTraffic() {
      const taken = traffic
      traffic = { ...nothing }
      return taken
    },
  }
}
