/** Bodies: what JSON can be, and what is sent instead of it. */
import type { SeededRandom } from '../../seeded-random.js'
import { anyBytes, bytesOf, canary, type PlanClasses, type RequestPlan, runPlan, withByteEdits } from '../plan.js'

const oddNames = ['__proto__', 'constructor', 'prototype', 'toString', 'hasOwnProperty', 'then', 'toJSON', '']
const oddValues: readonly unknown[] = [null, true, 0, -1, 1.5, 1e21, [], [[]], {}, { a: 1 }, ['a'], '', ' ', '\0', '1']
const oddTexts = [
  '\\ud800',
  '\\udfff\\ud800',
  '\\u0000',
  '\\u2028\\u2029\\u0085',
  '\\u202e\\u200b\\ufeff',
  '\\ud83d\\ude00',
  `\\r\\nX-Canary: ${canary}\\r\\n\\r\\n`,
  '\\n\\nevent: result\\ndata: {}\\n\\n',
  '</script><script>alert(1)</script>',
  '\\u001b[31m',
]
const notJson = [
  '',
  ' ',
  '{',
  '}',
  '{"flowName":"Talk"',
  '{"flowName":"Talk",}',
  "{'flowName':'Talk'}",
  '{flowName:"Talk"}',
  '{"flowName":"Talk"}{"flowName":"Talk"}',
  '// no\n{"flowName":"Talk"}',
  '{"flowName":"Talk","message":NaN}',
  '{"flowName":"Talk","message":"\t"}',
  '{"flowName":"Talk","message":"\\x"}',
  'undefined',
  'flowName=Talk&message=hi',
  '\0',
  'null',
  'true',
  '1e999',
  '"Talk"',
  '["Talk"]',
  '\x1f\x8b\x08\0\0\0\0\0',
]
const notUtf8 = ['\xff', '\xc0\x80', '\xed\xa0\x80', '\xf8\x88\x80\x80\x80', '\xe2\x82', '\x80', '\xf4\x90\x80\x80']

const withBody = (body: string, changes: Partial<RequestPlan> = {}): RequestPlan => runPlan({}, { body, ...changes })
const refused = (body: string): RequestPlan => withBody(body, { expects: 'refusal' })

function deepJson(random: SeededRandom): RequestPlan {
  const depth = random.pick([2, 30, 60, 62, 63, 64, 65, 66, 70, 100, 1000, 10_000])
  const inner = random.pick([
    '['.repeat(depth) + ']'.repeat(depth),
    `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`,
    `${'[{"a":'.repeat(depth)}1${'}]'.repeat(depth)}`,
    '['.repeat(depth),
  ])
  const place = random.pick(['config', 'other', 'message', 'whole'])
  const body = place === 'whole' ? inner : `{"flowName":"Talk","${place}":${inner}}`
  return withBody(body, depth > 64 ? { expects: 'refusal' } : {})
}

function manyKeys(random: SeededRandom): RequestPlan {
  const count = random.pick([1, 10, 100, 2000])
  const prefix = random.pick(['k', '0', 'ä', '\u{1f600}'])
  return runPlan({
    [random.pick(['config', 'other'])]: Object.fromEntries(Array.from({ length: count }, (_, n) => [prefix + n, n])),
  })
}

function prototypeKeys(random: SeededRandom): RequestPlan {
  const name = random.pick(oddNames)
  const value = random.pick(['{"polluted":"yes"}', '"yes"', 'null', '{"prototype":{"polluted":"yes"}}', '[]'])
  const member = `${JSON.stringify(name)}:${value}`
  return withBody(
    random.pick([
      `{"flowName":"Talk",${member}}`,
      `{"flowName":"Talk","config":{${member}}}`,
      `{"flowName":"Context","config":{"a":{${member}}}}`,
      `{"flowName":"Talk","config":{${member},${member}}}`,
      `{${member}}`,
      `{"flowName":${JSON.stringify(name)}}`,
      `{"flowName":"Talk","flowName":"Report",${member}}`,
    ]),
  )
}

function wrongTypes(random: SeededRandom): RequestPlan {
  const fields: Record<string, unknown> = {}
  for (const name of ['flowName', 'message', 'config', 'session', 'success', 'owner']) {
    if (random.chance(0.5)) fields[name] = random.pick(oddValues)
  }
  return runPlan(fields)
}

function flowNames(random: SeededRandom): RequestPlan {
  const flowName = random.pick([
    'talk',
    'Talk ',
    ' Talk',
    'Talk\0',
    '\u03a4alk',
    `X-Canary: ${canary}`,
    `a\r\nX-Canary: ${canary}\r\n`,
    'x'.repeat(random.pick([10, 199, 200, 201, 5000, 60_000])),
    '\u{1f600}'.repeat(100),
    '../Talk',
    '%54alk',
    ...oddNames,
  ])
  return runPlan({ flowName }, { expects: 'refusal' })
}

/** The classes of bodies. */
export const jsonClasses: PlanClasses = {
  'deep JSON': deepJson,
  'many keys': manyKeys,
  'huge keys': (random) => {
    const key = random.pick(['k', 'ü', '\\']).repeat(random.pick([1000, 30_000, 62_000]))
    return runPlan(random.chance(0.5) ? { config: { [key]: 1 } } : { [key]: 1 })
  },
  'prototype keys': prototypeKeys,
  'large bodies': (random) =>
    runPlan({
      [random.pick(['message', 'config', 'other'])]: 'x'.repeat(random.pick([60_000, 131_000, 131_100, 200_000])),
    }),
  'odd text': (random) =>
    withBody(
      `{"flowName":"${random.pick(['Talk', 'Chat', 'Report', 'Context'])}","message":"${random.pick(oddTexts).repeat(random.pick([1, 1, 20]))}"}`,
    ),
  'invalid UTF-8': (random) => refused(`{"flowName":"Talk","message":"a${random.pick(notUtf8)}b"}`),
  'byte order marks': (random) =>
    withBody(
      random.pick(['\xef\xbb\xbf', '\xfe\xff', '\xff\xfe', '\xef\xbb\xbf\xef\xbb\xbf']) +
        bytesOf('{"flowName":"Talk"}'),
    ),
  'wrong types': wrongTypes,
  'flow names': flowNames,
  'not JSON': (random) => refused(random.pick(notJson)),
  'edited JSON': (random) => withBody(withByteEdits(random, '{"flowName":"Talk","message":"hi","config":{"a":[1,2]}}')),
  'random bytes': (random) => withBody(anyBytes(random, random.pick([1, 10, 100, 3000]))),
}
