/** Sessions in Durable Objects: the public class of the store. session-object.ts is the object that it calls. */
import type { SessionDocument, SessionSaveHint, SessionStore } from '../../src/index.js'
import type { ChunkedSessionStore } from '../../src/stores/keyv/chunked-session-store.js'
import type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
import { serverlessOptionNames, serverlessStore } from '../../src/stores/keyv/serverless-store.js'
import { checkMethods, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { type DurableObjectNamespaceLike, ObjectDriver } from './object-driver.js'

/** What the constructor of {@link DurableObjectSessionStore} takes. */
export interface DurableObjectSessionStoreOptions extends ServerlessStoreOptions {
  /** The binding of the class `SessionObject`. Give sessions a class of their own. */
  readonly namespace: DurableObjectNamespaceLike
}

const optionNames: OptionNames<DurableObjectSessionStoreOptions> = {
  namespace: true,
  ...serverlessOptionNames,
}

/**
 * A durable session store over Durable Objects, one for each session. It has no `list`: the platform does not say which
 * objects there are.
 *
 * @example
 * ```ts
 * const sessionStore = new DurableObjectSessionStore({ namespace: env.SESSIONS, ttlMs: 30 * 24 * 60 * 60 * 1000 })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore })
 * ```
 */
export class DurableObjectSessionStore implements SessionStore {
  readonly guarantees: SessionStore['guarantees']
  readonly #store: ChunkedSessionStore

  /** @throws `InvalidInputError` for an option that is missing, unknown or out of range. */
  constructor(options: DurableObjectSessionStoreOptions) {
    const caller = 'DurableObjectSessionStore'
    checkOptionNames(caller, options, optionNames)
    const { namespace } = options
    if (namespace === undefined)
      throw invalidInput(`${caller}: namespace must be the binding of the class SessionObject.`)
    checkMethods(caller, 'namespace', namespace, ['idFromName', 'get'])
    this.#store = serverlessStore(
      {
        caller,
        closedMessage: 'The Durable Object session store is closed.',
        createDriver: () => new ObjectDriver(namespace),
      },
      options,
    )
    this.guarantees = this.#store.guarantees
  }

  /**
   * See {@link SessionStore.load}. For another caller than its owner, the chunks of a session are not decoded, nor is
   * it kept.
   */
  load(sessionId: string, caller?: { readonly owner?: string | undefined }): Promise<SessionDocument | undefined> {
    return this.#store.load(sessionId, caller)
  }

  create(document: SessionDocument): Promise<void> {
    return this.#store.create(document)
  }

  save(document: SessionDocument, expectedRevision: string, hint?: SessionSaveHint): Promise<void> {
    return this.#store.save(document, expectedRevision, hint)
  }

  delete(sessionId: string, expectedRevision?: string): Promise<void> {
    return this.#store.delete(sessionId, expectedRevision)
  }

  /** See {@link SessionStore.claim}. */
  async claim(key: string, sessionId: string, ttlMs: number): Promise<string> {
    return (this.#store as Required<ChunkedSessionStore>).claim(key, sessionId, ttlMs)
  }

  /** Calls after it reject. The binding itself needs no closing. */
  close(): Promise<void> {
    return this.#store.close()
  }
}
