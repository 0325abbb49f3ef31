/** Flow code sets a timer: see `Turn.setTimer`. */
import { flowCodeError } from '../../../errors/engine-errors.js'
import { delayRule, isDelay } from '../../../flow/event.js'
import type { TurnDraft } from '../draft/turn-draft.js'
import { type DeclaredEvents, declaredEvents } from './declared-events.js'

/** @throws `FlowCodeError` for an event that is not one of the step's or the flow's, and for a wrong delay */
export function setTimer(draft: TurnDraft, name: string, ms: number | undefined): void {
  const declared = declaredEvents(draft)
  const owner = draft.calls?.handler ?? draft
  const own = declared.find(({ call }) => call === owner) ?? (declared.at(-1) as DeclaredEvents)
  const ofFlows = declared.flatMap((one) => (one === own || one.scope?.outer === undefined ? one.ofFlow : []))
  const found = [...own.ofStep, ...ofFlows].find((one) => one.name === name)
  if (found === undefined || found.input !== undefined) {
    const { step } = own.call
    throw flowCodeError(`turn.setTimer needs an event of step '${step}' that has no input; got '${String(name)}'.`)
  }
  if (ms !== undefined && !isDelay(ms)) throw flowCodeError(`turn.setTimer needs ${delayRule}, or undefined.`)
  owner.timers ??= new Map()
  owner.timers.set(name, ms)
}
