// Names for the content types of replies. A transition sets the content type of a reply (`src/flow/transition.ts`); the
// adapters decide how each type is sent over HTTP (`adapters/fetch/reply`).

/**
 * The content type of a reply, as a standard MIME string.
 *
 * The object holds the values, and the type of the same name is their union. The values are registered with IANA,
 * except those marked `de facto`, for which the spelling in common use is given. `withContentType` also accepts any
 * other `type/subtype` string.
 *
 * `Plain` is the default: a text reply, sent in the JSON envelope. With any other value a successful reply is raw over
 * HTTP: its text alone is the body.
 *
 * @example
 * ```ts
 * import { finish, HttpContentType, LogicStep } from 'turnkeeper'
 *
 * class Report extends LogicStep {
 *   static override readonly id = 'Report'
 *   override run() {
 *     return finish('name,seats\nMaple,12\n').withContentType(HttpContentType.Csv)
 *   }
 * }
 * ```
 */
export const HttpContentType = {
  // Data formats
  Json: 'application/json',
  JsonLd: 'application/ld+json',
  JsonApi: 'application/vnd.api+json',
  JsonPatch: 'application/json-patch+json',
  JsonMergePatch: 'application/merge-patch+json',
  JsonSequence: 'application/json-seq',
  JsonLines: 'application/jsonl', // de facto
  NdJson: 'application/x-ndjson', // de facto
  ProblemJson: 'application/problem+json',
  GeoJson: 'application/geo+json',
  Hal: 'application/hal+json', // de facto
  GraphQl: 'application/graphql-response+json', // de facto
  Xml: 'application/xml',
  TextXml: 'text/xml',
  ProblemXml: 'application/problem+xml',
  Atom: 'application/atom+xml',
  Rss: 'application/rss+xml', // de facto
  Soap: 'application/soap+xml',
  Xslt: 'application/xslt+xml',
  RdfXml: 'application/rdf+xml',
  Turtle: 'text/turtle',
  NQuads: 'application/n-quads',
  Yaml: 'application/yaml',
  Toml: 'application/toml',
  Cbor: 'application/cbor',
  MessagePack: 'application/vnd.msgpack',
  Protobuf: 'application/protobuf',
  FormUrlEncoded: 'application/x-www-form-urlencoded',
  FormData: 'multipart/form-data',
  EventStream: 'text/event-stream', // de facto: the HTML standard defines it
  Jwt: 'application/jwt',

  // Documents
  Plain: 'text/plain',
  Html: 'text/html',
  Xhtml: 'application/xhtml+xml',
  Markdown: 'text/markdown',
  Css: 'text/css',
  JavaScript: 'text/javascript',
  Pdf: 'application/pdf',
  PostScript: 'application/postscript',
  Rtf: 'application/rtf',
  Latex: 'application/x-latex', // de facto
  Epub: 'application/epub+zip',
  Doc: 'application/msword',
  Docx: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document',
  Odt: 'application/vnd.oasis.opendocument.text',
  Pages: 'application/vnd.apple.pages',
  Ppt: 'application/vnd.ms-powerpoint',
  Pptx: 'application/vnd.openxmlformats-officedocument.presentationml.presentation',
  Odp: 'application/vnd.oasis.opendocument.presentation',
  Keynote: 'application/vnd.apple.keynote',
  Calendar: 'text/calendar',
  VCard: 'text/vcard',

  // Spreadsheets and tables
  Csv: 'text/csv',
  Tsv: 'text/tab-separated-values',
  Xls: 'application/vnd.ms-excel',
  Xlsx: 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet',
  Xlsm: 'application/vnd.ms-excel.sheet.macroEnabled.12',
  Xlsb: 'application/vnd.ms-excel.sheet.binary.macroEnabled.12',
  Ods: 'application/vnd.oasis.opendocument.spreadsheet',
  Numbers: 'application/vnd.apple.numbers',
  Parquet: 'application/vnd.apache.parquet',
  ArrowFile: 'application/vnd.apache.arrow.file',
  ArrowStream: 'application/vnd.apache.arrow.stream',

  // Images
  Png: 'image/png',
  Apng: 'image/apng',
  Jpeg: 'image/jpeg',
  JpegXl: 'image/jxl',
  Jp2: 'image/jp2',
  Gif: 'image/gif',
  Webp: 'image/webp',
  Avif: 'image/avif',
  Heic: 'image/heic',
  Heif: 'image/heif',
  Svg: 'image/svg+xml',
  Bmp: 'image/bmp',
  Tiff: 'image/tiff',
  Ico: 'image/vnd.microsoft.icon',

  // Audio and video
  Mp3: 'audio/mpeg',
  Mp4Audio: 'audio/mp4',
  Aac: 'audio/aac',
  Wav: 'audio/wav', // de facto
  Flac: 'audio/flac',
  Midi: 'audio/midi', // de facto
  OggAudio: 'audio/ogg',
  WebmAudio: 'audio/webm', // de facto
  Mp4: 'video/mp4',
  Mpeg: 'video/mpeg',
  MpegTs: 'video/mp2t',
  QuickTime: 'video/quicktime',
  OggVideo: 'video/ogg',
  Webm: 'video/webm', // de facto
  Matroska: 'video/matroska',
  Avi: 'video/x-msvideo', // de facto
  ThreeGpp: 'video/3gpp',
  Hls: 'application/vnd.apple.mpegurl',
  Dash: 'application/dash+xml',
  WebVtt: 'text/vtt',

  // Binary types
  OctetStream: 'application/octet-stream',
  Zip: 'application/zip',
  Gzip: 'application/gzip',
  Zstd: 'application/zstd',
  Bzip2: 'application/x-bzip2', // de facto
  Xz: 'application/x-xz', // de facto
  Tar: 'application/x-tar', // de facto
  Rar: 'application/vnd.rar',
  SevenZip: 'application/x-7z-compressed', // de facto
  Jar: 'application/java-archive',
  Wasm: 'application/wasm',
  Sqlite: 'application/vnd.sqlite3',
} as const

/** A value of the constant of the same name. */
export type HttpContentType = (typeof HttpContentType)[keyof typeof HttpContentType]
