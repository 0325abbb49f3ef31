/**
 * What only a `Request` in the process can be: bodies that fail, never end or lie, signals, and
 * replies that are not read.
 */
import type { SeededRandom } from '../../seeded-random.js'
import { type RequestPlan, runPlan, withHeader } from '../plan.js'
import { routeClasses } from './route-classes.js'

/** How many bytes were taken out of a body that is too long. */
export interface TakenBytes {
  bytes: number
}

/** A request for the handler, and what its client does. */
export interface HandlerCase {
  readonly plan: RequestPlan
  /** The body as a stream, instead of the plan's body. */
  readonly body?: (taken: TakenBytes) => ReadableStream<unknown>
  /** Milliseconds until the client goes away: 0 for one that has gone before the handler is called. */
  readonly abortAfterMs?: number
  /** Whether the body was read before the handler is called. */
  readonly isUsed?: boolean
  /** What is read of the reply. */
  readonly reads: 'all' | 'first' | 'nothing'
}

/** Makes the cases of one class. */
export type MakeHandlerCase = (random: SeededRandom) => HandlerCase

const encoder = new TextEncoder()

/** A case that consists only of its plan. */
export function handlerCaseOf(plan: RequestPlan, changes: Partial<HandlerCase> = {}): HandlerCase {
  return { plan, reads: 'all', ...changes }
}

function streamed(plan: RequestPlan): RequestPlan {
  return withHeader(plan, 'Accept', 'text/event-stream')
}

function somePlan(random: SeededRandom): RequestPlan {
  const plan = runPlan({ flowName: random.pick(['Talk', 'Chat', 'Report', 'Wait']) })
  return random.chance(0.5) ? streamed(plan) : plan
}

/** Pieces that a body may yield, though only bytes are allowed. */
const oddPieces: readonly unknown[] = ['text', null, 1, {}, new ArrayBuffer(3), new Uint16Array(3), Symbol('piece')]

function bodyOf(pieces: readonly unknown[], end: 'close' | 'error' | 'never'): () => ReadableStream<unknown> {
  return () =>
    new ReadableStream({
      start(controller) {
        for (const piece of pieces) controller.enqueue(piece)
        if (end === 'error') controller.error(new Error('The body broke off.'))
        else if (end === 'close') controller.close()
      },
    })
}

/** A body that is much longer than the limit. A reader that goes on reads 2 MiB. */
function endlessBody(size: number): NonNullable<HandlerCase['body']> {
  return (taken) =>
    new ReadableStream({
      async pull(controller) {
        await new Promise((resolve) => setImmediate(resolve))
        taken.bytes += size
        if (taken.bytes > 2 * 1024 * 1024) controller.close()
        else controller.enqueue(new Uint8Array(size))
      },
    })
}

function piecesOf(random: SeededRandom): Uint8Array[] {
  const bytes = encoder.encode('{"flowName":"Talk","message":"ü"}')
  const at = random.below(bytes.length)
  return [bytes.slice(0, at), new Uint8Array(), bytes.slice(at)]
}

/** A length that is smaller or larger than the body, for example because middleware inflated the body. */
function lyingLength(random: SeededRandom): HandlerCase {
  const length = random.pick(['0', '3', '33', '34', '131072', '131073', '-1', 'x', '9'.repeat(30)])
  const plan = withHeader(runPlan(), 'Content-Length', length)
  return handlerCaseOf(plan, {
    body: random.chance(0.5) ? bodyOf(piecesOf(random), 'close') : endlessBody(20_000),
    abortAfterMs: 500,
  })
}

/** The classes that only a handler in the process has. */
export const handlerClasses: Readonly<Record<string, MakeHandlerCase>> = {
  'bodies in pieces': (random) =>
    handlerCaseOf(runPlan({}, { expects: 'success' }), { body: bodyOf(piecesOf(random), 'close') }),
  'bodies that fail': (random) =>
    handlerCaseOf(runPlan({}, { expects: 'refusal' }), {
      body: bodyOf(piecesOf(random).slice(0, random.below(4)), 'error'),
    }),
  'bodies that stop': (random) =>
    handlerCaseOf(runPlan({}, { expects: 'refusal' }), {
      body: bodyOf(piecesOf(random).slice(0, random.below(3)), random.chance(0.15) ? 'never' : 'error'),
    }),
  'bodies of odd pieces': (random) =>
    handlerCaseOf(runPlan({}, { expects: 'refusal' }), { body: bodyOf([random.pick(oddPieces)], 'close') }),
  'endless bodies': (random) =>
    handlerCaseOf(runPlan({}, { expects: 'refusal' }), { body: endlessBody(random.pick([1000, 20_000, 200_000])) }),
  'lying lengths': lyingLength,
  'bodies that were read': () => handlerCaseOf(runPlan({}, { expects: 'refusal' }), { isUsed: true }),
  'clients that have gone': (random) => handlerCaseOf(somePlan(random), { abortAfterMs: 0 }),
  'clients that go': (random) => handlerCaseOf(somePlan(random), { abortAfterMs: 1 + random.below(8) }),
  'replies that are left': (random) =>
    handlerCaseOf(streamed(runPlan({ flowName: random.pick(['Chat', 'Wait', 'Talk']) })), {
      reads: random.pick(['first', 'first', 'nothing']),
      abortAfterMs: 20,
    }),
  'valid, at once': (random) => handlerCaseOf((routeClasses.valid as (random: SeededRandom) => RequestPlan)(random)),
}
