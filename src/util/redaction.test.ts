import { readFileSync } from 'node:fs'
import { lintSource } from '@secretlint/core'
import { creator as recommended } from '@secretlint/secretlint-rule-preset-recommend'
import { describe, expect, test } from 'vitest'
import { redact } from './redaction.js'

const lower = 'abcdefghijklmnopqrstuvwxyz'
const hexDigits = '0123456789abcdef'
const letters = `${lower.toUpperCase()}${lower}0123456789`

/**
 * Characters that look random but are the same each time. A scanner would report a secret that was written out in this
 * file.
 */
function some(length: number, alphabet = letters, seed = 7): string {
  let state = seed
  let text = ''
  for (let index = 0; index < length; index++) {
    state = (state * 48_271 + 11) % 2_147_483_647
    text += alphabet.charAt(state % alphabet.length)
  }
  return text
}

const hex = (length: number): string => some(length, hexDigits)
const capitals = (length: number): string => some(length, 'ABCDEFGHJKLMNPQRSTUVWXYZ234567')
const encode = (value: object | string): string =>
  btoa(typeof value === 'string' ? value : JSON.stringify(value)).replaceAll('=', '')
const jwt = [encode({ alg: 'HS256', typ: 'JWT' }), encode({ sub: '42', name: 'Ada' }), some(43)].join('.')
const pem = (kind: string, line = '\n'): string =>
  [`-----BEGIN ${kind}PRIVATE KEY-----`, some(64), some(64), some(64), `-----END ${kind}PRIVATE KEY-----`].join(line)
const card = ['4111', '1111', '1111', '1111'] as const
const account = ['DE89', '3704', '0044', '0532', '0130', '00'] as const

/**
 * For each row of the table in docs/failures.md: texts that contain a secret, and the secret, of which nothing may
 * remain.
 */
