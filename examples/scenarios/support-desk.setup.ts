/** The setup for the scenarios of the support desk. The scenarios script the models. */
import type { ScenarioSetup } from 'turnkeeper/testing/scenarios'
import { SupportDesk } from '../server/flows/support-desk.js'
import { createCalendar } from '../server/services/calendar.js'
import { createOrders } from '../server/services/orders.js'
import { createLocalParcels } from '../server/services/parcels.js'

/** Called for each scenario, so each begins without a return. */
export default function setup(): ScenarioSetup {
  return {
    flow: SupportDesk,
    services: { calendar: createCalendar(Date.now), orders: createOrders(), parcels: createLocalParcels() },
    given: {
      'the carrier does not answer': { tools: { track_parcel: new Error('The carrier does not answer.') } },
    },
  }
}
