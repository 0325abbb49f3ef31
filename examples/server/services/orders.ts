/** The shop's orders and returns: in memory, with three orders to try. */

export interface Order {
  readonly orderNumber: string
  readonly items: readonly string[]
  readonly state: 'being packed' | 'on its way' | 'delivered'
}

export interface Return {
  readonly orderNumber: string
  readonly item: string
  readonly reason: string
}

export interface Orders {
  find(orderNumber: string): Order | undefined
  /** Opens a return, or finds the open one of this item. Returns its number. */
  openReturn(wanted: Return): string
}

const orders: readonly Order[] = [
  { orderNumber: 'FK-1042', items: ['cast iron teapot', 'maidenhair fern'], state: 'delivered' },
  { orderNumber: 'FK-1057', items: ['string of hearts'], state: 'on its way' },
  { orderNumber: 'FK-1063', items: ['green glaze cup', 'boston fern'], state: 'being packed' },
]

export function createOrders(): Orders {
  const returns = new Map<string, string>()
  return {
    find: (orderNumber) => orders.find((order) => order.orderNumber === orderNumber),
    openReturn({ orderNumber, item }) {
      const key = `${orderNumber} ${item}`
      const number = returns.get(key) ?? `R-${returns.size + 1}`
      returns.set(key, number)
      return number
    },
  }
}
