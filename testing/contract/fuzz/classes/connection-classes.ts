/**
 * Connections: bodies that come slowly or not at all, clients that go away, and requests that do
 * not wait for each other.
 */
import type { SeededRandom } from '../../seeded-random.js'
import { type RequestPlan, runPlan, withHeader } from '../plan.js'
import { dueFor, encodePlan, inPieces, type MakeWire, type WireCase, wireOf } from '../wire-case.js'
import { routeClasses } from './route-classes.js'

const talks = ['Talk', 'Chat', 'Report', 'Wait']

function somePlan(random: SeededRandom): RequestPlan {
  const plan = runPlan({ flowName: random.pick(talks) }, { expects: 'success' })
  const streamed = random.chance(0.4) ? withHeader(plan, 'Accept', 'text/event-stream') : plan
  return random.chance(0.3)
    ? withHeader(streamed, 'Idempotency-Key', `fuzz-key-${String(random.below(1_000_000)).padStart(12, '0')}`)
    : streamed
}

function cutRequest(random: SeededRandom): WireCase {
  const plan = somePlan(random)
  const text = encodePlan(plan)
  const bodyAt = text.indexOf('\r\n\r\n') + 4
  const sent = text.slice(
    0,
    random.chance(0.5) ? bodyAt + random.below(text.length - bodyAt) : random.below(text.length),
  )
  return wireOf(plan, {
    pieces: inPieces(random, sent || 'P', 3),
    ending: random.pick(['cut', 'maybe']),
    pauseMs: random.below(3),
  })
}

/** Valid requests in one write, and so never in the order in which their turns end. */
function pipeline(random: SeededRandom): WireCase {
  const plans = Array.from({ length: 2 + random.below(5) }, () => {
    const { opener: _, ...plan } = (
      routeClasses[random.pick(['valid', 'streams', 'methods'])] as (random: SeededRandom) => RequestPlan
    )(random)
    return plan
  })
  return {
    pieces: [plans.map((plan) => encodePlan(plan)).join('')],
    pauseMs: 0,
    ending: 'answered',
    due: plans.map(dueFor),
  }
}

/** The classes of connections. */
export const connectionClasses: Readonly<Record<string, MakeWire>> = {
  'slow requests': (random) => {
    const plan = somePlan(random)
    // On a machine that does something else, a body can come too late to succeed.
    const due = [{ ...dueFor(plan), expects: undefined }]
    return wireOf(plan, { pieces: inPieces(random, encodePlan(plan), 6), pauseMs: 1 + random.below(12), due })
  },
  'requests cut short': cutRequest,
  // Each takes as long as a body may: most of them go away before.
  'bodies that stop': (random) => {
    const plan = runPlan({}, { expects: 'refusal' })
    const text = encodePlan(plan)
    return wireOf(plan, {
      pieces: inPieces(random, text.slice(0, -1 - random.below(30)), 3),
      pauseMs: 1,
      ending: random.chance(0.15) ? 'answered' : 'cut',
    })
  },
  'cut while a turn runs': (random) => {
    const plan = somePlan(random)
    return wireOf(plan, { ending: 'cut', pauseMs: random.below(8) })
  },
  'replies cut short': (random) => wireOf(somePlan(random), { ending: 'cut reply', pauseMs: random.below(8) }),
  pipelines: pipeline,
  'cut pipelines': (random) => ({ ...pipeline(random), ending: 'cut', pauseMs: random.below(8) }),
}
