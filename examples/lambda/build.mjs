/**
 * Bundles the handler to one file, which starts faster than a folder of packages.
 *
 *     node lambda/build.mjs handler.mjs
 */
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'

await build({
  entryPoints: [fileURLToPath(new URL('handler.ts', import.meta.url))],
  outfile: process.argv[2] ?? 'handler.mjs',
  bundle: true,
  minify: true,
  // A flow is stored under its `id`, but errors name its class.
  keepNames: true,
  platform: 'node',
  target: 'node20',
  format: 'esm',
  // The Redis client is CommonJS, and loads modules of Node by require.
  banner: { js: "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);" },
  // Other databases, which are not installed here.
  external: ['@keyv/postgres', '@keyv/sqlite', 'pg'],
})
