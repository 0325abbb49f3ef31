/** The only wait of the suite by the clock: where a backend has a time to live, it counts in real time. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
