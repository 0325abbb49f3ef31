/** Cases of streams: the same answers in pieces, and all the ways in which a stream ends early. */
import type { ModelFailure, ModelResponse } from '../../../src/index.js'
import { ensure, fail } from '../cases/failure.js'
import { findDifference, throughJson } from '../cases/same-json.js'
import { expectInvalidCall, invalidArguments } from './answer-cases.js'
import { readFirstWords, readStream, readToFailure, readToText } from './read-stream.js'
import type { ModelSuiteBench, ModelSuiteCase, OpenStream, StreamedReply } from './suite-case.js'
import type { ModelSuiteReply, ModelSuiteSubject } from './suite-options.js'

const same =
  'A stream ends with the whole answer that generate gives; its pieces of text, joined, are the text of that answer.'
const ends = 'A stream ends when its signal fires or its reader stops, and the answer is not read on.'

const calls = [
  { id: 'call-1', name: 'look_up', input: { order: 'A-1' } },
  { id: 'call-2', name: 'look_up', input: { order: 'B-2', note: { deep: [1, 'zwölf', null, true] } } },
]

function textOf({ parts }: ModelResponse, type: 'text' | 'reasoning'): string {
  return parts.map((part) => (part.type === type ? part.text : '')).join('')
}

/** Gets an answer with a stream and without: both must be the same. */
async function streamAsGenerated(bench: ModelSuiteBench, answer: ModelSuiteReply): Promise<StreamedReply> {
  const reply = await bench.askForStream(answer)
  const { texts, thoughts, response } = reply
  const generated = throughJson(await bench.ask(answer))
  const difference = findDifference(throughJson(response), generated, 'the answer of the stream')
  if (difference !== undefined) fail('the answer that generate gives', difference)
  const [text, thought] = [texts.join(''), thoughts.join('')]
  if (text !== textOf(response, 'text')) fail(`pieces that make '${textOf(response, 'text')}'`, `'${text}'`)
  if (thought !== textOf(response, 'reasoning')) {
    fail(`thoughts that make '${textOf(response, 'reasoning')}'`, `'${thought}'`)
  }
  return reply
}

/** Waits until no answer is being sent any more, if the caller reports that. */
function untilFree(bench: ModelSuiteBench, subject: ModelSuiteSubject): Promise<void> {
  return bench.until(() => (subject.underWay?.() ?? 0) === 0)
}

async function leave(stream: OpenStream): Promise<void> {
  if (stream.return === undefined) return fail('a stream that can be stopped, by return()', 'one without return()')
  await stream.return()
}

const sameAnswers: readonly (readonly [string, ModelSuiteReply])[] = [
  ['a text', { text: 'It is on its way, and will be there tomorrow. Grüße, 本屋 📚' }],
  ['a tool call', { toolCalls: calls.slice(0, 1) }],
  ['two tool calls in one reply', { toolCalls: calls }],
  ['a text and a tool call', { text: 'One moment, please.', toolCalls: calls.slice(0, 1) }],
  [
    'what a call cost',
    { text: 'Yes.', usage: { inputTokens: 21, outputTokens: 8, cachedInputTokens: 5, reasoningTokens: 3 } },
  ],
  ['the limit of its length', { text: 'It is on', stop: 'length' }],
]

