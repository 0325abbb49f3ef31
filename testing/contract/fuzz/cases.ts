/**
 * Which case a seed and a number mean: even numbers go to the server by sockets, odd ones to the
 * handlers in this process.
 */
import { SeededRandom } from '../seeded-random.js'
import { connectionClasses } from './classes/connection-classes.js'
import { type HandlerCase, handlerCaseOf, handlerClasses } from './classes/handler-classes.js'
import { headerClasses } from './classes/header-classes.js'
import { jsonClasses } from './classes/json-classes.js'
import { lengthClasses } from './classes/length-classes.js'
import { lineClasses } from './classes/line-classes.js'
import { routeClasses } from './classes/route-classes.js'
import type { AppName } from './served-app.js'
import { type WireCase, wireOf } from './wire-case.js'

/** One case. */
export type FuzzCase = SentCase & {
  readonly number: number
  /** The name of its class, with the way it is sent. */
  readonly name: string
  readonly app: AppName
}

type SentCase =
  | { readonly wire: WireCase; readonly handler?: undefined }
  | { readonly wire?: undefined; readonly handler: HandlerCase }
type MakeCase = (random: SeededRandom) => SentCase

const plans = Object.entries({ ...routeClasses, ...headerClasses, ...jsonClasses })
const wires = Object.entries({ ...lineClasses, ...lengthClasses, ...connectionClasses })

const socketClasses: readonly (readonly [string, MakeCase])[] = [
  ...plans.map(([name, make]) => [name, (random: SeededRandom) => ({ wire: wireOf(make(random)) })] as const),
  ...wires.map(([name, make]) => [name, (random: SeededRandom) => ({ wire: make(random) })] as const),
]
const inProcessClasses: readonly (readonly [string, MakeCase])[] = [
  ...plans.map(([name, make]) => [name, (random: SeededRandom) => ({ handler: handlerCaseOf(make(random)) })] as const),
  ...Object.entries(handlerClasses).map(
    ([name, make]) => [name, (random: SeededRandom) => ({ handler: make(random) })] as const,
  ),
]

/** The names of all classes, as the figures have them. */
export const classNames: readonly string[] = [
  ...socketClasses.map(([name]) => `socket: ${name}`),
  ...inProcessClasses.map(([name]) => `handler: ${name}`),
]

/** The case of a number. */
export function caseOf(seed: number, number: number): FuzzCase {
  const random = new SeededRandom(Math.imul(seed, 1_000_003) + number)
  const isSocket = number % 2 === 0
  const [name, make] = random.pick(isSocket ? socketClasses : inProcessClasses)
  const app = random.pick(['strict', 'plain'] as const)
  return { number, name: `${isSocket ? 'socket' : 'handler'}: ${name}`, app, ...make(random) }
}
