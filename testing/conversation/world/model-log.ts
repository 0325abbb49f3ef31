/**
 * The requests that models received in a conversation, and their answers: it wraps any provider, and changes nothing.
 */
import type {
  ModelProviderAdapter,
  ModelRequest,
  ModelResponse,
  ModelStreamPart,
  RuntimeModel,
} from '../../../src/index.js'
import { recordedRequest } from '../../scripted-model/scripted-model.js'
import type { LoggedCall } from '../turns/conversation-turn.js'
import type { ReadingGate } from './reading-gate.js'

type CallLog = (call: LoggedCall, event: 'asked' | 'answered') => void

/**
 * The same provider; `log` receives each call when it begins, and again when it has an answer. The answer waits at the
 * gate.
 */
export function watchProvider(provider: ModelProviderAdapter, gate: ReadingGate, log: CallLog): ModelProviderAdapter {
  const watch = (model: RuntimeModel): RuntimeModel => {
    const { provider, name, stream } = model
    return {
      provider,
      name,
      async generate(request) {
        const call = asked(log, request, false)
        if (!gate.isOpen) await gate.pass(request.signal)
        return answered(log, call, await model.generate(request))
      },
      // A model that cannot stream must not look like one that can.
      ...(stream === undefined ? {} : { stream: (request) => pieces(stream.call(model, request), request, gate, log) }),
    }
  }
  const { validate } = provider
  return {
    provider: provider.provider,
    ...(validate === undefined ? {} : { validate: (selection) => validate.call(provider, selection) }),
    resolve: (selection) => watch(provider.resolve(selection)),
  }
}

function asked(log: CallLog, request: ModelRequest, streamed: boolean): LoggedCall {
  const call: LoggedCall = { request: recordedRequest(request, streamed) }
  const { signal } = request
  // A provider that ignores the signal does not settle.
  signal.addEventListener(
    'abort',
    () => {
      const limit = /within the limit (modelTimeoutMs.*)\.$/.exec(String(signal.reason))?.[1]
      if (limit !== undefined) call.exceeded = limit
    },
    { once: true },
  )
  log(call, 'asked')
  return call
}

function answered(log: CallLog, call: LoggedCall, response: ModelResponse): ModelResponse {
  call.response = response
  log(call, 'answered')
  return response
}

async function* pieces(
  answer: AsyncIterable<ModelStreamPart>,
  request: ModelRequest,
  gate: ReadingGate,
  log: CallLog,
): AsyncGenerator<ModelStreamPart, void, void> {
  const call = asked(log, request, true)
  const iterator = answer[Symbol.asyncIterator]()
  try {
    for (;;) {
      if (!gate.isOpen) await gate.pass(request.signal)
      const { value: part, done } = await iterator.next()
      if (done === true) return
      if (part.type === 'finish') answered(log, call, part.response)
      // The reader has this event, and has not asked for the next one yet.
      if (part.type === 'text-delta' && part.text !== '') gate.shut()
      yield part
    }
  } finally {
    await iterator.return?.()
  }
}
