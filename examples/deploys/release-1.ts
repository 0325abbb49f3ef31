/** The first release: the flow `Shipping`, of four steps. */
import { Flow, finish, go, LogicStep, reply, type Turn } from 'turnkeeper'

class AskItem extends LogicStep<{ item?: string }> {
  static override readonly id = 'AskItem'
  override run(turn: Turn) {
    if (turn.entered) return reply('Sending a parcel costs 5. What shall we send?')
    this.state.item = turn.message
    return go(AskAddress)
  }
}

class AskAddress extends LogicStep<{ address?: string }> {
  static override readonly id = 'AskAddress'
  override run(turn: Turn) {
    if (turn.entered) return reply('Where to? Street and city, please.')
    this.state.address = turn.message
    return go(AskGift)
  }
}

class AskGift extends LogicStep {
  static override readonly id = 'AskGift'
  override run(turn: Turn) {
    return turn.entered ? reply('Is it a gift? (yes/no)') : go(Confirm)
  }
}

class Confirm extends LogicStep {
  static override readonly id = 'Confirm'
  override run(turn: Turn) {
    if (!turn.entered) return finish(turn.message === 'yes' ? 'It is on its way, for 5.' : 'We keep it.')
    return reply(`${turn.stateOf(AskItem).item} to ${turn.stateOf(AskAddress).address}, for 5. Right? (yes/no)`)
  }
}

export class Shipping extends Flow {
  static override readonly id = 'Shipping'
  override steps() {
    return [AskItem, AskAddress, AskGift, Confirm]
  }
}
