/**
 * The processor time of single requests that are made to cost as much as possible within the default limits: bodies of
 * the largest size, with values, keys, texts and files of every kind. The chat handlers take 8 MiB, `/ai/run` 1 MiB.
 */
import { Flow, FlowEngine, LogicStep, reply } from 'turnkeeper'
import { createAgUiHandler } from 'turnkeeper/ag-ui'
import { createFetchHandler } from 'turnkeeper/fetch'
import { createUiMessageHandler } from 'turnkeeper/ui-message'
import { bench } from './harness.mjs'

class Only extends LogicStep {
  static id = 'Only'
  run() {
    return reply('Seen.')
  }
}

class Talk extends Flow {
  static id = 'Talk'
  steps() {
    return [Only]
  }
}

const encoder = new TextEncoder()
let messages = 0

/** A list that repeats `item`, up to `size` characters and 29 000 commas. */
function list(item, size) {
  return `[${`${item},`.repeat(Math.min(29_000, Math.floor(size / (item.length + 1))))}${item}]`
}

/** As many keys as are allowed, as long as they can be. */
function keys(size) {
  const length = Math.floor(size / 14_900) - 8
  return `{${Array.from({ length: 14_900 }, (_, index) => `"${String(index).padStart(length, 'k')}":1`).join(',')}}`
}

/** The fields that are added to a request. */
const fields = {
  text: (size) => `"ignored":"${'x'.repeat(size)}"`,
  wideText: (size) => `"ignored":"${'\u65e5'.repeat(size / 3)}"`,
  numbers: (size) => `"ignored":${list('1'.repeat(Math.floor(size / 29_001) - 1), size)}`,
  shortNumbers: (size) => `"ignored":${list('1'.repeat(Math.min(63, Math.floor(size / 29_001) - 1)), size)}`,
  objects: (size) => `"ignored":${list('{}', size / 2)}`,
  config: (size) => `"config":${keys(size)}`,
  values: (size) => `"ignored":[${'1,'.repeat(size / 2 - 10)}1]`,
}

/** The messages that are sent in place of a short one. */
const parts = {
  photo: (size) => file(`data:image/png;base64,${'A'.repeat(size - (size % 4))}`),
  address: (size) => file(`https://${'\u00e9'.repeat(size / 2 - 100)}.example/`),
  files: () => Array.from({ length: 3_600 }, () => file(`https://shop.example/${'x'.repeat(1_000)}`)).join(','),
}

function file(url) {
  return `{"type":"file","mediaType":"image/png","url":"${url}"}`
}

/** Each call makes another message: one that is sent again would get the recorded reply. */
function requestsOf(size) {
  const page = (field, part) =>
    `{${field}"id":"c${messages}","messages":[{"id":"m${messages++}","role":"user","parts":[${part}]}]}`
  const agent = (field) =>
    `{${field}"threadId":"t${messages}","runId":"r","messages":[{"id":"m${messages++}","role":"user","content":"x"}]}`
  const text = '{"type":"text","text":"x"}'
  const bodies = []
  for (const field of Object.values(fields)) {
    bodies.push(['/api/chat', () => page(`${field(size)},`, text)], ['/ag-ui', () => agent(`${field(size)},`)])
  }
  for (const part of Object.values(parts)) bodies.push(['/api/chat', () => page('', part(size))])
  return bodies
}

function runsOf(size) {
  return Object.values(fields).map((field) => ['/ai/run', () => `{${field(size)},"flowName":"Talk"}`])
}

/** The most milliseconds of processor time that one of the requests takes, the lesser of two times. */
async function mostOf(handlers, bodies) {
  let most = 0
  for (const [path, bodyOf] of bodies) {
    const times = []
    for (let sent = 0; sent < 2; sent++) {
      const bytes = encoder.encode(bodyOf())
      const headers = { 'Content-Type': 'application/json', 'Content-Length': String(bytes.length) }
      const request = new Request(`http://chat.example${path}`, { method: 'POST', headers, body: bytes })
      globalThis.gc()
      const before = process.cpuUsage()
      await (await handlers[path](request)).text()
      const { user, system } = process.cpuUsage(before)
      times.push((user + system) / 1000)
    }
    most = Math.max(most, Math.min(...times))
  }
  return most
}

async function once() {
  const ignore = () => undefined
  const logger = { debug: ignore, info: ignore, warn: ignore, error: ignore }
  const engine = new FlowEngine({ flows: [Talk], logger })
  const authorize = () => ({ principal: 'ada' })
  const chat = { flow: 'Talk', authorize, attachments: { addresses: () => true } }
  const handlers = {
    '/ai/run': createFetchHandler(engine, { authorize }),
    '/api/chat': createUiMessageHandler(engine, chat),
    '/ag-ui': createAgUiHandler(engine, chat),
  }
  const kibibyte = 1024
  return {
    run: await mostOf(handlers, runsOf(1024 * kibibyte - 200)),
    chat: await mostOf(handlers, requestsOf(8 * 1024 * kibibyte - 300)),
  }
}

bench({
  url: import.meta.url,
  title: 'the processor time of the most expensive request within the default limits',
  once,
  rows: [
    { label: '1 MiB to /ai/run', figure: 'run', unit: 'ms', target: 100 },
    { label: '8 MiB to a chat', figure: 'chat', unit: 'ms', target: 100 },
  ],
})
