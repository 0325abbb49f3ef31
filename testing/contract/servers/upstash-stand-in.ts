// Upstash's REST API in front of a real Redis, as far as its client uses it. Written from its reference;
// Upstash itself is not run.
import { once } from 'node:events'
import { createServer } from 'node:http'
import { createClient } from '@keyv/redis'

type Upstash = { readonly url: string; close(): unknown }

function inBase64(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(inBase64)
  return typeof value === 'string' && value !== 'OK' ? Buffer.from(value).toString('base64') : value
}

/** @param isCut - Called with the body when the commands were done: whether the connection is cut before the reply. */
export async function startUpstash(redis: string, token: string, isCut: (body: string) => boolean): Promise<Upstash> {
  const client = await createClient({ url: redis }).connect()
  const send = (words: unknown[]): Promise<unknown> => client.sendCommand(words.map(String))
  async function replyTo(path: string | undefined, body: unknown[][], encode: typeof inBase64): Promise<object> {
    const done = (value: unknown): object => ({ result: encode(value) })
    const run = (words: unknown[]): Promise<object> => send(words).then(done, ({ message: error }) => ({ error }))
    if (path === '/') return run(body)
    if (path === '/pipeline') return Promise.all(body.map(run))
    const all = await Promise.all([['MULTI'], ...body, ['EXEC']].map(send))
    return (all.at(-1) as unknown[]).map(done)
  }
  const server = createServer(async (request, response) => {
    const { authorization, 'upstash-encoding': encoding } = request.headers
    const isCaller = authorization === `Bearer ${token}`
    const body = Buffer.concat(await request.toArray()).toString()
    const encode = encoding === 'base64' ? inBase64 : (value: unknown): unknown => value
    const reply = isCaller ? await replyTo(request.url, JSON.parse(body), encode) : { error: 'Unauthorized' }
    response.statusCode = 'error' in reply ? (isCaller ? 400 : 401) : 200
    if (isCut(body)) response.destroy()
    else response.end(JSON.stringify(reply))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as { port: number }).port}`
  return { url, close: () => [server.close(), client.destroy()] }
}
