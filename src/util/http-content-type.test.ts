import { describe, expect, test } from 'vitest'
import { HttpContentType } from './http-content-type.js'

const entries = Object.entries(HttpContentType)

describe('HttpContentType', () => {
  test('[2.4-1] has the names that the contract lists in each group', () => {
    expect(HttpContentType).toMatchObject({
      Json: 'application/json',
      Xml: 'application/xml',
      Yaml: 'application/yaml',
      JsonLd: 'application/ld+json',
      JsonApi: 'application/vnd.api+json',
      Plain: 'text/plain',
      Html: 'text/html',
      Markdown: 'text/markdown',
      Pdf: 'application/pdf',
      Docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
      Csv: 'text/csv',
      Xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
      Png: 'image/png',
      Jpeg: 'image/jpeg',
      Svg: 'image/svg+xml',
      OctetStream: 'application/octet-stream',
      Zip: 'application/zip',
      Gzip: 'application/gzip',
      Tar: 'application/x-tar',
    })
  })

  test('has audio and video types', () => {
    expect(HttpContentType).toMatchObject({
      Mp3: 'audio/mpeg',
      Wav: 'audio/wav',
      OggAudio: 'audio/ogg',
      Mp4: 'video/mp4',
      Webm: 'video/webm',
      Mpeg: 'video/mpeg',
      QuickTime: 'video/quicktime',
    })
  })

  test.each(entries)('%s is a plain type/subtype with a registered top-level type', (_name, value) => {
    expect(value).toMatch(/^(?:application|audio|image|multipart|text|video)\/[A-Za-z0-9][A-Za-z0-9.+-]*$/)
  })

  test('has no value twice, not even in another case', () => {
    const lowered = entries.map(([, value]) => value.toLowerCase())
    const repeated = lowered.filter((value, index) => lowered.indexOf(value) !== index)
    expect(repeated).toEqual([])
  })

  test('has more types in every group than the contract names', () => {
    const count = (prefix: string): number => entries.filter(([, value]) => value.startsWith(prefix)).length
    expect({ image: count('image/') > 3, audio: count('audio/') > 2, video: count('video/') > 2 }).toEqual({
      image: true,
      audio: true,
      video: true,
    })
  })
})
