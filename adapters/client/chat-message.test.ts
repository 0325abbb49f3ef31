/** Converts chosen files to attachments that the engine accepts. */
import { expect, test } from 'vitest'
import { resolveLimits } from '../../src/engine/core/engine-limits.js'
import { checkAttachments } from '../../src/engine/input/check-attachments.js'
import { attachmentOf } from './index.js'

const bytes = Uint8Array.from({ length: 256 }, (_, index) => index)
const data = Buffer.from(bytes).toString('base64')

test.each([
  ['a photo', new File([bytes], 'fern.png', { type: 'image/png' }), { type: 'image', mediaType: 'image/png', data }],
  ['a blob of an image', new Blob([bytes], { type: 'image/webp' }), { type: 'image', mediaType: 'image/webp', data }],
  [
    'a file with a charset',
    new File([bytes], 'a.csv', { type: 'text/csv;charset=utf-8' }),
    { type: 'file', mediaType: 'text/csv', data, name: 'a.csv' },
  ],
  ['bytes without a type', new Blob([bytes]), { type: 'file', mediaType: 'application/octet-stream', data }],
])('%s is an attachment that the engine accepts', async (_name, file, attachment) => {
  const made = await attachmentOf(file)
  expect(made).toEqual(attachment)
  expect(checkAttachments([made], resolveLimits({}))).toEqual([attachment])
})

test('a file of several megabytes is read whole', async () => {
  const { data: large = '' } = await attachmentOf(new Blob([new Uint8Array(5_000_000)]))
  expect(large).toHaveLength(Math.ceil(5_000_000 / 3) * 4)
})
