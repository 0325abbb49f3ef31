/** Random messages, events, times and restarts for the simulation. */
import fc from 'fast-check'
import { takers } from './flows.js'

const hour = 3_600_000

export type Action =
  | { readonly kind: 'say'; readonly script: string }
  | { readonly kind: 'event'; readonly name: string; readonly from: 'user' | 'server'; readonly script: string }
  | { readonly kind: 'time'; readonly ms: number }
  | { readonly kind: 'restart' }

const [shop, address, region, zone] = [
  ['Chat', 'Hours', 'Note'],
  ['Street', 'Town'],
  ['Land', 'City', 'Note'],
  ['Spot', 'Pin'],
]
const below = (prefix: string, names: readonly string[]): string[] => names.map((name) => `${prefix}/${name}`)
/** Known in every flow. */
const steps = [
  ...shop,
  ...below('Address', address),
  ...below('Address/Region', region),
  ...below('Address/Region/Zone', zone),
]
/** Known in some. */
const names = ['Street', 'Town', 'Land', 'City', 'Spot', 'Pin', 'Region', 'Zone', 'End']
const flows = ['Address', 'Address/Region', 'Address/Region/Zone']
const extra = fc.constantFrom('', '', '', '', '', '', '', ' +lead', ' +reply', ' +lead +reply', ' +md')
const callee = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...steps) },
  { weight: 5, arbitrary: fc.constantFrom(...flows) },
  { weight: 1, arbitrary: fc.constantFrom(...names) },
)
const place = fc.oneof(
  { weight: 5, arbitrary: fc.constantFrom(...steps) },
  { weight: 1, arbitrary: fc.constantFrom(...names) },
)
const command = fc.oneof(
  { weight: 20, arbitrary: fc.tuple(callee, extra).map(([to, more]) => `call ${to}${more}`) },
  { weight: 8, arbitrary: fc.tuple(place, extra).map(([to, more]) => `go ${to}${more}`) },
  { weight: 7, arbitrary: extra.map((more) => `back 3${more}`) },
  { weight: 2, arbitrary: fc.constantFrom('finish', 'finish done') },
  { weight: 16, arbitrary: fc.constantFrom('set', 'set', 'set', 'say hi', 'say ho', 'silent') },
  { weight: 2, arbitrary: fc.constantFrom('timer 5', 'timer off', 'fail') },
)
const hook = fc.constantFrom('', '', '', '', '', '', '!', '!', '@Shop ', '@Address ', '@Region ', '@Zone ')
const script = fc
  .array(
    fc.tuple(hook, command).map((parts) => parts.join('')),
    { minLength: 1, maxLength: 3 },
  )
  .map((commands) => commands.join('; '))
const event = fc.record({
  kind: fc.constant('event' as const),
  name: fc.constantFrom('Shop', ...takers, ...takers, 'tick', 'quiet', 'unheard-of'),
  from: fc.constantFrom('user' as const, 'server' as const, 'server' as const),
  script,
})
// Odd, so that no two timers are due at one moment.
const time = fc.record({
  kind: fc.constant('time' as const),
  ms: fc.constantFrom(17, hour + 29, 26 * hour + 37, 60 * hour + 53),
})
export const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 12, arbitrary: fc.record({ kind: fc.constant('say' as const), script }) },
  { weight: 6, arbitrary: event },
  { weight: 4, arbitrary: time },
  { weight: 2, arbitrary: fc.constant({ kind: 'restart' as const }) },
)
