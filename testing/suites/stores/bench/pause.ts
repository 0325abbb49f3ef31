/** The suite's only wait in real time, because a backend's time to live runs in real time. */
export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => void setTimeout(resolve, ms))
}
