/** Several processes take their turns on one session at once; in the end another one reads what is stored. */
import type { ChildProcess } from 'node:child_process'
import type { SessionDocument } from '../../../src/index.js'
import { createProcesses } from '../worker-processes.js'
import type { ContentionAnswer, ContentionOrder } from './contention-worker.js'
import type { StoreOrder } from './open-store.js'
import type { TurnRecord } from './turn-record.js'

/** What a contention leaves. */
export interface ContentionRemains {
  readonly turns: readonly TurnRecord[]
  readonly conflicts: number
  readonly document: SessionDocument | undefined
  /** The time from the first turn to the last. */
  readonly seconds: number
}

/** Has `processes` processes take `turnsEach` turns each. All of them have ended when this settles. */
export async function runContention(
  store: StoreOrder,
  seed: number,
  processes: number,
  turnsEach: number,
): Promise<ContentionRemains> {
  const pool = await createProcesses(new URL('contention-worker.ts', import.meta.url))
  const start = async (name: string, number: number): Promise<ChildProcess> => {
    const child = pool.start()
    await ask(child, { kind: 'open', name, seed: seed * 1_000 + number, store })
    return child
  }
  try {
    const children = await Promise.all(Array.from({ length: processes }, (_, index) => start(`p${index}`, index)))
    const startedAt = performance.now()
    const first = await ask(children[0], { kind: 'talk', session: '', turns: 1 })
    const session = first.turns?.[0]?.answer?.session ?? ''
    const rest = await Promise.all(
      children.map((child, index) =>
        ask(child, { kind: 'talk', session, turns: index === 0 ? turnsEach - 1 : turnsEach }),
      ),
    )
    const seconds = (performance.now() - startedAt) / 1_000
    const reader = await start('reader', processes)
    const { document } = await ask(reader, { kind: 'read', session })
    for (const child of [...children, reader]) await ask(child, { kind: 'close' })
    return {
      turns: [first, ...rest].flatMap(({ turns }) => turns ?? []),
      conflicts: rest.reduce((sum, { conflicts }) => sum + (conflicts ?? 0), 0),
      document,
      seconds,
    }
  } finally {
    await pool.close()
  }
}

async function ask(child: ChildProcess | undefined, order: ContentionOrder): Promise<ContentionAnswer> {
  if (child === undefined) throw new Error('There is no process.')
  const answer = await new Promise<ContentionAnswer>((resolve, reject) => {
    const onExit = (code: number | null): void => reject(new Error(`A process ended with code ${code}.`))
    child.once('exit', onExit)
    child.once('message', (content: ContentionAnswer) => {
      child.off('exit', onExit)
      resolve(content)
    })
    child.send(order, () => undefined)
  })
  if (answer.error !== undefined) throw new Error(`A process failed: ${answer.error}`)
  return answer
}
