/** Session IDs that a careless store confuses, cuts, trims, escapes twice, or reads as a pattern or a path. */

/** IDs that must name different sessions. */
export interface HostileIds {
  /** What is hostile about them. */
  readonly what: string
  /** The IDs, made with a random text, so that they are unique. */
  readonly make: (token: string) => readonly string[] | Promise<readonly string[]>
}

/** The IDs, one entry for each way to be hostile. */
export const hostileIds: readonly HostileIds[] = [
  { what: 'line breaks', make: (token) => [token, `${token}\n`, `${token}\r`, `${token}\r\n`, `\r\n${token}`] },
  { what: 'NUL', make: (token) => [token, `${token}\0`, `${token}\0\0`, `${token}\0a`, `\0${token}`] },
  { what: 'control characters', make: (token) => [`${token}\x01`, `${token}\x1b[0m`, `${token}\x7f`, `${token}\x08`] },
  { what: 'tabs and spaces', make: (token) => [`${token} a`, `${token}  a`, `${token}\ta`, `${token}\u00a0a`] },
  { what: 'trailing spaces', make: (token) => [token, `${token} `, `${token}  `, `${token}\t`, `${token}\u00a0`] },
  { what: 'leading spaces', make: (token) => [token, ` ${token}`, `  ${token}`, `\t${token}`, `\u2003${token}`] },
  { what: 'spaces alone', make: () => [' ', '  ', '\t', '\n', '\u00a0', '\u3000'] },
  { what: 'characters of no width', make: (token) => [token, `${token}\u200b`, `${token}\u200d`, `\ufeff${token}`] },
  { what: 'directions of text', make: (token) => [token, `\u202e${token}`, `${token}\u200f`, `\u2066${token}\u2069`] },
  { what: 'colons', make: (token) => [token, `${token}:`, `:${token}`, `${token}::a`, `${token}:a`, `${token}:::a`] },
  {
    what: 'names that a store may give to its parts',
    make: (token) =>
      ['', ':head', ':history', ':memory', ':memory:Ask', ':revision', ':lock', ':0', ':chunks:0'].map(
        (part) => `${token}${part}`,
      ),
  },
  {
    what: 'prefixes that a store may use',
    make: (token) => [token, `session:${token}`, `sessions:${token}`, `keyv:${token}`, `keyv:keyv:${token}`],
  },
  {
    what: 'separators',
    make: (token) => [':', '_', '/', '-', '.', '|', '#', ' ', ''].map((separator) => `${token}${separator}a`),
  },
  { what: 'hash tags of a cluster', make: (token) => [token, `{${token}}`, `{${token}}a`, `{}${token}`, `{${token}`] },
  { what: 'asterisks', make: (token) => [token, `${token}*`, `*${token}`, `${token}a`, `${token}**`] },
  { what: 'question marks', make: (token) => [token, `${token}?`, `${token}a`, `${token}??`] },
  { what: 'square brackets', make: (token) => [`${token}a`, `${token}[a]`, `${token}[^a]`, `${token}[a-z]`] },
  { what: 'percent signs', make: (token) => [token, `${token}%`, `%${token}`, `${token}a`, `${token}%%`] },
  { what: 'underscores', make: (token) => [`${token}_`, `${token}a`, `${token}__`, `${token}-`] },
  { what: 'escapes of a URL', make: (token) => [`${token}/`, `${token}%2F`, `${token}%2f`, `${token}%252F`] },
  { what: 'plus signs', make: (token) => [`${token} a`, `${token}+a`, `${token}%20a`, `${token}&#32;a`] },
  { what: 'single quotes', make: (token) => [`${token}'`, `${token}''`, `' OR '1'='1' -- ${token}`] },
  { what: 'double quotes', make: (token) => [`${token}"`, `${token}""`, `${token}\\"`, `"${token}"`] },
  {
    what: 'backticks and dollars',
    make: (token) => [token, `${token}\``, `\${${token}}`, `$1${token}`, `$${token}`, `$$${token}$$`],
  },
  {
    what: 'backslashes',
    make: (token) => [`${token}\\`, `${token}\\\\`, `${token}\\n`, `${token}\\0`, `${token}\\x00`],
  },
  {
    what: 'statements',
    make: (token) => [token, `${token}'; DROP TABLE sessions; --`, `${token}; FLUSHALL`, `${token}/*`],
  },
  { what: 'upper and lower case', make: (token) => [`${token}-a`, `${token}-A`, `x${token}`, `X${token}`] },
  { what: 'accents, composed and not', make: (token) => [`${token}\u00e9`, `${token}e\u0301`, `${token}e`] },
  {
    what: 'sharp s',
    make: (token) => ['Stra\u00dfe', 'STRASSE', 'Strasse', 'STRA\u1e9eE'].map((word) => `${word}${token}`),
  },
  {
    what: 'i with a dot and without',
    make: (token) => ['i', 'I', '\u0130', '\u0131', 'i\u0307'].map((i) => `${token}${i}`),
  },
  {
    what: 'look-alikes',
    make: (token) => ['fi', '\ufb01', '\u0441', 'c', '\uff11', '1'].map((letter) => `${token}${letter}`),
  },
  {
    what: 'one letter of three ohms',
    make: (token) => ['\u2126', '\u03a9', '\u03c9', '\u212b', '\u00c5'].map((letter) => `${token}${letter}`),
  },
  {
    what: 'emoji',
    make: (token) =>
      [
        '\u{1f44d}',
        '\u{1f44d}\u{1f3fd}',
        '\u{1f468}\u{1f469}',
        '\u{1f468}\u200d\u{1f469}',
        '\u2764',
        '\u2764\ufe0f',
      ].map((emoji) => `${token}${emoji}`),
  },
  {
    what: 'lone surrogates',
    make: (token) => ['\ud800', '\ud801', '\udfff', '\ufffd', '?', '\u{10000}'].map((unit) => `${token}${unit}`),
  },
  { what: 'numbers', make: (token) => numbersAround(token) },
  {
    what: 'numbers too big to be exact',
    make: (token) => ['1', '2', '3'].map((digit) => `9${digitsOf(token)}${digit}`),
  },
  { what: 'words of a language', make: () => ['undefined', 'null', 'NaN', 'true', 'false', 'None', '[object Object]'] },
  { what: '__proto__', make: () => ['__proto__', '__proto__.polluted', 'prototype'] },
  { what: 'constructor', make: () => ['constructor', 'constructor.prototype', 'Constructor'] },
  {
    what: 'toString and other inherited names',
    make: () => ['toString', 'valueOf', 'hasOwnProperty', '__defineGetter__'],
  },
  {
    what: 'paths',
    make: (token) => [token, `../${token}`, `./${token}`, `${token}/`, `/${token}`, `a/../${token}`, `//${token}`],
  },
  {
    what: 'paths of Windows',
    make: (token) => [token, `..\\${token}`, `C:\\${token}`, `${token}.`, `${token}::$DATA`, `CON.${token}`],
  },
  {
    what: 'URLs',
    make: (token) => [`http://${token}/`, `http://${token}`, `${token}?a=1`, `${token}#a`, `${token}&a=1`],
  },
  { what: 'dots and operators', make: (token) => [token, `${token}.a`, `${token}..a`, `$${token}`, `${token}.$ne`] },
  { what: 'JSON', make: (token) => [`"${token}"`, `["${token}"]`, `{"id":"${token}"}`, `{"id": "${token}"}`, token] },
  { what: 'base64', make: (token) => ['', '=', '==', '-_', '+/'].map((end) => `${token}${end}`) },
  { what: 'commas and lists', make: (token) => [token, `${token},`, `${token},${token}`, `${token};${token}`] },
  { what: '256 characters', make: (token) => ['a', 'b'].map((last) => `${token.repeat(16).slice(0, 255)}${last}`) },
  {
    what: '1 000 characters that differ in the last',
    make: (token) => ['a', 'b', ''].map((last) => `${token.padEnd(999, 'x')}${last}`),
  },
  {
    what: '70 KB',
    make: (token) => [
      `${token}${'x'.repeat(70_000)}a`,
      `${token}${'x'.repeat(70_000)}b`,
      `a${'x'.repeat(70_000)}${token}`,
      token,
    ],
  },
  {
    what: '70 KB in two bytes each',
    make: (token) => ['\u00e9', '\u00e8'].map((last) => `${token}${'\u00e9'.repeat(35_000)}${last}`),
  },
  { what: 'the digests of other IDs', make: (token) => digestsOf(`${token} ::{a}*`) },
]

/** Decimal digits, as many as `token` has characters. */
function digitsOf(token: string): string {
  return Array.from(token, (character) => String(Number.parseInt(character, 16) % 10)).join('')
}

/** Texts that are one number. */
function numbersAround(token: string): readonly string[] {
  const digits = `1${digitsOf(token).slice(0, 8)}`
  return [digits, `0${digits}`, `${digits}.0`, `${digits}e0`, `+${digits}`, `-${digits}`, `0x${digits}`]
}

/** An ID, and its SHA-256 in the forms in which a store may use it as a key. */
async function digestsOf(id: string): Promise<readonly string[]> {
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', new TextEncoder().encode(id)))
  const hexadecimal = Array.from(digest, (byte) => byte.toString(16).padStart(2, '0')).join('')
  const base64 = btoa(String.fromCharCode(...digest))
  const base64url = base64.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')
  return [id, hexadecimal, hexadecimal.toUpperCase(), base64, base64url, `sha256:${hexadecimal}`, `#${base64url}`]
}