/** The cases, in the order in which they are registered. */
export const streamCases: readonly ModelSuiteCase[] = [
  ...sameAnswers.map(
    ([what, answer]): ModelSuiteCase => ({
      name: `streams: ${what}`,
      rule: same,
      async run(bench) {
        await streamAsGenerated(bench, answer)
      },
    }),
  ),
  {
    name: 'streams: a text comes in more than one piece',
    rule: 'A stream sends its pieces as they come.',
    async run(bench) {
      const { texts } = await bench.askForStream({ text: 'It is on its way, and will be there tomorrow.' })
      ensure(texts.length > 1 && !texts.includes(''), 'several pieces of text, none empty', texts)
    },
  },
  {
    name: 'streams: reasoning is kept apart from the text',
    rule: same,
    async run(bench) {
      const answer = { reasoning: 'They want the parcel.', text: 'It is on its way.', toolCalls: calls.slice(0, 1) }
      const { texts, thoughts } = await streamAsGenerated(bench, answer)
      ensure(
        thoughts.join('') === 'They want the parcel.',
        "reasoning pieces that make 'They want the parcel.'",
        thoughts,
      )
      ensure(texts.join('') === 'It is on its way.', "text pieces that make 'It is on its way.'", texts)
    },
  },
  {
    name: 'streams: a refusal, and the content filter',
    rule: 'A stream that was blocked ends as content-filter.',
    async run(bench) {
      for (const answer of [{ text: 'I cannot help.', stop: 'refusal' }, { stop: 'content-filter' }] as const) {
        const { finishReason } = (await bench.askForStream(answer)).response
        ensure(finishReason === 'content-filter', 'finishReason to be content-filter', finishReason)
      }
    },
  },
  {
    name: 'streams: two at once do not mix',
    rule: 'Many turns call a model at the same time.',
    async run(bench) {
      const subject = await bench.open([{ text: 'the first one' }, { text: 'the other one' }])
      const [one, other] = [bench.stream(subject), bench.stream(subject)]
      const [start, begin] = [await readToText(one), await readToText(other)]
      const [rest, end] = [await readStream(one), await readStream(other)]
      const texts = [start + rest.texts.join(''), begin + end.texts.join('')]
      ensure(texts.join() === 'the first one,the other one', 'each stream to have its own answer', texts)
    },
  },
  {
    name: 'streams: nothing is asked before the first piece is',
    rule: 'A stream begins when it is read.',
    async run(bench) {
      const subject = await bench.open([{ text: 'Yes.' }])
      const stream = bench.stream(subject)
      await new Promise((resolve) => setTimeout(resolve, 0))
      ensure(subject.asked().length === 0, 'no request before a piece was requested', subject.asked().length)
      await readStream(stream)
      ensure(subject.asked().length === 1, 'one request', subject.asked().length)
    },
  },
  {
    name: 'streams: a failure before the first piece',
    rule: 'A stream that does not begin fails as generate does, after one request.',
    async run(bench) {
      const subject = await bench.open([{ failure: 'rate-limit' }, { text: 'The second time.' }])
      const streamed = (await readToFailure(bench.stream(subject))) as ModelFailure
      ensure(subject.asked().length === 1, 'one request to leave the provider', subject.asked().length)
      const generated = (await bench.askInVain({ failure: 'rate-limit' })) as ModelFailure
      const [got, expected] = [streamed?.statusCode, generated?.statusCode]
      ensure(got === expected, `the status that generate fails with, ${String(expected)}`, got)
    },
  },
  {
    name: 'streams: a piece that is not valid JSON',
    rule: 'A stream that cannot be read fails.',
    async run(bench) {
      await readToFailure(bench.stream(await bench.open([{ failure: 'malformed' }])))
    },
  },
  {
    name: 'streams: a tool call with arguments that are not valid JSON',
    rule: invalidArguments,
    async run(bench) {
      expectInvalidCall((await bench.askForStream({ failure: 'malformed-arguments' })).response)
    },
  },
  ...(['cut', 'broken-off'] as const).map(
    (failure): ModelSuiteCase => ({
      name: `streams: ${failure === 'cut' ? 'a cut' : 'a failure'} in the middle`,
      rule: 'An unfinished answer does not count: the stream fails with an error that can be tried again.',
      async run(bench) {
        const subject = await bench.open([{ failure }])
        const stream = bench.stream(subject)
        await readFirstWords(stream)
        const { isRetryable, statusCode } = ((await readToFailure(stream)) ?? {}) as ModelFailure
        const isMarked = isRetryable === true || (isRetryable === undefined && Number(statusCode) >= 500)
        ensure(isMarked, 'an error with isRetryable: true, or a statusCode of 500 or more', { isRetryable, statusCode })
        await untilFree(bench, subject)
      },
    }),
  ),
  ...(['stall', 'never'] as const).map(
    (failure): ModelSuiteCase => ({
      name: `streams: a signal that fires ${failure === 'stall' ? 'in the middle' : 'before the first piece'}`,
      rule: ends,
      async run(bench) {
        const turn = new AbortController()
        const subject = await bench.open([{ failure }])
        const stream = bench.stream(subject, { signal: turn.signal })
        if (failure === 'stall') await readFirstWords(stream)
        const failed = readToFailure(stream)
        await bench.until(() => subject.asked().length > 0)
        turn.abort(new Error('The turn is aborted.'))
        await failed
        await untilFree(bench, subject)
      },
    }),
  ),
  {
    name: 'streams: a reader that leaves',
    rule: ends,
    async run(bench) {
      const subject = await bench.open([{ failure: 'stall' }])
      const stream = bench.stream(subject)
      await readFirstWords(stream)
      await leave(stream)
      const { done } = await stream.next()
      ensure(done === true, 'nothing after the reader left', String(done))
      await untilFree(bench, subject)
    },
  },
  {
    name: 'streams: a reader that leaves while it waits',
    rule: ends,
    async run(bench) {
      const subject = await bench.open([{ failure: 'stall' }])
      const stream = bench.stream(subject)
      await readFirstWords(stream)
      const next = stream.next().catch(() => undefined)
      await leave(stream)
      await next
      await untilFree(bench, subject)
    },
  },
]
