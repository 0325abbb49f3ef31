/**
 * Types for the parts of two packages that are used here: `@keyv/sqlite` is not among the development packages, because
 * its native module needs a compiler, and `pg` includes no types.
 */
declare module '@keyv/sqlite' {
  import type { KeyvStoreAdapter } from 'keyv'

  interface KeyvSqlite extends KeyvStoreAdapter {
    emit: (event: 'error', error: unknown) => boolean
    query: (statement: string, ...values: unknown[]) => Promise<unknown>
    close: () => Promise<void>
  }
  const KeyvSqlite: new (options: {
    uri: string
    table: string
    busyTimeout: number
    synchronous?: string
  }) => KeyvSqlite
  export default KeyvSqlite
}

declare module 'pg' {
  export interface Pool {
    query(query: object): Promise<{ rows: unknown[] }>
    on(event: 'error', listener: (error: Error) => void): unknown
    end(): Promise<void>
  }
  export const Pool: new (settings: Readonly<Record<string, unknown>>) => Pool
}
