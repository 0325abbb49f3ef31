// A real provider package over real sockets: a server in this process answers in the provider's published format, and
// sees what happens to its connections.
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { aiSdkProvider } from '../../../adapters/ai-sdk/index.js'
import type { ModelSuiteAnswer, ModelSuiteSubject } from '../../suites/index.js'
import { asksForStream, type WireAnswer, wireAnswer } from './wire/wire-answer.js'
import type { WireFormat } from './wire/wire-format.js'
import { canary } from './wire-subject.js'

/** A subject whose server can be inspected. */
export interface ServedSubject extends ModelSuiteSubject {
  /** Connections that were ever made. */
  connections(): number
  underWay(): number
  /** Bytes that the client has not read yet. */
  waiting(): number
  close(): Promise<void>
}

/**
 * A provider of `format` whose model gives `answers`, over a server on a free port.
 *
 * @param instead - What is sent instead. Default: the answers.
 */
export async function servedSubject(
  format: WireFormat,
  answers: readonly ModelSuiteAnswer[],
  instead?: (isStream: boolean) => WireAnswer,
): Promise<ServedSubject> {
  const asked: Record<string, unknown>[] = []
  const underWay = new Set<ServerResponse>()
  let connections = 0
  const server = createServer(async (request, response) => {
    underWay.add(response)
    response.on('close', () => underWay.delete(response))
    const bytes: Buffer[] = []
    for await (const chunk of request) bytes.push(chunk as Buffer)
    const body = JSON.parse(Buffer.concat(bytes).toString('utf8')) as Record<string, unknown>
    const isStream = asksForStream(request.url ?? '', body)
    const answer = instead?.(isStream) ?? wireAnswer(format, answers[asked.length], isStream)
    asked.push(body)
    if (answer !== undefined) send(answer, response)
  })
  server.on('connection', () => connections++)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const baseURL = `http://127.0.0.1:${port}${new URL(format.baseURL).pathname}`
  const { name, model } = format
  const languageModel = format.languageModel({ apiKey: canary, baseURL })
  return {
    provider: aiSdkProvider({ provider: name, languageModel }),
    model,
    asked: () => asked,
    underWay: () => underWay.size,
    connections: () => connections,
    waiting: () => Array.from(underWay, ({ writableLength }) => writableLength).reduce((sum, bytes) => sum + bytes, 0),
    close: () => closed(server),
  }
}

function send({ status, headers, chunks, ending }: WireAnswer, response: ServerResponse): void {
  response.writeHead(status, headers)
  for (const chunk of chunks) response.write(chunk)
  if (ending === 'end') response.end()
  // The words that were sent must arrive before the connection breaks.
  if (ending === 'cut') response.write('\n', () => setImmediate(() => response.destroy()))
}

async function closed(server: Server): Promise<void> {
  const over = new Promise<void>((resolve) => server.close(() => resolve()))
  server.closeAllConnections()
  await over
}
