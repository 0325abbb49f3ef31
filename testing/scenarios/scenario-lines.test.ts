// Which texts are patterns, and which are texts that have slashes.
import { expect, test } from 'vitest'
import { readLine } from './scenario-lines.js'

test.each<[string, string | RegExp]>([
  ['/^Booked/', /^Booked/],
  ['/^booked$/ims', /^booked$/ims],
  ['/ü/u', /ü/u],
  ['/tables\\/chairs/', /tables\/chairs/],
  ['/etc/hosts', '/etc/hosts'],
  ['/usr/lib/', '/usr/lib/'],
  ['/var/lib/i', '/var/lib/i'],
  ['/Booked/g', '/Booked/g'],
  ['//', '//'],
  ['/\\/', '/\\/'],
  ['\\/home/s', '/home/s'],
  ['\\/home/', '/home/'],
  ['a \\/ b', 'a \\/ b'],
])('"Bot: %s" expects %s', (text, expected) => {
  expect(readLine('Bot', text)).toEqual({ kind: 'reply', expected })
})

test.each<[string, unknown]>([
  ['/^Fri/', /^Fri/],
  ['/etc/hosts', '/etc/hosts'],
  ['\\/home/s', '/home/s'],
  ['\\n', '\\n'],
])('"State of A: day = %s" expects %s', (text, day) => {
  expect(readLine('State of A', `day = ${text}`)).toEqual({ kind: 'state', step: 'A', part: { day } })
})

test('a pattern that is not valid is a problem', () => {
  expect(readLine('Bot', '/(/')).toContain('this is not a valid one')
  expect(readLine('State of A', 'day = /(/i')).toContain('this is not a valid one')
})
