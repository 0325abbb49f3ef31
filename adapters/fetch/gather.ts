// Lets the turns of requests that arrived together run together. A turn runs through much code; alone between the reading
// of its request and the writing of its reply it finds little of it in the processor's caches, and costs several times what
// it costs right after another turn. So each waits until the event loop has read what has arrived, which is no time at all
// where only one has.

/** Calls back when the event loop has read what has arrived: `setImmediate`, on runtimes that have it. */
export type Later = (callback: () => void) => unknown

/** Turns that are let go at once: enough to share the cost, and few enough that the first reply does not wait long. */
const mostAtOnce = 16

interface Runtime {
  readonly setImmediate?: Later
  readonly navigator?: { readonly userAgent?: string }
}

/** How turns can be made to wait on a runtime; `undefined`: they cannot. */
export function laterOf({ setImmediate, navigator }: Runtime): Later | undefined {
  // workerd keeps requests apart: nothing that belongs to one may let another go.
  return navigator?.userAgent === 'Cloudflare-Workers' ? undefined : setImmediate
}

/** On the runtime at hand. Taken now: a clock that a test puts in its place later is turned by hand, or never. */
export const later: Later | undefined = laterOf(globalThis as Runtime)

/** Returns a function to wait with. What that returns is `undefined` where there is no waiting. */
export function createGathering(wait: Later | undefined): () => Promise<void> | undefined {
  if (wait === undefined) return () => undefined
  const askToBeLetGo = wait
  const waiting: (() => void)[] = []

  function letGo(): void {
    if (waiting.length > 0) for (const go of waiting.splice(0, mostAtOnce)) go()
  }

  // Each asks for itself; whoever is called first lets the others go as well.
  return function gather() {
    return new Promise((resolve) => {
      waiting.push(resolve)
      askToBeLetGo(letGo)
    })
  }
}
