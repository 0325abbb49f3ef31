/** The setup for the scenarios of the bicycle workshop: the flow, and calendars that begin on a fixed Tuesday. */
import type { ScenarioSetup } from 'turnkeeper/testing/scenarios'
import { Appointment } from '../server/flows/appointment.js'
import { createCalendar } from '../server/services/calendar.js'
import { createOrders } from '../server/services/orders.js'
import { createLocalParcels } from '../server/services/parcels.js'

const tuesday = () => createCalendar(() => Date.UTC(2026, 10, 24, 12))

/** Called for each scenario, so a time booked in one is free in the next. */
export default function setup(): ScenarioSetup {
  const others = { orders: createOrders(), parcels: createLocalParcels() }
  const fullDay = tuesday()
  for (const time of fullDay.freeTimes('2026-11-25')) {
    if (time !== '16:00') fullDay.book({ reference: `other ${time}`, day: '2026-11-25', time })
  }
  return {
    flow: Appointment,
    services: { ...others, calendar: tuesday() },
    given: {
      'only 16:00 is free on Wednesday': { services: { ...others, calendar: fullDay } },
    },
  }
}
