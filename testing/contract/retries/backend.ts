/**
 * A store that processes share, on a separate server or in a file, reached through a proxy that can cut its
 * connections.
 */
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { startPostgres } from '../servers/postgres-server.js'
import { startRedis } from '../servers/redis-server.js'
import { startTcpProxy } from '../servers/tcp-proxy.js'
import type { FaultyServer } from '../storm/do-faults.js'
import type { StoreKind, StoreOrder } from '../storm/open-store.js'

/** See above. */
export interface Backend {
  readonly store: StoreOrder
  /** Absent if the store is a file. */
  readonly server: FaultyServer | undefined
  /** Cuts every connection to the server. */
  cut(): void
  close(): Promise<void>
}

/** Starts what a store needs. */
export async function startBackend(kind: StoreKind): Promise<Backend> {
  if (kind === 'sqlite') {
    const folder = await mkdtemp(join(tmpdir(), 'turnkeeper-retries-'))
    const store = { kind, place: join(folder, 'sessions.sqlite') }
    const close = (): Promise<void> => rm(folder, { recursive: true, force: true })
    return { store, server: undefined, cut: () => undefined, close }
  }
  const server = kind === 'postgres' ? await startPostgres() : await startRedis({ appendOnly: 'always' })
  const proxy = await startTcpProxy(server.port, false)
  return {
    store: { kind, place: server.url.replace(`:${server.port}`, `:${proxy.port}`) },
    server,
    cut: () => proxy.cut(),
    async close() {
      await proxy.close()
      await server.close()
    },
  }
}
