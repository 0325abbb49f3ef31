#!/usr/bin/env node
// `npx turnkeeper <command>`: decides which command runs, and with which code the process ends.
import { readFileSync } from 'node:fs'
import process from 'node:process'
import { LoadingError } from './load-module.mjs'

const commands = ['scenarios', 'diagram', 'chat', 'studio']

const usage = `Usage: turnkeeper <command>

  scenarios  runs scenario files without a test runner
  diagram    prints flows as a Mermaid flowchart, or checks a file that has it
  chat       talks with a flow in the terminal
  studio     shows a flow in the browser while it runs

turnkeeper <command> --help explains a command, and turnkeeper --version prints the version.`

function versionOfPackage() {
  return JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8')).version
}

async function main([name, ...argv]) {
  if (['--version', '-v'].includes(name)) console.log(versionOfPackage())
  else if (name === undefined || ['--help', '-h'].includes(name)) console.log(usage)
  else if (!commands.includes(name)) {
    console.log(`There is no command '${name}': the commands are ${commands.join(', ')}.\n\n${usage}`)
    return 2
  } else return await run(name, argv)
  return name === undefined ? 2 : 0
}

async function run(name, argv) {
  const command = await import(`./${name}.mjs`)
  if (argv.some((word) => ['--help', '-h'].includes(word))) {
    console.log(command.usage)
    return 0
  }
  try {
    return await command[name](argv)
  } catch (error) {
    if (error instanceof LoadingError && error.stack !== undefined) {
      console.error([error.message, ...placeOf(error)].join('\n'))
      return 2
    }
    // Node.js adds to an unknown option how a file is named that begins with a dash.
    const text = error.code === 'ERR_PARSE_ARGS_UNKNOWN_OPTION' ? `${error.message.split('. ')[0]}.` : error.message
    console.error(`${text}\n\n${command.usage}`)
    return 2
  }
}

/** The line of the application's code at which it failed, if one is known. */
function placeOf({ stack }) {
  const commands = new URL('.', import.meta.url).href
  const frames = stack.split('\n').filter((line) => /^ +at /.test(line))
  return frames.filter((line) => !/node:|[\\/]node_modules[\\/]/.test(line) && !line.includes(commands)).slice(0, 1)
}

const code = await main(process.argv.slice(2))
// What a module left open, such as a connection, must not keep the process.
process.stdout.write('', () => process.exit(code))
