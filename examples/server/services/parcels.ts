/** Two services that locate parcels: one built in, and one that asks the carrier over HTTP. */

export interface Parcels {
  /**
   * @param signal - Cancels the request when the turn is aborted.
   * @throws Error if the carrier cannot be reached.
   */
  locate(orderNumber: string, signal: AbortSignal): Promise<string>
}

export function createLocalParcels(): Parcels {
  return { locate: async () => 'in the depot in Harrow Lane, out for delivery tomorrow' }
}

/** @param baseUrl - The carrier's address; `<baseUrl>/<order number>` answers with one line of text. */
export function createRemoteParcels(baseUrl: string): Parcels {
  return {
    async locate(orderNumber, signal) {
      const response = await fetch(`${baseUrl}/${encodeURIComponent(orderNumber)}`, { signal })
      if (!response.ok) throw new Error(`The carrier answered with status ${response.status}.`)
      return (await response.text()).trim()
    },
  }
}
