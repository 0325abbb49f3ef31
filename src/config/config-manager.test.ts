import { afterEach, describe, expect, test, vi } from 'vitest'
import { InvalidInputError } from '../errors/engine-errors.js'
import { ConfigManager } from './config-manager.js'

const key = 'TURNKEEPER_UNIT_TEST_SETTING'

afterEach(() => {
  vi.unstubAllEnvs()
  vi.unstubAllGlobals()
})

/** Reads while the global `process` is something else. It is put back before the test runner misses it. */
function readWithProcess(process: unknown, config: ConfigManager): string | undefined {
  vi.stubGlobal('process', process)
  try {
    return config.get(key)
  } finally {
    vi.unstubAllGlobals()
  }
}

describe('ConfigManager', () => {
  test('a value passed in wins over the environment, which wins over a default', () => {
    const defaults = { [key]: 'default' }
    expect(new ConfigManager().get(key)).toBeUndefined()
    expect(new ConfigManager({ defaults }).get(key)).toBe('default')
    vi.stubEnv(key, 'environment')
    expect(new ConfigManager({ defaults }).get(key)).toBe('environment')
    expect(new ConfigManager({ values: { [key]: 'value' }, defaults }).get(key)).toBe('value')
  })

  test('reads the environment when it is asked, not when it is made', () => {
    const config = new ConfigManager()
    vi.stubEnv(key, 'later')
    expect(config.get(key)).toBe('later')
  })

  test('an empty environment variable counts as not set', () => {
    vi.stubEnv(key, '')
    expect(new ConfigManager().get(key)).toBeUndefined()
    expect(new ConfigManager({ defaults: { [key]: 'default' } }).get(key)).toBe('default')
  })

  test('an empty value that was passed in counts', () => {
    vi.stubEnv(key, 'environment')
    expect(new ConfigManager({ values: { [key]: '' } }).get(key)).toBe('')
  })

  test('a value that is undefined counts as not set', () => {
    const values = { [key]: undefined }
    expect(new ConfigManager({ values, defaults: { [key]: 'default' } }).get(key)).toBe('default')
  })

  test('keeps the values it was made with', () => {
    const values = { [key]: 'first' }
    const defaults = { other: 'first' }
    const config = new ConfigManager({ values, defaults })
    values[key] = 'second'
    defaults.other = 'second'
    expect([config.get(key), config.get('other')]).toEqual(['first', 'first'])
  })

  test.each(['__proto__', 'constructor', 'toString', 'hasOwnProperty'])('%s is a setting like any other', (name) => {
    expect(new ConfigManager({ values: {}, defaults: {} }).get(name)).toBeUndefined()
    expect(() => new ConfigManager().require(name)).toThrow(InvalidInputError)
  })

  test('require gives the value', () => {
    expect(new ConfigManager({ values: { [key]: 'value' } }).require(key)).toBe('value')
  })

  test('require names the key that is missing, and where to set it', () => {
    expect(() => new ConfigManager().require('REDIS_URL_OF_NOBODY')).toThrow(
      new InvalidInputError({
        message: "Setting 'REDIS_URL_OF_NOBODY' is missing. Set it in the environment, or pass it to ConfigManager.",
      }),
    )
  })

  test.each<[string, unknown]>([
    ['no process', undefined],
    ['a process without an environment', {}],
    ['an environment without the setting', { env: {} }],
    ['an environment that only inherits it', { env: Object.create({ [key]: 'inherited' }) }],
    [
      'an environment that may not be read',
      {
        get env(): never {
          throw new Error('permission denied')
        },
      },
    ],
    [
      'a setting that may not be read',
      {
        env: new Proxy(
          {},
          {
            getOwnPropertyDescriptor: () => {
              throw new Error('permission denied')
            },
          },
        ),
      },
    ],
  ])('in a runtime with %s, values and defaults still work', (_name, process) => {
    expect(readWithProcess(process, new ConfigManager())).toBeUndefined()
    expect(readWithProcess(process, new ConfigManager({ defaults: { [key]: 'default' } }))).toBe('default')
    expect(readWithProcess(process, new ConfigManager({ values: { [key]: 'value' } }))).toBe('value')
  })

  test('in any runtime with process.env, reads that', () => {
    expect(readWithProcess({ env: { [key]: 'there' } }, new ConfigManager())).toBe('there')
  })
})
