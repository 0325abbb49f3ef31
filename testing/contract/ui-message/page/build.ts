/// <reference types="node" />
// The bundles of the page: one for each version of the AI SDK.
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

/** The versions of `ai`, and those of `@ai-sdk/react` that belong to them. */
export const versions = { 5: 2, 6: 3, 7: 4 } as const

const folder = fileURLToPath(new URL('..', import.meta.url))

/** Bundles the page with one version of `ai`. */
export async function bundlePage(version: keyof typeof versions): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: folder,
    entryPoints: ['page/chat.mjs'],
    alias: { ai: `ai-${version}`, '@ai-sdk/react': `@ai-sdk/react-${versions[version]}` },
    bundle: true,
    format: 'esm',
    target: 'es2022',
    define: { 'process.env.NODE_ENV': '"production"' },
    logLevel: 'error',
    write: false,
  })
  return outputFiles[0]?.text ?? ''
}
