// The HTTP cases over the Fetch handler, in process.
import { describe, test } from 'vitest'
import { createFetchHandler } from '../../../adapters/fetch/index.js'
import { httpCases } from './cases.js'

describe.each(['/ai', '/', '/v1/chat'])('the Fetch handler at %s', (basePath) => {
  httpCases(test, (engine, options) => {
    const handler = createFetchHandler(engine, { ...options, basePath })
    const prefix = basePath === '/' ? '' : basePath
    return (path, init) => handler(new Request(`http://chat.example${prefix}${path}`, init))
  })
})