const corpus: Readonly<Record<string, readonly (readonly [text: string, secret: string])[]>> = {
  'Private keys': ['', 'RSA ', 'EC ', 'DSA ', 'OPENSSH ', 'ENCRYPTED '].flatMap((kind) => [
    [`key:\n${pem(kind)}\nend`, some(64)],
    [JSON.stringify({ type: 'service_account', private_key: pem(kind, '\n') }), some(64)],
    [pem(kind).slice(0, 120), some(60)],
  ]),
  'Users in addresses': [
    ...['postgres', 'postgresql', 'mysql', 'jdbc:mysql', 'mongodb', 'mongodb+srv', 'amqps', 'https'].map(
      (scheme) => [`${scheme}://bob:${some(12)}@db.example.com:5432/shop`, `bob:${some(12)}`] as const,
    ),
    ...['s3/cret', 's3?cr#et', '12/34567', 'a@b/c@d:e', '//se/cret'].map(
      (password) => [`could not reach postgres://app:${password}@db/shop`, `app:${password}`] as const,
    ),
    ['redis://:12345/67@cache:6379/0', ':12345/67'],
    ['https://bob:pass/word@example.com', 'bob:pass/word'],
  ],
  Webhooks: [
    ['hooks.slack.com/services/', `T${capitals(9)}/B${capitals(9)}/${some(24)}`],
    ['discord.com/api/v10/webhooks/', `123456789012345678/${some(68)}`],
    ['discord.com/api/webhooks/', `123456789012345678/${some(68)}`],
    ['example.webhook.office.com/webhookb2/', `${some(36)}@${some(36)}`],
  ].map(([host = '', path = '']) => [`posting to https://${host}${path} failed`, path] as const),
  'Headers and JSON Web Tokens': [
    [`Authorization: Bearer ${some(40)}`, some(40)],
    [`bearer ${jwt}`, jwt],
    [`the token ${jwt} has expired`, jwt],
    [`${jwt.slice(0, jwt.lastIndexOf('.'))}.`, encode({ sub: '42', name: 'Ada' })],
    [`jwe ${[encode({ alg: 'dir' }), '', some(16), some(40), some(22)].join('.')}`, some(40)],
    [`Authorization: Basic ${btoa(`bob:${some(9)}`)}`, btoa(`bob:${some(9)}`)],
    [`sent basic ${btoa('ada:s3cret?')} to it`, btoa('ada:s3cret?')],
    ['Authorization: Basic asO8cmdlbjpnZWhlaW0=', 'asO8cmdlbjpnZWhlaW0'],
    ['Authorization: Basic 55So5oi3OnB3', '55So5oi3OnB3'],
    [`Authorization: ApiKey ${some(30)}7`, some(30)],
    [`Authorization: ${some(30)}7`, some(30)],
  ],
  'Cloud keys': [
    [`AK${'IA'}`, capitals(16)],
    [`AS${'IA'}`, capitals(16)],
    [`A3${'TX'}`, capitals(16)],
    [`AI${'za'}`, some(35)],
    [`GOC${'SPX-'}`, some(28)],
    [`ya${'29.'}`, `${some(30)}-${some(30)}`],
    ['1/', `/0${some(50)}`],
    ['', `${some(3)}8${'Q~'}${some(34)}`],
    [`do${'p_v1_'}`, hex(64)],
    [`hv${'s.'}`, some(95)],
    [`hv${'b.'}`, some(150)],
    [`da${'pi'}`, hex(32)],
    ['', `${some(14)}.atlas${'v1.'}${some(67)}`],
    [`vc${'p_'}`, some(24)],
    [`gl${'c_'}`, some(60)],
    [`gl${'sa_'}`, `${some(32)}_${hex(8)}`],
    [`ops${'_ey'}`, some(120)],
    [`HR${'KU-'}`, `${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`],
    [`sntry${'s_'}`, some(80)],
    [`pscale_${'tkn_'}`, some(43)],
    [`nf${'p_'}`, some(36)],
    [`sb${'p_'}`, hex(40)],
    [`NR${'AK-'}`, capitals(27)],
    [`dp.${'pt.'}`, some(43)],
  ].map(([sign = '', rest = '']) => [`the cloud refused ${sign}${rest}, sorry`, rest] as const),
  'Git hosts and package registries': [
    ...['o', 'p', 'r', 's', 'u'].map((kind) => [`gh${kind}_`, some(36)]),
    [`github_${'pat_'}`, `${some(22)}_${some(59)}`],
    ...['pat', 'dt', 'rt', 'cbt', 'soat'].map((kind) => [`gl${kind}-`, some(20)]),
    [`AT${'ATT3'}`, some(186)],
    [`AT${'BB'}`, some(32)],
    [`np${'m_'}`, some(36)],
    [`py${'pi-'}`, `AgEIcHlwaS5vcmc${some(70)}`],
    [`ruby${'gems_'}`, hex(48)],
    ['oy2', some(43, lower)],
    ['cio', some(32)],
    [`dckr_${'pat_'}`, `${some(13)}-${some(13)}`],
  ].map(([sign = '', rest = '']) => [`remote: ${sign}${rest} is wrong`, rest] as const),
  'Chat, mail, payment and other services': [
    ['xox' + 'b-', `123456789012-1234567890123-${some(24)}`],
    ['xox' + 'p-', `123456789012-123456789012-123456789012-${hex(32)}`],
    ['xa' + 'pp-', `1-A${capitals(10)}-1234567890123-${hex(64)}`],
    ['', `M${some(23)}.${some(6)}.${some(38)}`],
    ['', `1234567890:${'AA'}${some(33)}`],
    ['SG' + '.', `${some(22)}.${some(43)}`],
    ['SK', hex(32)],
    ['key-', hex(32)],
    ['', `${hex(32)}-us12`],
    ['pat-', `na1-${hex(8)}-${hex(4)}-${hex(4)}-${hex(4)}-${hex(12)}`],
    [`sk_${'live_'}`, some(24)],
    [`rk_${'live_'}`, some(24)],
    [`wh${'sec_'}`, some(32)],
    [`shp${'at_'}`, hex(32)],
    [`lin_${'api_'}`, some(40)],
    [`nt${'n_'}`, `12345678901${some(35)}`],
    ['secret_', some(43)],
    [`fi${'gd_'}`, some(40)],
    [`PM${'AK-'}`, `${hex(24)}-${hex(34)}`],
  ].map(([sign = '', rest = '']) => [`service said: ${sign}${rest} is unknown`, rest] as const),
  "Model providers' keys": [
    ['sk-', some(48)],
    ['sk-', `proj-${some(74)}${'T3Blbk'}FJ${some(74)}`],
    ['sk-', `ant-api03-${some(93)}AA`],
    ['sk-', `or-v1-${hex(64)}`],
    [`AI${'za'}`, some(35)],
    [`hf${'_'}`, some(34)],
    [`gs${'k_'}`, some(52)],
    [`xa${'i-'}`, some(80)],
    [`r8${'_'}`, some(37)],
    [`pp${'lx-'}`, some(48)],
    [`cs${'k-'}`, some(48, `${lower}0123456789`)],
  ].map(([sign = '', rest = '']) => [`Incorrect API key provided: ${sign}${rest}.`, rest] as const),
  'Values of names': [
    ...[
      'password',
      'passwd',
      'pwd',
      'Passphrase',
      'secret',
      'client_secret',
      'token',
      'access_token',
      'refreshToken',
    ].map((name) => [`${name}=hunter-two&next=1`, 'hunter-two'] as const),
    ...['apiKey', 'api-key', 'x_api_key', 'AccountKey', 'SharedAccessKey', 'private_key', 'X-Amz-Signature', 'sig'].map(
      (name) => [`${name}=${some(20)}==;more`, some(20)] as const,
    ),
    ...['aws_secret_access_key', 'AWS_SECRET_ACCESS_KEY', 'SecretAccessKey', 'secret-key'].map(
      (name) => [`${name} = ${some(40)}`, some(40)] as const,
    ),
    ['password = hunter-two', 'hunter-two'],
    ['{"password":"two words, and more"}', 'words, and'],
    [JSON.stringify(JSON.stringify({ user: 'bob', password: 'two words' })), 'two words'],
    ["{ password: 'it is \\'quoted\\' so' }", 'quoted'],
    ['"api_key" => "hunter-two"', 'hunter-two'],
    ['{"token":"a text that was cu', 'a text that was cu'],
    ['<Password>hunter-two</Password>', 'hunter-two'],
    ['password: hunter2', 'hunter2'],
    ['token: abc123def', 'abc123def'],
    ['?access_token=abc&user=ada', 'abc'],
  ],
  'Card numbers': [
    [`card ${card.join('')} declined`, card.join('')],
    [`card ${card.join(' ')} declined`, '1111 1111'],
    [`card-${card.join('-')}.`, '1111-1111'],
    [`order 1234 ${card.join(' ')} 123`, '1111 1111'],
    [['3782', '822463', '10005'].join(' '), '822463'],
    [['3782', '822463', '10005'].join(''), '822463'],
    [['5555', '5555', '5555', '4444'].join(' '), '5555 5555'],
    [['2223', '0031', '2200', '3222'].join(''), '00312200'],
    [['3056', '930902', '5904'].join(' '), '930902'],
    [['6011', '1111', '1111', '1117'].join(''), '11111111'],
    [['6304', '0000', '0000', '0000', '000'].join(' '), '0000 0000'],
  ],
  'Account numbers': [
    [`pay to ${account.join('')} now`, account.join('').slice(4)],
    [`PAY TO ${account.join(' ')} PLEASE`, account.slice(1).join(' ')],
    [`IBAN:${account.join('')}`, account.join('').slice(4)],
    [`AB12 ${account.join(' ')}`, account.slice(1).join(' ')],
    [['GB82', 'WEST', '1234', '5698', '7654', '32'].join(' '), '5698 7654'],
    [`${['BE68', '5390', '0754', '7034'].join(' ')} PAID`, '0754 7034'],
    [['FR14', '2004', '1010', '0505', '0001', '3M02', '606'].join(''), '20041010'],
    [['NO93', '8601', '1117', '947'].join(' '), '8601 1117'],
  ],
}

