/** Runs a scenario as a {@link Conversation}; whatever fails has the line of the file that it belongs to. */
import type { FlowErrorCode, FlowRunInput } from '../../src/index.js'
import type { Conversation } from '../conversation/conversation.js'
import type { ConversationOptions } from '../conversation/conversation-options.js'
import type { PartOf } from '../conversation/expect/session.js'
import { ExpectationError, list, show } from '../expectations/expectation-error.js'
import { type ListedStep, listedSteps } from '../flow-steps/flow-steps.js'
import { attachedFile } from './attached-file.js'
import { partProblem } from './part-lines.js'
import type { ScenarioDocument, ScenarioEvent, ScenarioText, ScenarioTurn } from './read-scenarios.js'
import { failureAt, failureOfAll } from './scenario-failure.js'
import type { ExpectationLine, Place } from './scenario-lines.js'
import { ScenarioModel } from './scenario-model.js'
import { conversationOf, givenIn, type ScenarioSetup, setupFrom } from './scenario-setup.js'
import { misspeltNameText } from './state-names.js'

/**
 * Runs a scenario.
 *
 * @param origin - The path of its file, the line there that names the set-up, and all scenarios of the file.
 * @param source - What the set-up module exports as `default`.
 * @throws `ExpectationError` (rejects) with the line that failed.
 */
export async function runScenario(
  scenario: ScenarioText,
  { file, setupPlace, scenarios }: Pick<ScenarioDocument, 'setupPlace' | 'scenarios'> & { readonly file: string },
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
    const running = { conversation, model, setup, states: statesIn(scenarios), file, at }
    for (const event of scenario.events) await runEvent(event, running)
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

type Attachments = NonNullable<FlowRunInput['attachments']>

/** What the lines of a running scenario need. */
interface Running {
  readonly conversation: Conversation
  readonly model: ScenarioModel
  readonly setup: ScenarioSetup
  /** What the scenarios of the file expect of states, by the ID of the step. */
  readonly states: ReadonlyMap<string, readonly object[]>
  /** The path of the scenario file. */
  readonly file: string
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

async function runTurn(turn: ScenarioTurn, running: Running): Promise<void> {
  const { conversation, model, file, at } = running
  model.begin(turn.model)
  const attachments: Attachments[number][] = []
  for (const line of turn.attached) attachments.push(await at(line, () => attachedFile(file, line.name)))
  const success = await send(turn, conversation, attachments).catch((error: unknown) =>
    at(model.wrong ?? turn, () => {
      throw error
    }),
  )
  const [first] = turn.expectations
  if (success === undefined && first !== undefined) {
    await at(first, () =>
      conversation.fail('No timer came due in this time: nothing happened that this line could check.'),
    )
  }
  const failure = turn.expectations.find(({ kind }) => kind === 'failure')
  const code = failure?.kind === 'failure' ? failure.code : undefined
  if (success === false && code === undefined) await at(turn, () => conversation.expectReply(/(?:)/))
  // The code comes first: it says why the reply is what it is.
  const others = turn.expectations.filter((line) => line !== failure)
  for (const line of failure === undefined ? others : [failure, ...others])
    await at(line, () => check(line, running, code))
  const { left } = model
  if (left !== undefined) {
    const problem =
      'The model was not asked for this answer. Take the line out, or find out why the flow asks no model here.'
    await at(left, () => conversation.fail(problem))
  }
}

/** Sends what the turn says. Returns whether it succeeded; `undefined` if no turn ran. */
async function send(
  { sent }: ScenarioTurn,
  conversation: Conversation,
  attachments: Attachments,
): Promise<boolean | undefined> {
  if (sent.kind === 'user') {
    return (await conversation.say(sent.text, attachments.length === 0 ? {} : { attachments })).success
  }
  if (sent.kind === 'choose') return (await conversation.choose(sent.label)).success
  if (sent.kind === 'after') return (await conversation.advance(sent.ms)).at(-1)?.success
  const { name, payload, by } = sent
  return (await conversation.sendEvent(name, payload, by === undefined ? {} : { by })).success
}

/** Checks one line of what is expected. */
async function check(
  line: ExpectationLine,
  { conversation, setup, states }: Running,
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
    case 'buttons':
    case 'part':
    case 'row': {
      const problem = partProblem(conversation.reply.parts ?? [], line)
      if (problem !== undefined) conversation.fail(problem)
      return
    }
    case 'step':
      conversation.expectStep(line.step)
      return
    case 'state':
      checkState(conversation, stepOf(conversation, setup, line.step), line.part, states.get(line.step) ?? [])
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

/** What scenarios expect of states, by the ID of the step. */
function statesIn(scenarios: readonly ScenarioText[]): Map<string, object[]> {
  const states = new Map<string, object[]>()
  const turns = scenarios.flatMap(({ events }) => events).filter((event) => event.kind === 'turn')
  for (const line of turns.flatMap(({ expectations }) => expectations)) {
    if (line.kind === 'state') states.set(line.step, [...(states.get(line.step) ?? []), line.part])
  }
  return states
}

/** @param expected - What scenarios expect of this state. */
function checkState(
  conversation: Conversation,
  { id, stepClass }: ListedStep,
  part: object,
  expected: readonly object[],
): void {
  conversation.expectState(id, part as PartOf<Record<string, unknown>>)
  const problem = misspeltNameText(part, [new stepClass().initialState(), ...conversation.statesOf(id), ...expected])
  if (problem !== undefined) conversation.fail(problem)
}

/** In words for people who do not program: an expected RegExp would show as a pattern. */
function checkMention(conversation: Conversation, text: string): void {
  const { message } = conversation.reply
  if (message.toLowerCase().includes(text.toLowerCase())) return
  conversation.fail(`Expected a reply that mentions ${show(text, 1000)}\n  but it was ${show(message, 1000)}`)
}

/** The step of a flow by its ID. */
function stepOf(conversation: Conversation, { flow }: ScenarioSetup, id: string): ListedStep {
  const steps = listedSteps('The scenario', flow)
  const found = steps.find((step) => step.id === id)
  return found ?? conversation.fail(`The flow has no step '${id}'; its steps: ${list(steps.map((step) => step.id))}.`)
}
