// A real provider package whose requests really leave it, and are answered by MSW in the provider's published format.
import { HttpResponse, http } from 'msw'
import type { SetupServer } from 'msw/node'
import { aiSdkProvider } from '../../../adapters/ai-sdk/index.js'
import type { ModelSuiteAnswer, ModelSuiteFailure, ModelSuiteSubject } from '../../index.js'
import type { WireFormat } from './wire/wire-format.js'

/** A credential that is found nowhere else. */
export const canary = 'canary-7f3a91c5-key-of-the-provider'

/** A request as it left the package. */
export interface SentRequest {
  readonly headers: Headers
  readonly body: Readonly<Record<string, unknown>>
}

/** A subject of the suite that tells more. */
export interface WireSubject extends ModelSuiteSubject {
  readonly sent: readonly SentRequest[]
  /** Resolves when a request that gets no answer was received. */
  readonly silent: Promise<void>
}

const statuses = { 'rate-limit': 429, 'server-error': 500, overloaded: 529 } as const

function failureOf(format: WireFormat, { failure }: ModelSuiteFailure, heard: () => void): Response | Promise<never> {
  switch (failure) {
    case 'never':
      heard()
      return new Promise<never>(() => undefined)
    case 'malformed':
      return HttpResponse.text('{"id": "cut off', { headers: { 'content-type': 'application/json' } })
    case 'malformed-arguments':
      return HttpResponse.json(format.malformedArguments ?? {})
    default: {
      const status = statuses[failure]
      const headers = failure === 'rate-limit' ? { 'retry-after': '1' } : {}
      return HttpResponse.json(format.error(status, `The server says ${status}.`), { status, headers })
    }
  }
}

/** A provider of `format` whose model gives `answers`, over `server`. */
export function wireSubject(
  server: SetupServer,
  format: WireFormat,
  answers: readonly ModelSuiteAnswer[],
): WireSubject {
  const sent: SentRequest[] = []
  let heard!: () => void
  const silent = new Promise<void>((resolve) => {
    heard = resolve
  })
  server.use(
    http.post(format.url, async ({ request }) => {
      const answer = answers[sent.length]
      sent.push({ headers: request.headers, body: (await request.clone().json()) as SentRequest['body'] })
      if (answer === undefined) return HttpResponse.json(format.error(500, 'No answer is left.'), { status: 500 })
      return 'failure' in answer ? failureOf(format, answer, heard) : HttpResponse.json(format.reply(answer))
    }),
  )
  const { name, model } = format
  const provider = aiSdkProvider({ provider: name, languageModel: format.languageModel(canary) })
  return {
    provider,
    model,
    sent,
    silent,
    asked: () => sent.map(({ body }) => body),
    close: () => server.resetHandlers(),
  }
}
