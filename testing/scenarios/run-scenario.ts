/** Runs a scenario as a {@link Conversation}; whatever fails has the line of the file that it belongs to. */
import type { FlowErrorCode, StepConstructor } from '../../src/index.js'
import type { Conversation } from '../conversation/conversation.js'
import type { ConversationOptions } from '../conversation/conversation-options.js'
import { ExpectationError, list, show } from '../expectations/expectation-error.js'
import type { ScenarioEvent, ScenarioText, ScenarioTurn } from './read-scenarios.js'
import { failureAt, failureOfAll } from './scenario-failure.js'
import type { ExpectationLine, Place } from './scenario-lines.js'
import { ScenarioModel } from './scenario-model.js'
import { conversationOf, givenIn, type ScenarioSetup, setupFrom } from './scenario-setup.js'

/**
 * Runs a scenario.
 *
 * @param origin - The path of its file, and the line there that names the set-up, for failures.
 * @param source - What the set-up module exports as `default`.
 * @throws `ExpectationError` (rejects) with the line that failed.
 */
export async function runScenario(
  scenario: ScenarioText,
  { file, setupPlace }: { readonly file: string; readonly setupPlace: Place },
  source: unknown,
): Promise<void> {
  const unreadable = failureOfAll(scenario.problems)
  if (unreadable !== undefined) throw unreadable
  const at = <T>(place: Place, run: () => T | Promise<T>): Promise<T> => runAt(file, place, run)
  const setup = await at(setupPlace, () => setupFrom(source))
  const given: ConversationOptions[] = []
  for (const line of scenario.given) given.push(await at(line, () => givenIn(setup, line.phrase)))
  await requireOneScript(scenario, [setup, ...given], at)
  await requireJudge(scenario, [setup, ...given], at)
  const model = new ScenarioModel()
  const conversation = await at(scenario, () => conversationOf(setup, given, (request) => model.answer(request)))
  try {
    for (const event of scenario.events) await runEvent(event, { conversation, model, setup, at })
    await at(scenario.events.at(-1) ?? scenario, () => conversation.close())
  } catch (error) {
    // The first failure counts.
    await conversation.close().catch(() => undefined)
    throw error
  }
}

/** Fails if both the set-up and the scenario have answers of models. */
async function requireOneScript(
  { events }: ScenarioText,
  options: readonly ConversationOptions[],
  at: Running['at'],
): Promise<void> {
  const [line] = events.flatMap((event) => (event.kind === 'turn' ? event.model : []))
  if (options.every(({ script }) => script === undefined) || line === undefined) return
  await at(line, () => {
    throw new ExpectationError(
      'The set-up has a script, which answers for every model. Take this line out, or take the script out of the set-up.',
    )
  })
}

/** Fails if the scenario states what a reply means, but has no judge. */
async function requireJudge(
  { events }: ScenarioText,
  options: readonly ConversationOptions[],
  at: Running['at'],
): Promise<void> {
  const expectations = events.flatMap((event) => (event.kind === 'turn' ? event.expectations : []))
  const line = expectations.find(({ kind }) => kind === 'meaning')
  if (line === undefined || options.some(({ judge }) => judge !== undefined)) return
  await at(line, () => {
    throw new ExpectationError(
      'This line needs a judge, and the set-up has none. Add it there: export default { flow: Booking, judge: new Judge({ ... }) }.',
    )
  })
}

/** What the lines of a running scenario need. */
interface Running {
  readonly conversation: Conversation
  readonly model: ScenarioModel
  readonly setup: ScenarioSetup
  readonly at: <T>(place: Place, run: () => T | Promise<T>) => Promise<T>
}

async function runAt<T>(file: string, place: Place, run: () => T | Promise<T>): Promise<T> {
  try {
    return await run()
  } catch (error) {
    throw failureAt(file, place, error)
  }
}

async function runEvent(event: ScenarioEvent, running: Running): Promise<void> {
  const { conversation, at } = running
  if (event.kind === 'turn') return runTurn(event, running)
  await at(event, async () => {
    await (event.kind === 'wait' ? conversation.advance(event.ms) : conversation.restart())
  })
}

async function runTurn(turn: ScenarioTurn, { conversation, model, setup, at }: Running): Promise<void> {
  model.begin(turn.model)
  const { success } = await conversation.say(turn.text).catch((error: unknown) =>
    at(model.wrong ?? turn, () => {
      throw error
    }),
  )
  const failure = turn.expectations.find(({ kind }) => kind === 'failure')
  const code = failure?.kind === 'failure' ? failure.code : undefined
  if (!success && code === undefined) await at(turn, () => conversation.expectReply(/(?:)/))
  // The code comes first: it says why the reply is what it is.
  const others = turn.expectations.filter((line) => line !== failure)
  for (const line of failure === undefined ? others : [failure, ...others])
    await at(line, () => check(line, conversation, setup, code))
  const { left } = model
  if (left !== undefined) {
    const problem =
      'The model was not asked for this answer. Take the line out, or find out why the flow asks no model here.'
    await at(left, () => conversation.fail(problem))
  }
}

/** Checks one line of what is expected. */
async function check(
  line: ExpectationLine,
  conversation: Conversation,
  setup: ScenarioSetup,
  failure: FlowErrorCode | undefined,
): Promise<void> {
  switch (line.kind) {
    case 'reply':
      if (failure === undefined) conversation.expectReply(line.expected)
      else conversation.expectError(failure, line.expected)
      return
    case 'mention':
      checkMention(conversation, line.text)
      return
    case 'meaning':
      await conversation.expectMeaning(line.text)
      return
    case 'step':
      conversation.expectStep(line.step)
      return
    case 'state':
      conversation.expectState(stepNamed(conversation, setup, line.step), line.part)
      return
    case 'tools':
      conversation.expectToolCalls(line.names)
      return
    case 'completed':
      conversation.expectCompleted()
      return
    case 'failure':
      conversation.expectError(line.code)
      return
    default:
      line satisfies never
  }
}

/** In words for people who do not program: an expected RegExp would show as a pattern. */
function checkMention(conversation: Conversation, text: string): void {
  const { message } = conversation.reply
  if (message.toLowerCase().includes(text.toLowerCase())) return
  conversation.fail(`Expected a reply that mentions ${show(text, 1000)}\n  but it was ${show(message, 1000)}`)
}

/** The step of a flow by its ID. */
function stepNamed(conversation: Conversation, { flow }: ScenarioSetup, id: string): StepConstructor {
  const steps = new flow().steps()
  const found = steps.find((step) => step.id === id)
  return found ?? conversation.fail(`The flow has no step '${id}'; its steps: ${list(steps.map((step) => step.id))}.`)
}
