/**
 * The client of a conversation: it can lose a reply and send the message again, or send several messages at the same
 * time. It returns the outcome of each message for the record of the conversation.
 */
import type { FlowRunInput, FlowStream, FlowStreamEvent } from '../../src/index.js'
import { checkOptionNames } from '../../src/util/options.js'
import { isIdempotencyKey } from '../../src/util/patterns.js'
import { shownValue } from '../../src/util/shown-value.js'
import { count, ExpectationError, list, show } from '../expectations/expectation-error.js'
import { isObject } from '../expectations/value-kinds.js'
import { StreamCheck } from './stream-check.js'
import { type ConversationTurn, numberIn, type TurnEnd } from './turns/conversation-turn.js'
import type { ConversationRequest, ConversationWorld, RequestEnd } from './world/conversation-world.js'

/** A message and its outcome. */
export type SentMessage = Omit<ConversationTurn, 'afterRestart'>

type LastEvent = Extract<FlowStreamEvent, { type: 'result' | 'error' }>

/** How a client reacts to a lost reply. @inline */
export type RetryingClient = 'same-key' | 'new-key' | 'no-key' | 'resume'

/** A network fault of a message, and the reaction of its client. Made by {@link retryAs}. */
export interface ClientFault {
  readonly client: RetryingClient
  readonly cutAfter?: number
}

/**
 * For `say`: the reply is lost, and the client sends the message again. The turn ran, but the client does not know
 * that.
 *
 * - `'same-key'`: with the same key.
 * - `'new-key'`: with another key, like a client that makes a key for each request.
 * - `'no-key'`: without a key, like a client that does not use keys.
 * - `'resume'`: with the same key, as a stream, from the last event that it read.
 *
 * @param options - `cutAfter`: the client streams, and the connection is cut after this many events. Then a turn with a
 * key goes on without its client, and one without a key is cancelled. Default: the turn ends, and its reply is lost.
 * @example
 * ```ts
 * await conversation.say('Pay', { key: 'pay', fault: retryAs('same-key') })
 * conversation.expectReply('Paid.').expectReplayed().expectRanOnce('payment')
 * ```
 */
export function retryAs(client: RetryingClient, options: { readonly cutAfter?: number } = {}): ClientFault {
  if (!isObject(options) || !Object.hasOwn(notesOfRetries, client)) {
    throw new ExpectationError(
      `retryAs() takes one of ${list(Object.keys(notesOfRetries))}, and options; got ${show(client)}.`,
    )
  }
  checkOptionNames('retryAs', options, { cutAfter: true })
  const { cutAfter } = options
  if (cutAfter !== undefined && !(Number.isInteger(cutAfter) && cutAfter > 0)) {
    throw new ExpectationError(`cutAfter of retryAs() must be a whole number above 0; got ${shownValue(cutAfter)}.`)
  }
  return { client, ...options }
}

const notesOfRetries: Readonly<Record<RetryingClient, string>> = {
  'same-key': 'sent again with the same key',
  'new-key': 'sent again with a new key',
  'no-key': 'sent again without a key',
  resume: 'read on with the same key',
}

/** Fails for a fault that was not made by {@link retryAs}. */
export function requireFault(fault: unknown): void {
  if (isObject(fault) && 'client' in fault && Object.hasOwn(notesOfRetries, fault.client as string)) return
  throw new ExpectationError(`say() takes as fault what retryAs() makes; got ${show(fault)}.`)
}

/** The idempotency key that a short name stands for: the name itself, if it has the shape of a key. */
export function keyOf(name: string): string {
  return isIdempotencyKey(name) ? name : `conversation-key-${encodeURIComponent(name)}`
}

/** Sends one message, or an event. */
export async function send(world: ConversationWorld, input: ConversationRequest): Promise<readonly SentMessage[]> {
  await world.begin()
  return [await finished(world, input, await world.request([input]))]
}

/**
 * Wakes a session, and plays its due timers.
 *
 * @param due - The names of their events, the soonest first.
 */
export async function wake(
  world: ConversationWorld,
  sessionId: string,
  due: readonly string[],
): Promise<readonly SentMessage[]> {
  const { engine } = await world.begin()
  const woken = await world.driver.drive(world.death.unlessDead(engine.wake({ sessionId })))
  const diedAfter = await world.replaceDeadProcess()
  const results = (woken?.results ?? []).map(({ response, ...more }) => ({ reply: { ...response, ...more } }))
  const ends: TurnEnd[] = diedAfter === undefined ? results : [{ session: '', stoppedAfter: '', diedAfter }]
  return timerTurns(world, sessionId, ends, due)
}

