import { describe, expect, test } from 'vitest'
import { createAttachmentCheck } from './attachments.js'

const file = { type: 'file', mediaType: 'application/pdf' }
const bytes = { ...file, data: 'AAEC' }

describe('addresses', () => {
  const asked: string[] = []
  const check = createAttachmentCheck({
    addresses: (url) => {
      asked.push(url.href)
      return url.hostname === 'files.example'
    },
  })

  test('one that the application allows is passed on as it was checked', () => {
    const sent = [
      'https://files.example/a.pdf',
      'https://FILES.example:443/a/../b.pdf?v=1#p',
      'https:\\\\files.example\\@169.254.169.254/',
    ]
    expect(check(sent.map((url) => ({ ...file, url }))).map(({ url }) => url)).toEqual([
      'https://files.example/a.pdf',
      'https://files.example/b.pdf?v=1#p',
      'https://files.example/@169.254.169.254/',
    ])
  })

  test.each([
    ...[
      'https://169.254.169.254/',
      'https://127.0.0.1./',
      'https://2130706433/',
      'https://0x7f.1/',
      'https://0177.0.0.1/',
    ],
    ...['https://127.1/', 'https://%31%32%37.0.0.1/', 'https://①②⑦.0.0.1/', 'https://８.８.８.８/'],
    ...['https://[::1]/', 'https://[::ffff:169.254.169.254]/', 'https://[2001:db8::1]/'],
    ...[
      'https://localhost/',
      'https://LOCALHOST./',
      'https://loc%61lhost/',
      'https://a.localhost/',
      'https://metadata/',
    ],
    ...['https://printer.local/', 'https://metadata.google.internal/', 'https://db.internal.:8443/', 'https://a.b../'],
    ...[
      'http://files.example/',
      'ftp://files.example/',
      'file:///etc/passwd',
      'data:text/plain,x',
      '//files.example/',
      '',
    ],
    `https://files.example/${'x'.repeat(8_192)}`,
    `https://${Array.from({ length: 2_600 }, (_, index) => String.fromCharCode(0x4e00 + index)).join('')}.example/`,
    `https:\\\\${'x'.repeat(300)}.example/`,
  ])('%s is refused, and the application is not asked', (url) => {
    asked.length = 0
    expect(() => check([{ ...file, url }])).toThrow('This address cannot be sent as an attachment.')
    expect(asked).toEqual([])
  })

  test('false refuses it', () => {
    const ask = createAttachmentCheck({ addresses: () => false })
    expect(() => ask([{ ...file, url: 'https://files.example/' }])).toThrow('This address cannot be sent')
  })

  test.each([
    ['a promise', async () => true, 'object'],
    ['a promise that rejects', () => Promise.reject(new Error('lookup failed')), 'object'],
    ['1', () => 1, 'number'],
  ])('an answer that is not a boolean is an error of the application: %s', (_name, addresses, got) => {
    const ask = createAttachmentCheck({ addresses: addresses as never })
    expect(() => ask([{ ...file, url: 'https://files.example/' }])).toThrow(
      new TypeError(`attachments.addresses must return true or false, and not a promise; got ${got}.`),
    )
  })

  test.each(['bytes', undefined, { mediaTypes: ['image/heic'] }] as const)('%j takes none', (option) => {
    expect(() => createAttachmentCheck(option)([{ ...file, url: 'https://files.example/' }])).toThrow(
      'An attachment must be sent as bytes in base64, not as an address.',
    )
  })
})

describe('media types', () => {
  const check = createAttachmentCheck()

  test.each([
    ...['image/png', 'IMAGE/JPEG', 'image/gif', 'image/webp', 'application/pdf', 'audio/mpeg', 'audio/x-wav'],
    ...['text/plain', 'text/csv', 'text/markdown'],
  ])('%s is taken', (mediaType) => {
    expect(check([{ ...bytes, mediaType }])).toEqual([{ ...bytes, mediaType }])
  })

  test.each([
    'text/html',
    'image/svg+xml',
    'application/zip',
    'video/mp4',
    'audio',
    'image/*',
    '',
    'text/html;x=audio/*',
  ])('%j is refused', (mediaType) => {
    expect(() => check([bytes, { ...bytes, mediaType }])).toThrow('Files of this type cannot be sent here.')
  })

  test('the application adds types, and all types of a kind', () => {
    const more = createAttachmentCheck({ mediaTypes: ['image/HEIC', 'video/*'] })
    for (const mediaType of ['image/heic', 'video/mp4', 'image/png'])
      expect(more([{ ...bytes, mediaType }])).toHaveLength(1)
    expect(() => more([{ ...bytes, mediaType: 'text/html' }])).toThrow('Files of this type')
  })
})

test.each([
  ['../../etc/passwd', 'passwd'],
  ['C:\\Users\\ada\\a.pdf', 'a.pdf'],
  ['a.pdf', 'a.pdf'],
  ['../..', 'file'],
  ['a/', 'file'],
])('the name %j has no folders: %j', (name, expected) => {
  expect(createAttachmentCheck()([{ ...bytes, name }])).toEqual([{ ...bytes, name: expected }])
})

test('false takes no attachment', () => {
  const check = createAttachmentCheck(false)
  expect(check([])).toEqual([])
  expect(() => check([bytes])).toThrow('Attachments cannot be sent here.')
})

test('the engine names what is wrong with an item of another form', () => {
  const items = [7, null, 'x', [], {}, { mediaType: 7, url: 7, name: 7 }]
  expect(createAttachmentCheck()<unknown>(items)).toEqual(items)
})
