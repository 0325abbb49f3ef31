/** Methods, paths and queries, and the requests that are valid: those must succeed. */
import type { SeededRandom } from '../../seeded-random.js'
import { canary, type PlanClasses, type RequestPlan, runPlan, withHeader } from '../plan.js'

const routes = ['run', 'flows', 'end', 'cancel'] as const
const paths = [
  '/',
  '/ai',
  '/ai/',
  '/ai/run/',
  '/ai//run',
  '//ai/run',
  '/AI/RUN',
  '/ai/Run',
  '/ai/run/../run',
  '/ai/./run',
  '/ai/%72un',
  '/ai%2frun',
  '/ai/run%00',
  '/ai/run%0d%0aX-Canary:%201',
  '/ai/run;a=b',
  '/ai/__proto__',
  '/ai/constructor',
  '/ai/toString',
  '/ai/run/extra',
  '/ai/\u00ff',
  '/ai/%ff%fe',
  '/ai/%',
  '/ai/%zz',
  '/ai/..%2f..%2fetc/passwd',
  '/run',
]

function plain(random: SeededRandom): RequestPlan {
  const route = random.pick(['run', 'run', 'run', 'flows', 'end', 'cancel'] as const)
  const changes = {
    method: route === 'flows' ? 'GET' : 'POST',
    target: `/ai/${route}`,
    route,
    expects: 'success',
  } as const
  if (route !== 'run') return { headers: [], ...changes }
  const flowName = random.pick(['Talk', 'Chat', 'Report', 'Context'])
  return runPlan({ flowName, message: String(random.below(4)), config: { plan: 'pro' } }, changes)
}

function method(random: SeededRandom): RequestPlan {
  const route = random.pick(routes)
  const name = random.pick(['GET', 'HEAD', 'PUT', 'DELETE', 'PATCH', 'OPTIONS', 'POST', 'PROPFIND'])
  // What a flow is named cannot be sent with these two.
  const { body, ...bodiless } = runPlan({}, { method: name, target: `/ai/${route}`, route })
  const plan = name === 'GET' || name === 'HEAD' || body === undefined ? bodiless : { ...bodiless, body }
  return random.chance(0.5) ? withHeader(plan, 'Origin', 'https://shop.example') : plan
}

/** The classes of routes. */
export const routeClasses: PlanClasses = {
  valid: plain,
  streams: (random) => {
    const plan = runPlan({ flowName: random.pick(['Chat', 'Talk', 'Report', 'Wait']) }, { expects: 'success' })
    return withHeader(plan, 'Accept', 'text/event-stream')
  },
  methods: method,
  paths: (random) => {
    const { route: _, ...plan } = runPlan({}, { target: random.pick(paths) })
    return plan
  },
  'long paths': (random) => {
    const { route: _, ...plan } = runPlan({}, { target: `/ai/${'a'.repeat(random.pick([100, 2000, 12_000]))}` })
    return plan
  },
  queries: (random) =>
    runPlan(
      {},
      {
        target: `/ai/run?${random.pick(['envelope=1', 'envelope=1&envelope=0', 'envelope', '?', '#', '%', 'a=%ff', canary, '__proto__=1', `a=${'b'.repeat(3000)}`])}`,
      },
    ),
  preflights: (random) => ({
    method: 'OPTIONS',
    target: `/ai/${random.pick(routes)}`,
    headers: [
      ['Origin', random.pick(['https://shop.example', 'https://evil.example', `https://${canary}.example`])],
      ['Access-Control-Request-Method', random.pick(['POST', 'GET', canary])],
      ['Access-Control-Request-Headers', random.pick(['content-type', canary, 'chat_session_id'])],
    ],
  }),
}
