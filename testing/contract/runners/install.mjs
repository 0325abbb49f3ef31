/**
 * Installs the runners that are too large for everybody (Bun, Deno, Jest: 250 MB) in a folder that neither npm nor a
 * test run reads: `node testing/contract/runners/install.mjs`. `packages/` has the versions.
 */
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const packages = fileURLToPath(new URL('./packages/', import.meta.url))
const folder = fileURLToPath(new URL('../../../node_modules/.cache/turnkeeper-runners/', import.meta.url))
mkdirSync(folder, { recursive: true })
for (const file of ['package.json', 'package-lock.json']) cpSync(`${packages}${file}`, `${folder}${file}`)
// The binaries are in separate packages, so no install script has to run.
execFileSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], { cwd: folder, stdio: 'inherit' })
