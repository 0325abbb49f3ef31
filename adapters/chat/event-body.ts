/** The body of a stream: texts as they arrive, and comments during silence. */
import { Heartbeat } from '../fetch/reply/heartbeat.js'

/** @param texts - Closed when the reader goes away. If it throws, `report` receives the error, and the body ends. */
export function createEventBody(
  texts: AsyncGenerator<string, void>,
  heartbeatMs: number,
  report: (error: unknown) => void,
): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder()
  const heartbeat = new Heartbeat(heartbeatMs)
  let hasLeft = false
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        heartbeat.start(controller)
        try {
          const { value } = await texts.next()
          heartbeat.pause()
          if (hasLeft) return
          if (value !== undefined) return controller.enqueue(encoder.encode(value))
        } catch (error) {
          report(error)
        }
        heartbeat.stop()
        controller.close()
      },
      cancel() {
        hasLeft = true
        heartbeat.stop()
        // It settles with the next event, so it is not awaited.
        texts.return().catch(report)
      },
    },
    // Nothing is read ahead.
    { highWaterMark: 0 },
  )
}
