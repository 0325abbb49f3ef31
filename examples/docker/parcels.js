/** The flow: tells where a parcel is, and remembers the parcels that the user asked about. */
import { Flow, LogicStep, reply } from 'turnkeeper'

/** @typedef {{ asked?: readonly string[] }} Asked */

/** @extends {LogicStep<Asked>} */
class AskParcel extends LogicStep {
  static id = 'AskParcel'

  /** @param {import('turnkeeper').Turn} turn */
  async run({ entered, message, signal }) {
    if (entered) return reply('Which parcel are you waiting for?')
    const { asked = [] } = this.state
    if (message === 'all') return reply(asked.join(', '))
    const place = await placeOf(message, signal)
    this.state.asked = [...asked, message]
    return reply(`Parcel ${asked.length + 1}, ${message}, is ${place}.`)
  }
}

export class Parcels extends Flow {
  static id = 'Parcels'
  steps() {
    return [AskParcel]
  }
}

/**
 * Asks the carrier, if there is one.
 *
 * @param {string} parcel
 * @param {AbortSignal} signal
 */
async function placeOf(parcel, signal) {
  const { CARRIER_URL } = process.env
  if (CARRIER_URL === undefined) return 'on the night train'
  const answer = await fetch(`${CARRIER_URL}/${encodeURIComponent(parcel)}`, { signal })
  if (!answer.ok) throw new Error(`The carrier answered with ${answer.status}.`)
  return answer.text()
}
