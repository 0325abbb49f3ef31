// Stores that write down other texts than they were given: each fails the cases that are there for it.
import { describe, test } from 'vitest'
import {
  type BrokenStore,
  changedTexts,
  expectCaught,
  readingThrough,
  writingThrough,
} from '../../../contract/text-store.js'

const date = /^\d{4}-\d{2}-\d{2}$/

const broken: readonly BrokenStore[] = [
  writingThrough(
    'a colon at the start is an escape',
    changedTexts((text) => text.replace(/^:/, '')),
    'texts: that begin with a colon',
  ),
  readingThrough(
    'texts in base64 are decoded',
    changedTexts((text) => (text.startsWith(':base64:') ? atob(text.slice(8)) : text)),
    'texts: that begin with a colon',
  ),
  readingThrough(
    'dates are revived',
    changedTexts((text) => (date.test(text) ? new Date(text) : text)),
    'texts: that look like dates',
  ),
  readingThrough(
    'dates become numbers',
    changedTexts((text) => (date.test(text) ? Date.parse(text) : text)),
    'texts: that look like dates',
  ),
  readingThrough(
    'undefined is a value',
    changedTexts((text) => (text === 'undefined' ? undefined : text)),
    'texts: that look like values',
  ),
  readingThrough(
    'texts of numbers are numbers',
    changedTexts((text) => (/^\d+$/.test(text) ? Number(text) : text)),
    'texts: that look like numbers',
    'values: truth, null and their texts stay apart',
  ),
  readingThrough(
    'texts of JSON are parsed',
    changedTexts((text) => (text === '{}' ? {} : text)),
    'texts: that look like JSON',
  ),
  writingThrough(
    'texts are trimmed',
    changedTexts((text) => text.trim()),
    'texts: that are empty or of spaces',
  ),
  writingThrough(
    'empty texts are null',
    changedTexts((text) => (text === '' ? null : text)),
    'texts: that are empty or of spaces',
  ),
  writingThrough(
    'NUL is dropped',
    changedTexts((text) => text.replaceAll('\0', '')),
    'texts: of control characters',
  ),
  writingThrough(
    'line breaks are one',
    changedTexts((text) => text.replace(/\r\n?/g, '\n')),
    'texts: of line and paragraph separators',
    'texts: that are empty or of spaces',
  ),
  writingThrough(
    'line separators are line breaks',
    changedTexts((text) => text.replace(/[\u2028\u2029]/g, '\n')),
    'texts: of line and paragraph separators',
  ),
  writingThrough(
    'texts are composed',
    changedTexts((text) => text.normalize('NFC')),
    'texts: of every plane of Unicode',
  ),
  writingThrough(
    'only the first plane of Unicode is kept',
    changedTexts((text) => text.replace(/\p{Cs}|[\u{10000}-\u{10ffff}]/gu, '?')),
    'texts: of every plane of Unicode',
  ),
  writingThrough(
    'lone surrogates are replaced',
    changedTexts((text) => new TextDecoder().decode(new TextEncoder().encode(text))),
    'texts: lone surrogates are read as they were written, or refused whole',
  ),
  writingThrough(
    'texts end after 64 KB',
    changedTexts((text) => text.slice(0, 65_535)),
    'texts: of 100 000 characters',
    'a message of 1 MB is stored, and the turns after it',
  ),
  writingThrough(
    'quotes are doubled',
    changedTexts((text) => text.replaceAll("'", "''")),
    'texts: of quotes and escapes',
  ),
  writingThrough(
    'backslashes escape',
    changedTexts((text) => text.replaceAll('\\n', '\n')),
    'texts: of quotes and escapes',
  ),
]

describe('a store in which', () => {
  test.each(broken)('$what', (store) => expectCaught(store))
})
