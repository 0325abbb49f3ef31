import type { EngineContext } from './engine-context.js'

/** Waits until `work` settles, but not longer than the given time. */
export async function atMost({ deadlines }: EngineContext, ms: number, work: Promise<unknown>): Promise<void> {
  await new Promise<void>((resolve) => {
    const deadline = deadlines.set(ms, () => resolve())
    const finish = (): void => {
      deadline?.cancel()
      resolve()
    }
    work.then(finish, finish)
  })
}
