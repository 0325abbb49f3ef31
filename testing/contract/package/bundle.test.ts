/** Decides what the root may weigh and need when an application bundles it, with no peer installed. */
import { gzipSync } from 'node:zlib'
import { type BuildResult, build } from 'esbuild'
import { describe, expect, inject, test } from 'vitest'

type Platform = 'node' | 'browser' | 'neutral'
type Bundle = BuildResult<{ write: false; metafile: true }>

const targets: readonly (readonly [string, Platform, readonly string[]])[] = [
  ['node', 'node', ['node', 'import']],
  ['browser', 'browser', ['browser', 'import']],
  ['workerd', 'neutral', ['workerd', 'worker', 'browser', 'import']],
]
const subpaths = ['turnkeeper', 'turnkeeper/fetch', 'turnkeeper/testing']
const maximumBytes = 20 * 1024

function bundle(subpath: string, platform: Platform, conditions: readonly string[]): Promise<Bundle> {
  return build({
    stdin: { contents: `export * from '${subpath}'`, resolveDir: inject('consumer') },
    bundle: true,
    format: 'esm',
    platform,
    conditions: [...conditions],
    minify: true,
    write: false,
    metafile: true,
    logLevel: 'silent',
  })
}

describe.each(targets)('for %s', (name, platform, conditions) => {
  test.each(subpaths)('%s bundles whole, with no import left over', async (subpath) => {
    const { metafile, outputFiles, warnings } = await bundle(subpath, platform, conditions)
    expect(warnings).toEqual([])
    expect(Object.values(metafile.outputs).flatMap(({ imports }) => imports)).toEqual([])
    expect(outputFiles[0]?.text).not.toMatch(/["'`]node:/)
  })

  test('the root, minified and gzipped, is at most 20 KB', async () => {
    const [output] = (await bundle('turnkeeper', platform, conditions)).outputFiles
    if (output === undefined) throw new Error('esbuild wrote no file')
    const bytes = gzipSync(output.contents, { level: 9 }).length
    console.log(`turnkeeper for ${name}: ${bytes} bytes minified and gzipped (at most ${maximumBytes})`)
    expect(bytes).toBeLessThanOrEqual(maximumBytes)
  })
})

test('the probe itself can fail: hono is not installed, so its entry point does not bundle', async () => {
  await expect(bundle('turnkeeper/hono', 'node', ['node', 'import'])).rejects.toThrow('Could not resolve "hono"')
})
