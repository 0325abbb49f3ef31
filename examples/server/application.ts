/** The example application: its flows, its model provider and its services in one engine. `main.ts` serves it. */
import { FlowEngine, type FlowServices } from 'turnkeeper'
import { Appointment } from './flows/appointment.js'
import { VisitReport } from './flows/report.js'
import { SupportDesk } from './flows/support-desk.js'
import { chooseModel } from './models/choose-model.js'
import { createCalendar } from './services/calendar.js'
import { createOrders } from './services/orders.js'
import { createLocalParcels } from './services/parcels.js'

/** @param services - Services in place of the ready-made ones. */
export async function createApplication(services: Partial<FlowServices> = {}): Promise<FlowEngine> {
  const { selection, provider } = await chooseModel()
  return FlowEngine.create({
    flows: [Appointment, SupportDesk, VisitReport],
    providers: [provider],
    // After a failure the user continues from the same place in the conversation.
    onTurnError: 'rollback',
    services: {
      deskModel: selection,
      calendar: createCalendar(Date.now),
      orders: createOrders(),
      parcels: createLocalParcels(),
      ...services,
    },
  })
}
