/**
 * The few platform types that the examples use, so that they compile without the full packages: `@types/bun`, Deno
 * itself, `next` and `@types/aws-lambda`.
 */

declare namespace Bun {
  interface Server {
    readonly url: URL
    /** Resolves when the requests under way are answered. */
    stop(): Promise<void>
  }
  function serve(options: {
    port: number
    hostname: string
    idleTimeout: number
    fetch(request: Request): Promise<Response>
  }): Server
}

declare namespace Deno {
  const env: { get(name: string): string | undefined }
  interface HttpServer {
    /** Resolves when the requests under way are answered. */
    shutdown(): Promise<void>
  }
  interface Address {
    readonly hostname: string
    readonly port: number
  }
  function serve(
    options: { port: number; hostname: string; onListen(address: Address): void },
    handler: (request: Request) => Promise<Response>,
  ): HttpServer
  function addSignalListener(signal: 'SIGTERM', listener: () => void): void
  function exit(code: number): never
}

declare module 'next/server' {
  /** Keeps the platform alive for the work after the reply. */
  export function after(work: Promise<unknown>): void
}

declare namespace awslambda {
  type StreamingHandler<Event, Context> = (
    event: Event,
    responseStream: NodeJS.WritableStream,
    context: Context,
  ) => Promise<void>
  /** Marks a handler as one that streams, and returns it. */
  function streamifyResponse<Event, Context>(
    handler: StreamingHandler<Event, Context>,
  ): StreamingHandler<Event, Context>
}
