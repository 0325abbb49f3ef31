// A process of `judge.test.ts`, as a worker of a test runner is one: it records what the test sends to it, as soon as
// all processes are ready.
import process from 'node:process'
import { Judge } from '../../judge/index.js'

/** What a process records. */
export interface JudgeTask {
  readonly recordings: string
  /** What it judges, one after the other. */
  readonly meanings: readonly string[]
  /** The statements that it judges at the same time as the others, each with its own judge. */
  readonly copies: number
}

async function record({ recordings, meanings, copies }: JudgeTask): Promise<readonly string[]> {
  const judges = Array.from({ length: copies }, () => {
    const generate = async () => ({
      parts: [{ type: 'text' as const, text: '{"holds": true, "reason": "It is so."}' }],
    })
    return new Judge({ recordings, record: true, model: () => ({ provider: 'any', name: 'judge-1', generate }) })
  })
  const problems = await Promise.all(
    judges.map(async (judge, index) => {
      const found: string[] = []
      for (const meaning of meanings) {
        const problem = await judge.problemOf({ meaning: `${meaning} ${index}`, message: 'Hi', reply: 'Hello.' })
        if (problem !== undefined) found.push(problem.text)
      }
      return found
    }),
  )
  return problems.flat()
}

process.on('message', (task: JudgeTask) => {
  void record(task).then((problems) => process.send?.(problems, () => process.disconnect()))
})
process.send?.('ready')