/** The turns of a wake, with the names of their events. */
async function timerTurns(
  world: ConversationWorld,
  sessionId: string,
  ends: readonly TurnEnd[],
  due: readonly string[],
): Promise<readonly SentMessage[]> {
  const document = await world.engines.load(sessionId).catch(() => undefined)
  const committed = ends.filter(({ reply }) => reply?.success === true).length
  const stored = document?.history.slice(document.history.length - committed) ?? []
  let left = due
  const sent: SentMessage[] = []
  for (const end of ends) {
    const entry = end.reply?.success === true ? stored.shift() : undefined
    const name = entry?.event?.name ?? left[0] ?? ''
    const at = left.indexOf(name)
    left = left.filter((_, index) => index !== at)
    const turn = await world.turnOf('', end, sessionId, ends.length === 1 ? undefined : (entry?.id ?? ''))
    // The stored session is the one after all of them.
    const isLast = entry === undefined || entry.turn === document?.turns
    sent.push({ ...turn, event: { name }, ...(isLast ? {} : { document: undefined }) })
  }
  return sent
}

/** Sends one message whose reply is lost, and then reacts like the client of the fault. */
export async function sendTwice(
  world: ConversationWorld,
  input: FlowRunInput,
  { client, cutAfter }: ClientFault,
): Promise<readonly SentMessage[]> {
  const { idempotencyKey: key } = input
  if (key === undefined && (client === 'same-key' || client === 'resume')) {
    throw new ExpectationError(`retryAs('${client}') needs a key: say(text, { key, fault }).`)
  }
  await world.begin()
  const first = cutAfter === undefined ? await lose(world, input) : await cut(world, input, cutAfter)
  const { sessionId, lastEventId, text } = first
  const { idempotencyKey: _key, ...keyless } = { ...input, ...(sessionId === undefined ? {} : { sessionId }) }
  const again: FlowRunInput =
    client === 'no-key'
      ? keyless
      : { ...keyless, idempotencyKey: client === 'new-key' ? keyOf(`${key ?? ''} again`) : (key as string) }
  if (client !== 'resume') world.driver.answerFreely()
  const ends = client === 'resume' ? [await readOn(world, again, lastEventId, text)] : await world.request([again])
  const second = await finished(world, again, ends, true)
  return [await first.settled(), { ...second, note: notesOfRetries[client] }]
}

/** A message of several that were sent at the same time, and the number that the session gave to its turn. */
export interface SentAtOnce {
  readonly sent: SentMessage
  readonly number: number | undefined
}

/** Sends messages at the same time. Returns the outcome of each. */
export async function sendAtOnce(
  world: ConversationWorld,
  inputs: readonly FlowRunInput[],
): Promise<readonly SentAtOnce[]> {
  await world.begin()
  await world.request(inputs)
  await world.replaceDeadProcess()
  return endedAtOnce(world, inputs)
}

/** The outcomes of the messages that have ended. */
export function endedAtOnce(world: ConversationWorld, inputs: readonly FlowRunInput[]): Promise<readonly SentAtOnce[]> {
  return Promise.all(
    world.requests.flatMap(({ turnId, end }, index) =>
      end === undefined ? [] : [oneOfSeveral(world, inputs[index] as FlowRunInput, { turnId, end })],
    ),
  )
}

async function oneOfSeveral(
  world: ConversationWorld,
  input: FlowRunInput,
  { turnId = '', end }: RequestEnd,
): Promise<SentAtOnce> {
  const sent = asSent(input, await world.turnOf(input.userMessage, end, input.sessionId ?? '', turnId))
  const { reply, document } = sent
  const number = document && numberIn(document, turnId)
  if (!reply.success && reply.replayed !== true && reply.sessionState !== 'aborted') {
    return { sent: { ...sent, isNoTurn: true as const }, number }
  }
  // The stored session is the one after all of them, so it belongs to the last turn.
  const isEarlier = number !== undefined && number !== document?.turns
  return { sent: isEarlier ? { ...sent, document: undefined } : sent, number }
}

/** The first attempt at a message whose client has no reply. */
interface Attempt {
  /** The session, as far as the client knows it. */
  readonly sessionId: string | undefined
  readonly lastEventId: string
  /** The text that the client has received. */
  readonly text: string
  /** Resolves to its outcome. */
  settled(): Promise<SentMessage>
}