describe.each(Object.entries(corpus))('%s', (_row, samples) => {
  test.each(samples)('%s', (text, secret) => {
    expect(text).toContain(secret)
    const cleaned = redact(text)
    expect(cleaned).toContain('[redacted]')
    for (let at = 0; at + 6 <= secret.length; at++) expect(cleaned).not.toContain(secret.slice(at, at + 6))
    expect(cleaned).not.toContain(secret)
    // A redacted text does not change again.
    expect(redact(cleaned)).toBe(cleaned)
  })
})

test.each([
  [
    'postgres://bob:hunter2@db/x, Bearer abc.def and sk-1234567890abcdef',
    'postgres://[redacted]@db/x, Bearer [redacted] and [redacted]',
  ],
  [`pay ${card.join(' ')} 123 for order 7`, 'pay [redacted] 123 for order 7'],
  [`pay ${card.join(' ')} 123a`, 'pay [redacted] 123a'],
  [`pay a1 ${card.join(' ')}.`, 'pay a1 [redacted].'],
  [`TO ${account.join(' ')} PLEASE`, 'TO [redacted] PLEASE'],
  ['?access_token=abc&user=ada', '?access_token=[redacted]&user=ada'],
  ['{"password":"hunter-two","user":"ada"}', '{"password":"[redacted]","user":"ada"}'],
  [`key ${pem('RSA ')} and more`, 'key [redacted] and more'],
  [`Authorization: Basic ${btoa('bob:pw')}, sorry`, 'Authorization: Basic [redacted], sorry'],
])('leaves what is around a secret: %s', (text, expected) => {
  expect(redact(text)).toBe(expected)
})

