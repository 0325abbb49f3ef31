/**
 * Searches the sources and pages for the words in .config/vocabulary.txt, and prints the file, the line, the word and
 * what to write instead. In sources it also finds lines of comments that are too long: the formatter wraps only code.
 * Run it at the root of the repository.
 *
 *     node .config/scripts/vocabulary.mjs            checks the whole tree, and fails on a finding
 *     node .config/scripts/vocabulary.mjs <path>...  checks only these files and folders
 */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

const checkedPaths = ['src', 'adapters', 'testing', 'bin', 'examples', '.config', 'README.md', 'docs']
/** JSON is not checked: it is data, and has no comments. */
const textFile = /\.(?:ts|mts|js|mjs|md|html|css|txt)$/
const skippedFolder = /(?:^|\/)(?:node_modules|dist)$/
/**
 * The list itself, and the glossary, have the words that are not used. Decisions up to 0028 are older than the list,
 * and records do not change.
 */
const skippedFile =
  /^\.config\/vocabulary\.txt$|^docs\/glossary\.md$|^docs\/decisions\/00(?:[01]\d|2[0-8])-|(?:^|\/)package-lock\.json$/
const exception = /vocabulary: \S/
const sourceFile = /\.[cm]?[jt]s$/
const testFile = /\.test(?:-d)?\.[cm]?[jt]s$/
/** The width to which the formatter wraps code. */
const maxCommentWidth = 120

/** The rules in the text of a vocabulary file: `<pattern> => <what to write instead>` on each line. */
export function readRules(text) {
  const lines = text.split('\n').filter((line) => line.trim() !== '' && !line.startsWith('#'))
  return lines.map((line) => {
    const [pattern, instead, ...rest] = line.split(' => ')
    if (!pattern || !instead || rest.length > 0) {
      throw new Error(`A line of the vocabulary must be '<pattern> => <what to write instead>'; got '${line}'.`)
    }
    // A space in a pattern also matches where a comment or a paragraph goes on in the next line.
    const spaced = pattern.replaceAll(' ', String.raw`\s+(?:(?:\*|//|#|>|-)\s+)?`)
    return { pattern: new RegExp(spaced, 'gi'), instead: instead.trim() }
  })
}

/** What `text` has of the words in `rules`, in the order of its lines. */
export function findWords(text, rules) {
  const lines = text.split('\n')
  const findings = []
  for (const { pattern, instead } of rules) {
    for (const { 0: match, index } of text.matchAll(pattern)) {
      const line = text.slice(0, index).split('\n').length
      const last = line + match.split('\n').length - 1
      if (lines.slice(line - 1, last).some((content) => exception.test(content))) continue
      findings.push({ line, word: match.replaceAll(/\s+(?:(?:\*|\/\/|#|>|-)\s+)?/g, ' '), instead })
    }
  }
  return findings.sort((one, other) => one.line - other.line)
}

/**
 * The lines of comments in `text` that are too long, with their width. Web addresses do not count: they have no spaces.
 */
export function findLongComments(text) {
  return text.split('\n').flatMap((content, index) => {
    const isComment = /^\s*(?:\/?\*|\/\/)/.test(content)
    const width = content.replaceAll(/https?:\/\/\S+/g, '').length
    return isComment && width > maxCommentWidth ? [{ line: index + 1, width }] : []
  })
}

/** The files at and below `path` that are checked; paths are relative to the working directory. */
function filesAt(path) {
  if (!statSync(path).isDirectory()) return textFile.test(path) && !skippedFile.test(path) ? [path] : []
  if (skippedFolder.test(path)) return []
  return readdirSync(path).flatMap((name) => filesAt(`${path}/${name}`))
}

function main(paths) {
  const rules = readRules(readFileSync(new URL('../vocabulary.txt', import.meta.url), 'utf8'))
  const files = paths.flatMap(filesAt)
  let count = 0
  for (const file of files) {
    const text = readFileSync(file, 'utf8')
    const words = findWords(text, rules)
    for (const { line, word, instead } of words) console.error(`${file}:${line}: "${word}"; write instead: ${instead}`)
    // A test may have what a program printed, which looks like a comment.
    const hasComments = sourceFile.test(file) && !testFile.test(file)
    const longLines = hasComments ? findLongComments(text) : []
    for (const { line, width } of longLines) {
      console.error(`${file}:${line}: a comment line of ${width} characters; wrap it at ${maxCommentWidth}`)
    }
    count += words.length + longLines.length
  }
  console.log(`vocabulary: ${files.length} files, ${count} findings`)
  process.exitCode = count === 0 ? 0 : 1
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const paths = process.argv.slice(2)
  main(paths.length === 0 ? checkedPaths : paths)
}
