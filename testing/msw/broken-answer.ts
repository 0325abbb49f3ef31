/** Answers whose connection breaks before the whole body is there. `msw/scripted-service.ts` decides when. */
/** What happens to the answer on its way to the page. Set by the turn. */
export interface Delivery {
  change?: (response: Response) => Response
}

const cutText = 'The connection was cut off, as the script says.'

/** The same answer, whose body ends in an error after its first half. */
export function cutOff({ body, status, headers }: Response): Response {
  const reader = body?.getReader()
  let isFirst = true
  const broken = new ReadableStream<Uint8Array>({
    async pull(controller) {
      const chunk = isFirst ? (await reader?.read())?.value : undefined
      if (chunk === undefined) {
        controller.error(new TypeError(cutText))
        return
      }
      isFirst = false
      controller.enqueue(chunk.subarray(0, Math.ceil(chunk.length / 2)))
    },
  })
  return new Response(broken, { status, headers })
}

/** Makes the answer break when the returned function is called; what was read before is there. */
export function breakable(delivery: Delivery): () => void {
  let cut: (value: 'cut') => void = () => undefined
  const isCut = new Promise<'cut'>((resolve) => {
    cut = resolve
  })
  delivery.change = ({ body, status, headers }) => {
    const reader = body?.getReader()
    const broken = new ReadableStream<Uint8Array>(
      {
        async pull(controller) {
          const read = await Promise.race([reader?.read(), isCut])
          if (read === 'cut') {
            controller.error(new TypeError(cutText))
            await reader?.cancel()
          } else if (read?.value === undefined) controller.close()
          else controller.enqueue(read.value)
        },
        cancel: (reason) => reader?.cancel(reason),
      },
      { highWaterMark: 0 },
    )
    return new Response(broken, { status, headers })
  }
  return () => cut('cut')
}