test.each([
  'Order A-10023 of 2026-11-22T20:46:40.123Z costs 4,111.00 EUR, not 0.4111111111111111.',
  'Order 4711 0815 is on its way: parcel 1Z999AA10123456784, 00340434161094042557.',
  'Card ending in 1111. Ref 20261122204640. EAN 4006381333931. At 1795380400123 ms.',
  `Four groups without a check digit: ${card.slice(0, 3).join(' ')} 1112, and 1234 5678 9012 3456.`,
  `IDs ${card.join('-')}a, a${card.join('-')}, 0.${card.join('-')} and ${card.join('-')}.5`,
  'Session 550e8400-e29b-41d4-a716-446655440000, 00000000-4111-1111-1111-111111111111.',
  `Session ${some(32, `${letters}-_`)}, turn ${some(22, `${letters}-_`)}.`,
  `sha256 ${hex(64)}, git ${hex(40)}, md5 ${hex(32)}, integrity sha512-${some(86)}==`,
  'Not an account: DE88 3704 0044 0532 0130 00, AB12CDEF3456GHIJ, ORDER 2026 0001 0002 0003.',
  'Wrong password: try again. The password is too short. Your token has expired. Secret: none.',
  'maxTokens=512, max_tokens: 4096, inputTokens=12, token_count=7, 8 tokens: 12 of 20',
  'token === undefined, if (password == null)',
  'basic questions, Basic plan, basic arithmetical exercises; a signature of two people',
  'mail bob@example.com, see https://example.com/a@b and https://example.com?x=1#y',
  'npm_config_user_agent, global-configuration-of-everything, task-abcdefghijk, design=modern',
  'Devices 356938035643809 and 490154203237518 are not eligible.',
  'It violates "pk_appointments" and pk_appointments_by_day_and_hour; sk-learning-course is full.',
  'Unexpected token: "}" at 3, \'<\' is one, too; token: "," is',
  'http://localhost:4873/@scope/package, ws://[::1]:3000/@scope, "redis://cache:6379/0", "ann@b.example"',
  'https://shop.example?mail=ann@b.example and https://shop.example#ann@b.example are wrong',
  'Call +49 30 901820 or 0800 1111 2222; 12/2028; 192.168.100.100; 1.234.567.890.123',
])('leaves what users need to see: %s', (text) => {
  expect(redact(text)).toBe(text)
})

