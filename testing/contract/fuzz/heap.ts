/** Reports about the process itself: the bytes of its heap after a collection, and unhandled errors. */

/** The garbage collector, which `--expose-gc` puts among the globals. */
const collect = (globalThis as { gc?: () => void }).gc

/** The bytes in use when no turn is under way any more. A turn that never settles is waited for at most ten seconds. */
export async function collectHeap(turnsUnderWay: () => number): Promise<number> {
  const deadline = performance.now() + 10_000
  while (turnsUnderWay() > 0 && performance.now() < deadline) await pause(5)
  // What was closed a moment ago is released in the next turns of the event loop.
  for (let round = 0; round < 3; round++) {
    await pause(10)
    collect?.()
  }
  return process.memoryUsage().heapUsed
}

/** Reports unhandled rejections and errors, warnings of leaks, and a changed `Object.prototype`. */
export function reportProblems(report: (problem: string) => void): void {
  process.on('unhandledRejection', (reason) => report(`unhandled rejection: ${String(reason)}`))
  process.on('uncaughtException', (error) => report(`uncaught exception: ${error.stack ?? String(error)}`))
  process.on('warning', (warning) => report(`warning: ${warning.message}`))
  let isClean = true
  setInterval(() => {
    if (isClean && 'polluted' in {}) report('Object.prototype was changed')
    isClean &&= !('polluted' in {})
  }, 100).unref()
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds))
}