async function lose(world: ConversationWorld, input: FlowRunInput): Promise<Attempt> {
  const sent = await finished(world, input, await world.request([input]))
  const lost = sent.diedAfter === undefined ? { ...sent, note: 'the reply was lost' } : sent
  return { sessionId: input.sessionId, lastEventId: '', text: '', settled: async () => lost }
}

/** Reads some events of the turn, and leaves. */
async function cut(world: ConversationWorld, input: FlowRunInput, cutAfter: number): Promise<Attempt> {
  const { engine } = await world.engines.open()
  const works: Promise<unknown>[] = []
  const waitUntil = (work: Promise<unknown>): void => {
    works.push(work)
    input.waitUntil?.(work)
  }
  const check = new StreamCheck()
  const stream = engine.stream(world.death.withDeathSignal({ ...input, waitUntil }))
  world.driver.answerWhileRead()
  const [turnId = '', begun] = world.begun(() => stream.next())
  for (let reading = begun; check.events.length < cutAfter; reading = stream.next()) {
    const last = await readNext(world, reading, check)
    if (last === undefined) continue
    if (world.death.diedAfter !== undefined) break
    throw new ExpectationError(
      `The connection was to be cut after ${count(cutAfter, 'event')}, but the turn had ended by then. Its events: ${check.pieces}.`,
    )
  }
  const { lastEventId } = stream
  const { session, text } = check
  await world.driver.drive(stream.return())
  const diedAfter = await world.replaceDeadProcess()
  const settled = async (): Promise<SentMessage> => {
    await world.driver.drive(Promise.all(works))
    const end: TurnEnd = { session, stoppedAfter: text, ...(diedAfter === undefined ? {} : { diedAfter }) }
    const sent = asSent(input, await world.turnOf(input.userMessage, end, session, turnId))
    if (diedAfter !== undefined) return sent
    const note = `the connection was cut after ${count(cutAfter, 'event')}`
    return { ...sent, note, ...(sent.stoppedAfter === undefined ? {} : { isNoTurn: true }) }
  }
  return { sessionId: session === '' ? input.sessionId : session, lastEventId, text, settled }
}

/** Reads the turn to its end, like a client that reconnects. */
async function readOn(
  world: ConversationWorld,
  input: FlowRunInput,
  lastEventId: string,
  text: string,
): Promise<RequestEnd> {
  const { engine } = await world.engines.open()
  const check = new StreamCheck()
  check.text = text
  const stream = engine.stream(world.death.withDeathSignal(input), { lastEventId })
  const [turnId, begun] = world.begun(() => stream.next())
  for (let reading = begun; ; reading = stream.next()) {
    const last = await readNext(world, reading, check)
    if (last === undefined) continue
    const { type: _type, ...result } = last
    return { turnId, end: world.death.endOf(result) }
  }
}

/** Reads one event. Returns it if it is the last one. */
async function readNext(
  world: ConversationWorld,
  reading: ReturnType<FlowStream['next']>,
  check: StreamCheck,
): Promise<LastEvent | undefined> {
  const { value } = await world.driver.read(reading)
  const problem = value === undefined ? 'The stream ended without result and error.' : check.see(value)
  if (problem !== undefined) throw new ExpectationError(problem)
  return value?.type === 'result' || value?.type === 'error' ? value : undefined
}

/**
 * The conversation's record of an ended request.
 *
 * @param isRepeat - Whether an earlier one ran in the same session.
 */
async function finished(
  world: ConversationWorld,
  input: ConversationRequest,
  [request]: readonly RequestEnd[],
  isRepeat = false,
): Promise<SentMessage> {
  await world.replaceDeadProcess()
  const { end, turnId = '' } = request as RequestEnd
  const { sessionId = '' } = input
  return asSent(input, await world.turnOf(saidIn(input), end, sessionId, isRepeat ? turnId : undefined))
}

function asSent(input: ConversationRequest, sent: SentMessage): SentMessage {
  const { idempotencyKey: key } = input
  return { ...sent, ...(key === undefined ? {} : { key }), ...moreIn(input) }
}

/** The message of a request; empty if it is an event. */
export function saidIn(input: ConversationRequest): string {
  return 'userMessage' in input ? input.userMessage : ''
}

/** What a request has beside its message: its event, or the button that was pressed. */
export function moreIn(input: ConversationRequest): Pick<ConversationTurn, 'event' | 'choice'> {
  if (!('userMessage' in input)) {
    const { event: name, payload, by } = input
    return { event: { name, payload, by } }
  }
  const { event, choice } = input
  return { ...(event === undefined ? {} : { event }), ...(choice === undefined ? {} : { choice }) }
}
