/**
 * What the flows need from the application. The engine passes it to them as `turn.services`; it is never stored. The
 * `declare module` below gives it its type.
 */
import type { ModelSelection } from 'turnkeeper'
import type { Calendar } from './calendar.js'
import type { Orders } from './orders.js'
import type { Parcels } from './parcels.js'

declare module 'turnkeeper' {
  interface FlowServices {
    readonly calendar: Calendar
    /** The support desk's. Default: the local one. */
    readonly deskModel?: ModelSelection
    readonly orders: Orders
    readonly parcels: Parcels
    /** The absolute address of the visit report as a PDF. Default: on this machine, at port 3000. */
    readonly reportAddress?: (title: string) => string
  }
}
