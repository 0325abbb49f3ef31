/** Sessions in Durable Objects: the public class of the store. session-object.ts is the object that it calls. */
import type { SessionStore } from '../../src/index.js'
import { ChunkedSessionStore } from '../../src/stores/keyv/chunked-session-store.js'
import type { ServerlessStoreOptions } from '../../src/stores/keyv/serverless-options.js'
import { chunkedStoreOptions, serverlessOptionNames } from '../../src/stores/keyv/serverless-store.js'
import { checkMethods, checkOptionNames, invalidInput, type OptionNames } from '../../src/util/options.js'
import { type DurableObjectNamespaceLike, ObjectDriver } from './object-driver.js'

/** The options of {@link DurableObjectSessionStore}. */
export interface DurableObjectSessionStoreOptions extends ServerlessStoreOptions {
  /** The binding of the class `SessionObject`. Use the class for sessions only. */
  readonly namespace: DurableObjectNamespaceLike
}

const optionNames: OptionNames<DurableObjectSessionStoreOptions> = {
  namespace: true,
  ...serverlessOptionNames,
}

/**
 * A durable session store over Durable Objects, one for each session. It has no `list`, because the platform cannot
 * list objects.
 *
 * @example
 * ```ts
 * const sessionStore = new DurableObjectSessionStore({ namespace: env.SESSIONS, ttlMs: 30 * 24 * 60 * 60 * 1000 })
 * const engine = new FlowEngine({ flows: [Onboarding], sessionStore })
 * ```
 */
export class DurableObjectSessionStore extends ChunkedSessionStore {
  declare readonly claim: NonNullable<SessionStore['claim']>

  /** @throws `InvalidInputError` for an option that is missing, unknown or out of range. */
  constructor(options: DurableObjectSessionStoreOptions) {
    const caller = 'DurableObjectSessionStore'
    checkOptionNames(caller, options, optionNames)
    const { namespace } = options
    if (namespace === undefined)
      throw invalidInput(`${caller}: namespace must be the binding of the class SessionObject.`)
    checkMethods(caller, 'namespace', namespace, ['idFromName', 'get'])
    const closedMessage = 'The Durable Object session store is closed.'
    super(chunkedStoreOptions({ caller, closedMessage, createDriver: () => new ObjectDriver(namespace) }, options))
  }
}
