// A real provider package whose requests are really sent, and are answered by MSW in the provider's published format.
// The connection cannot be observed here: MSW keeps a copy of each answer. See `served-subject.ts` for that.
import { HttpResponse, http } from 'msw'
import type { SetupServer } from 'msw/node'
import { aiSdkProvider } from '../../../adapters/ai-sdk/index.js'
import type { ModelSuiteAnswer, ModelSuiteSubject } from '../../suites/index.js'
import type { Chunking } from './wire/server-sent-events.js'
import { asksForStream, type WireAnswer, wireAnswer } from './wire/wire-answer.js'
import type { WireConnection, WireFormat } from './wire/wire-format.js'

/** A credential that occurs nowhere else. */
export const canary = 'canary-7f3a91c5-key-of-the-provider'

/** A request as it left the package. */
export interface SentRequest {
  readonly url: string
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

/** A subject of the suite that reports more. */
export interface WireSubject extends ModelSuiteSubject {
  readonly sent: readonly SentRequest[]
  /** Resolves when a request was received that gets no answer, or no more of one. */
  readonly silent: Promise<void>
}

/** How a provider is reached, and how its network behaves. */
export interface WireOptions {
  /** Default: the canary as the key. */
  readonly connection?: WireConnection
  /** How the bytes of a stream come. Default: an event at a time. */
  readonly chunking?: Chunking
  /** What is sent instead. Default: what the answers say. */
  readonly send?: (isStream: boolean) => WireAnswer
}

/** A provider of `format` whose model gives `answers`, over `server`. */
export function wireSubject(
  server: SetupServer,
  format: WireFormat,
  answers: readonly ModelSuiteAnswer[],
  { connection = { apiKey: canary }, chunking, send }: WireOptions = {},
): WireSubject {
  const sent: SentRequest[] = []
  let arrived!: () => void
  const silent = new Promise<void>((resolve) => {
    arrived = resolve
  })
  const base = connection.baseURL?.replace(/\/\/.*@/, '//') ?? format.baseURL
  server.use(
    http.post(format.url.replace(format.baseURL, base), async ({ request }) => {
      const { url, headers } = request
      const body = (await request.clone().json()) as SentRequest['body']
      const isStream = asksForStream(url, body)
      const answer = send?.(isStream) ?? wireAnswer(format, answers[sent.length], isStream, chunking)
      sent.push({ url, headers, body })
      if (answer !== undefined) return responseOf(answer, arrived)
      arrived()
      return new Promise<never>(() => undefined)
    }),
  )
  const { name, model } = format
  const provider = aiSdkProvider({ provider: name, languageModel: format.languageModel(connection) })
  return {
    provider,
    model,
    sent,
    silent,
    asked: () => sent.map(({ body }) => body),
    close: () => server.resetHandlers(),
  }
}

function responseOf({ status, headers, chunks, ending }: WireAnswer, arrived: () => void): Response {
  const left = [...chunks]
  const body = new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const chunk = left.shift()
        if (chunk !== undefined) return controller.enqueue(chunk)
        if (ending !== 'stall') return controller.close()
        arrived()
        return new Promise<never>(() => undefined)
      },
    },
    { highWaterMark: 0 },
  )
  return new HttpResponse(body, { status, headers })
}