test('does not miss what secretlint finds', async () => {
  const config = { rules: [{ id: '@secretlint/secretlint-rule-preset-recommend', rule: recommended }] }
  const find = async (content: string): Promise<readonly string[]> => {
    const source = { filePath: '/error.txt', content, contentType: 'text', ext: '.txt' } as const
    const { messages } = await lintSource({ source, options: { config, noPhysicFilePath: true } })
    return messages.map(({ range, messageId }) => `${messageId}: ${content.slice(...range)}`)
  }
  let found = 0
  for (const [text] of Object.values(corpus).flat()) {
    found += (await find(text)).length
    expect(await find(redact(text))).toEqual([])
  }
  // It must recognise some of them: if it found nothing, this test would prove nothing.
  expect(found).toBeGreaterThan(30)
})

test('takes linear time, not quadratic', () => {
  const samples = Object.values(corpus).flat()
  const units = samples.flatMap(([text, secret]) => [text, text.slice(0, text.indexOf(secret) + 4), secret.slice(0, 9)])
  const signs = [
    'a',
    'A',
    '1',
    ' ',
    '.',
    '-',
    '=',
    '"',
    "'",
    '\\',
    ':',
    '/',
    '@',
    '_',
    'Q~',
    'eyJ',
    'eyJabcdefgh-',
    'a.',
    '1-',
    'MA.',
    '\\"',
    '://a:',
    '://a:b/',
  ]
  const words = ['token', 'token:', 'password="', 'Bearer ', 'Basic ', 'AB12 ', '1111 ', '-----BEGIN PRIVATE KEY-----']
  const around = [
    '|',
    'password="|',
    "token: '|",
    'token: |\n',
    '://| ',
    '://a:|',
    '1|x',
    'Bearer |!',
    'eyJ|.',
    'SG.|',
    'AB12|a',
    '|1a',
  ]
  const texts = [
    ...units.map((unit) => ({ unit, open: '', close: '' })),
    ...[...signs, ...words].flatMap((unit) =>
      around.map((one) => ({ unit, open: one.slice(0, one.indexOf('|')), close: one.slice(one.indexOf('|') + 1) })),
    ),
  ]
  const slow = texts.filter(({ unit, open, close }) => {
    // Measures processor time, because other processes use the processor too.
    const timeOf = (length: number): number => {
      const text = open + unit.repeat(Math.ceil(length / unit.length)) + close
      const before = process.cpuUsage().user
      redact(text)
      return (process.cpuUsage().user - before) / 1000
    }
    const isSlow = (): boolean => {
      const ms = timeOf(16_000)
      // Linear time would be 16 times as much, quadratic time 256 times. A time of almost 0 cannot be compared.
      return ms > 10 && ms > 40 * timeOf(1_000)
    }
    return isSlow() && isSlow() && isSlow()
  })
  expect(slow).toEqual([])
})

test('the table of the page has the rows of this corpus', () => {
  const page = readFileSync(new URL('../../docs/failures.md', import.meta.url), 'utf8')
  const section = page.slice(page.indexOf('## What is blacked out'))
  const rows = section
    .split('\n')
    .filter((line) => line.startsWith('| '))
    .map((line) => line.split('|')[1]?.trim())
  expect(rows.slice(1)).toEqual(Object.keys(corpus))
})
