import { describe, expect, test } from 'vitest'
import { createRawHeaders } from './raw.js'

const safe = { 'X-Content-Type-Options': 'nosniff', 'Cache-Control': 'no-store' }
const sandboxed = { ...safe, 'Content-Security-Policy': 'sandbox' }

describe('the safety headers of raw replies', () => {
  test.each([
    'text/html',
    'TEXT/HTML',
    'text/html; charset=utf-8',
    'text/html ;charset=utf-8',
    'application/xhtml+xml',
    'image/svg+xml',
    'image/svg+xml;charset=utf-8',
    'application/xml',
    'text/xml',
    'text/xsl',
    'application/rss+xml',
    'application/vnd.custom.thing+xml',
    'multipart/x-mixed-replace',
  ])('%s would be executed by a browser, and is sandboxed', (contentType) => {
    expect(createRawHeaders()(contentType)).toEqual(sandboxed)
  })

  test.each([
    'text/csv',
    'application/json',
    'application/pdf',
    'image/png',
    'text/htmlx',
    'application/xml-dtd',
    'text/xml2',
  ])('%s is not', (contentType) => {
    expect(createRawHeaders()(contentType)).toEqual(safe)
  })
})

describe('the option rawHeaders', () => {
  test('replaces a header whatever its case', () => {
    expect(createRawHeaders({ 'content-security-policy': 'sandbox allow-scripts' })('text/html')).toEqual({
      ...safe,
      'content-security-policy': 'sandbox allow-scripts',
    })
  })

  test('removes one with null, even if it was absent', () => {
    const headersOf = createRawHeaders({ 'Content-Security-Policy': null, 'cache-control': null })
    expect(headersOf('text/html')).toEqual({ 'X-Content-Type-Options': 'nosniff' })
    expect(headersOf('text/csv')).toEqual({ 'X-Content-Type-Options': 'nosniff' })
  })

  test('adds one to replies of every type', () => {
    const headersOf = createRawHeaders({ 'Content-Disposition': 'attachment' })
    expect(headersOf('text/csv')).toEqual({ ...safe, 'Content-Disposition': 'attachment' })
    expect(headersOf('text/html')).toEqual({ ...sandboxed, 'Content-Disposition': 'attachment' })
  })
})
