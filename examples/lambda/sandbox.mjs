/**
 * One process of Lambda, for the test: a thread that imports the bundle, runs one event at a time, and stands still
 * between two, with all its timers and connections, as Lambda freezes a process whose handler has returned.
 */
import { Writable } from 'node:stream'
import { parentPort, workerData } from 'node:worker_threads'

const { bundle, handlerName, thaw } = workerData

/** @param {import('./fake-lambda.ts').Said} said */
function send(said) {
  parentPort?.postMessage(said)
}

const awslambda = {
  /** @param {unknown} handler */
  streamifyResponse: (handler) => handler,
  HttpResponseStream: {
    /**
     * @param {Writable} stream
     * @param {{ statusCode: number, headers: Record<string, string> }} metadata
     */
    from(stream, { statusCode, headers }) {
      send({ kind: 'head', statusCode, headers })
      return stream
    },
  },
}
Object.assign(globalThis, { awslambda })

const { [handlerName]: handler } = await import(bundle)

/** Writes go to the client, or nowhere if it has left; Lambda does not report that. */
function responseStream() {
  return new Writable({
    write(chunk, _encoding, done) {
      send({ kind: 'chunk', chunk: Buffer.from(chunk) })
      done()
    },
    final(done) {
      send({ kind: 'end' })
      done()
    },
  })
}

/** @param {unknown} event */
async function invoke(event) {
  if (handlerName === 'streamingHandler') return handler(event, responseStream(), {})
  const { statusCode, headers, body, isBase64Encoded } = await handler(event, {})
  send({ kind: 'head', statusCode, headers })
  send({ kind: 'chunk', chunk: Buffer.from(body, isBase64Encoded ? 'base64' : 'utf8') })
  send({ kind: 'end' })
}

function freeze() {
  Atomics.store(thaw, 0, 0)
  send({ kind: 'frozen' })
  Atomics.wait(thaw, 0, 0)
}

parentPort?.on('message', async (event) => {
  await invoke(event)
  freeze()
})
freeze()
