/**
 * The second release. The flow has another name, the question about gifts is gone, the address is two questions, and a
 * parcel has a price, which is 7 from now on. What to look at:
 *
 * - Aliases follow what was renamed: the flow, and `AskAddress`, which became `AskStreet`. Pages that were open before
 *   the release go on sending the name `Shipping`.
 * - `migrate` does the rest: it moves people out of the removed step, splits the address, and keeps the price that
 *   people agreed to.
 * - An answer can belong to a question that the first release asked. `AskStreet` takes street and city at once.
 *   `Confirm` is entered by people who were asked about gifts, because `migrate` moves them there: so it asks first,
 *   and does not take their answer for a yes.
 * - `stateSchema` stops a conversation that `migrate` forgot, before the step calculates with a missing price.
 */
import { Flow, finish, go, LogicStep, reply, type SessionDocument, type Turn } from 'turnkeeper'
import { z } from 'zod'

class AskItem extends LogicStep<{ item?: string }> {
  static override readonly id = 'AskItem'
  override run(turn: Turn) {
    if (turn.entered) return reply('Sending a parcel costs 7. What shall we send?')
    this.state.item = turn.message
    return go(AskStreet)
  }
}

class AskStreet extends LogicStep<{ street?: string }> {
  static override readonly id = 'AskStreet'
  static override readonly aliases = ['AskAddress']
  override run(turn: Turn) {
    if (turn.entered) return reply('Where to? The street, please.')
    const { street, city } = divide(turn.message)
    this.state.street = street
    if (city === '') return go(AskCity)
    turn.stateOf(AskCity).city = city
    return go(Confirm)
  }
}

class AskCity extends LogicStep<{ city?: string }> {
  static override readonly id = 'AskCity'
  override run(turn: Turn) {
    if (turn.entered) return reply('And the city?')
    this.state.city = turn.message
    return go(Confirm)
  }
}

const Agreement = z.object({ price: z.number() })

class Confirm extends LogicStep<z.infer<typeof Agreement>> {
  static override readonly id = 'Confirm'
  static override readonly stateSchema = Agreement
  override initialState() {
    return { price: 7 }
  }
  override run(turn: Turn) {
    const { price } = this.state
    if (!turn.entered) return finish(turn.message === 'yes' ? `It is on its way, for ${price}.` : 'We keep it.')
    const { item } = turn.stateOf(AskItem)
    return reply(
      `${item} to ${turn.stateOf(AskStreet).street}, ${turn.stateOf(AskCity).city}, for ${price}. Right? (yes/no)`,
    )
  }
}

export class Delivery extends Flow {
  static override readonly id = 'Delivery'
  static override readonly aliases = ['Shipping']
  static override readonly version = 2
  override steps() {
    return [AskItem, AskStreet, AskCity, Confirm]
  }

  static override migrate(document: SessionDocument, _from: number): SessionDocument {
    const { flow } = document
    const { AskAddress, AskGift: _removed, ...others } = flow.steps
    const steps = { ...others, Confirm: { state: { price: 5 } } }
    const address = AskAddress?.state.address
    if (typeof address === 'string') {
      const { street, city } = divide(address)
      Object.assign(steps, { AskStreet: { state: { street } }, AskCity: { state: { city } } })
    }
    const currentStep = flow.currentStep === 'AskGift' ? 'Confirm' : flow.currentStep
    return { ...document, flow: { ...flow, currentStep, steps } }
  }
}

/** `5 Mill Lane, Leeds` as street and city. */
function divide(address: string): { street: string; city: string } {
  const [street = '', ...rest] = address.split(',')
  return { street: street.trim(), city: rest.join(',').trim() }
}
