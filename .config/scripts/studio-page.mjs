/**
 * Builds the studio's page: one HTML text with one script and one style, so that the server can name the hashes of both
 * in its policy, and with the licences of what is inlined.
 */
import { readFile } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { build } from 'esbuild'
import { inlinedPackages } from './sbom.mjs'

const absWorkingDir = fileURLToPath(new URL('../..', import.meta.url))

/** The page as one HTML text. */
export async function buildStudioPage() {
  const folder = 'testing/studio/page'
  const entryPoints = [`${folder}/main.ts`, `${folder}/page.css`]
  const output = { bundle: true, minify: true, write: false, outdir: 'dist', format: 'iife', target: 'es2022' }
  const { outputFiles } = await build({ absWorkingDir, entryPoints, legalComments: 'none', ...output })
  const [script, style] = outputFiles.map(({ text }) => text.trim().replaceAll('</script', '<\\/script'))
  const licenceOf = async (name) =>
    `${name}\n\n${await readFile(`${absWorkingDir}/node_modules/${name}/LICENSE`, 'utf8')}`
  const licences = await Promise.all(inlinedPackages.map(licenceOf))
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Turnkeeper studio</title>
<link rel="icon" href="data:,">
<style>${style}</style>
<body></body>
<script>${script}</script>
</html>
<!-- This page contains:

${licences.join('\n\n')}
-->
`
}
