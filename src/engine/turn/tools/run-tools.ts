/**
 * Runs the tool calls of one answer: one after the other, or in parallel if every tool allows it. Every call gets a
 * result in memory, in the order of the calls. `run-tool.ts` runs one call.
 */
import { message } from '../../../flow/conversation-memory.js'
import type { Transition } from '../../../flow/transition.js'
import type { ToolCallPart } from '../../../model/message.js'
import { type CallingStep, runTool, type ToolOutcome, toolResult } from './run-tool.js'

/** The result of a call whose transition was ignored. */
const moveNotMade = 'The tool ran, but its transition was ignored: an earlier call already changed the step.'

/**
 * Runs the calls of an answer, and puts their results into memory.
 *
 * @returns the transition of the first call, in the order of the calls, whose tool returned one
 */
export function runTools(
  calling: CallingStep,
  calls: readonly ToolCallPart[],
  namespace: string,
): Promise<Transition | undefined> {
  const isParallel = calls.length > 1 && calls.every(({ toolName }) => calling.tools.get(toolName)?.parallel === true)
  return (isParallel ? runTogether : runInOrder)(calling, calls, namespace)
}

/** After a transition the other calls do not run. */
async function runInOrder(
  calling: CallingStep,
  calls: readonly ToolCallPart[],
  namespace: string,
): Promise<Transition | undefined> {
  const { control, draft, turn } = calling
  let transition: Transition | undefined
  for (const call of calls) {
    if (transition !== undefined) {
      const skipped = toolResult(call, 'Not run: an earlier call moved the conversation on.', true)
      draft.memory.append(namespace, message('tool', [skipped], turn.number))
      continue
    }
    // A slow reader of the stream delays tools, like text.
    if (control.stream !== undefined) await control.stream.room()
    const outcome = await runTool(calling, call)
    draft.memory.append(namespace, message('tool', [outcome.result], turn.number))
    transition = outcome.transition
  }
  return transition
}

/**
 * Each call runs to its end, even after another one returned a transition. If one fails the turn, the signals of the
 * others abort, and the turn fails with the first error.
 */
async function runTogether(
  calling: CallingStep,
  calls: readonly ToolCallPart[],
  namespace: string,
): Promise<Transition | undefined> {
  const { control, draft, turn } = calling
  const failure = new AbortController()
  await control.stream?.room()
  const outcomes = await Promise.all(
    calls.map(async (call) => {
      try {
        return await runTool(calling, call, failure.signal)
      } catch (error) {
        failure.abort(error)
        return undefined
      }
    }),
  )
  control.work.check()
  failure.signal.throwIfAborted()
  let transition: Transition | undefined
  for (const [index, call] of calls.entries()) {
    // None has failed.
    const outcome = outcomes[index] as ToolOutcome
    const isLate = transition !== undefined && outcome.transition !== undefined
    const result = isLate ? toolResult(call, moveNotMade, true) : outcome.result
    draft.memory.append(namespace, message('tool', [result], turn.number))
    transition ??= outcome.transition
  }
  return transition
}
