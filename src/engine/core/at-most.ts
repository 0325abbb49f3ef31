import type { EngineContext } from './engine-context.js'

/** Waits until `work` is settled, but at most so long. */
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
