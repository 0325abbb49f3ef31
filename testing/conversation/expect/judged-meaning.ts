/** Asks a judge whether a statement about a reply is true. A judge that throws, or never answers, fails the test. */
import { thrownText } from '../../expectations/author-frames.js'
import { ExpectationError, show } from '../../expectations/expectation-error.js'
import { isObject, isText } from '../../expectations/value-kinds.js'
import { defaultJudgeHangAfterMs, unlessHanging } from '../../virtual-clock/hang-watch.js'
import type { Problem } from './problem.js'

/** Decides whether a statement about a reply is true: a `Judge` of `turnkeeper/testing/judge`, or your own. */
export interface ReplyJudge {
  /**
   * Milliseconds of real time after which `expectMeaning` fails if `problemOf` has not settled. `Infinity`: never; a
   * `Judge` uses this, because its option `hangAfterMs` ends each call of its model. Default 30 000.
   */
  readonly hangAfterMs?: number
  /** Returns the problem; `undefined` if the statement is true. */
  problemOf(question: {
    /** The statement. */
    readonly meaning: string
    /** The user's message. */
    readonly message: string
    readonly reply: string
  }): Promise<{ readonly text: string; readonly cause?: unknown } | undefined>
}

/** The answer of a judge, which may be written without types. */
function verdictOf(answer: unknown): Problem | undefined {
  if (answer === undefined) return undefined
  if (isObject(answer) && 'text' in answer && isText(answer.text)) return answer as Problem
  const contract = 'undefined if the statement is true of the reply, or { text } that says why it is not'
  return { text: `problemOf of the judge must return ${contract}; it returned ${show(answer, 100)}.` }
}

/** The problem with the reply, or with the judge; `undefined` if the statement is true. */
export async function meaningProblem(
  judge: ReplyJudge,
  question: Parameters<ReplyJudge['problemOf']>[0],
): Promise<Problem | undefined> {
  const { hangAfterMs: afterMs = defaultJudgeHangAfterMs } = judge
  const [meaning, reply] = [show(question.meaning, 1000), show(question.reply, 1000)]
  let hang: Problem | undefined
  const judging = async (): Promise<Problem | undefined> => verdictOf(await judge.problemOf(question))
  try {
    return await unlessHanging(judging(), {
      afterMs,
      progress: () => undefined,
      report: () => {
        const advice =
          'If it is only slow, give the judge a property hangAfterMs, and raise the time limit of the test.'
        const text = `The judge has not answered for ${afterMs} ms of real time. It was to judge whether this is true of the reply: ${meaning}\n  the reply: ${reply}\n${advice}`
        hang = { text }
        return new ExpectationError(text)
      },
    })
  } catch (error) {
    const asked = `when it was asked whether this is true of the reply: ${meaning}`
    return hang ?? { text: `The judge threw ${thrownText(error)}\n  ${asked}`, cause: error }
  }
}
