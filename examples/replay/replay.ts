/**
 * Replays the sessions of a folder against the flows as they are now, and exits with 1 if one goes another way. The
 * folder `sessions` has two bookings, as `save-sessions.ts` wrote them.
 *
 *     npm start replay
 *     npm start replay <another folder>
 */
import { fileURLToPath } from 'node:url'
import { type Recording, replayAll } from 'turnkeeper/testing'
import { Appointment } from '../server/flows/appointment.js'
import { createCalendar } from '../server/services/calendar.js'
import { createOrders } from '../server/services/orders.js'
import { createLocalParcels } from '../server/services/parcels.js'

/** Services as they were when the session began: the calendar offers the days after it. */
export function servicesOf({ startedAt }: Pick<Recording, 'startedAt'>) {
  const calendar = createCalendar(() => Date.parse(startedAt))
  return { services: { calendar, orders: createOrders(), parcels: createLocalParcels() } }
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const sources = fileURLToPath(new URL('../../replay/sessions', import.meta.url))
  const [folder = sources] = process.argv.slice(2)
  try {
    const { sessions, turns } = await replayAll(folder, { flows: [Appointment], replayOptions: servicesOf })
    console.log(`${sessions} sessions with ${turns} turns went as recorded.`)
  } catch (error) {
    console.error(error instanceof Error ? error.message : error)
    process.exitCode = 1
  }
}
