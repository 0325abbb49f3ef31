/**
 * The site of `npm run docs`: the README as its front page, the guides in the order of the README, and a page for each
 * public name. It fails where a name is not documented, a type is not exported, or a link leads nowhere. Open
 * site/index.html: it needs no server. typedoc.json extends this file.
 */
import { fileURLToPath } from 'node:url'
import { imports } from './scripts/entry-points.mjs'
import { setUpMarkdown } from './site/markdown.mjs'
import { decisions, groups } from './site/pages.mjs'

const path = (relative) => fileURLToPath(new URL(`../${relative}`, import.meta.url))

export default {
  name: 'Turnkeeper',
  tsconfig: path('.config/tsconfig.build.json'),
  plugin: [path('.config/site/plugin.mjs')],
  out: path('site'),

  // Pages
  readme: path('README.md'),
  projectDocuments: [...groups.flatMap(({ pages }) => pages), ...decisions].map(path),
  groupOrder: [...groups.map(({ title }) => title), '*'],
  headings: { readme: false, document: true },
  markdownItLoader: setUpMarkdown,
  highlightLanguages: [
    'ts',
    'js',
    'json',
    'sh',
    'html',
    'css',
    'http',
    'sql',
    'toml',
    'yaml',
    'nginx',
    'docker',
    'console',
    'md',
  ],
  ignoredHighlightLanguages: ['text'],

  // Names
  entryPoints: imports.map(({ file }) => path(file)),
  sortEntryPoints: false,
  disableSources: true,
  excludeInternal: true,
  excludePrivate: true,

  // The theme
  locales: { en: { kind_plural_module: 'Names by import', kind_plural_document: 'Pages' } },
  router: 'site',
  customCss: path('.config/site/style.css'),
  navigation: { includeGroups: true, includeFolders: false },
  navigationLeaves: ['Decisions'],
  searchInComments: true,
  searchInDocuments: true,

  // Findings
  treatWarningsAsErrors: true,
  treatValidationWarningsAsErrors: true,
  // Their members cannot be shown in the place of their names: one refers to itself, two are in a type that TypeScript
  // infers, and the last has none to show.
  intentionallyNotExported: [
    'testing/conversation/expect/session.ts:PartOf',
    'testing/conversation/expect/tool-calls.ts:ExpectedToolCall',
    'testing/conversation/expect/reply.ts:ReplySchema',
    'testing/expectations/not-a-list.ts:NotAList',
  ],
  validation: {
    notExported: true,
    invalidLink: true,
    invalidPath: true,
    notDocumented: true,
    rewrittenLink: true,
  },
  requiredToBeDocumented: ['Class', 'Interface', 'TypeAlias', 'Function', 'Variable', 'Enum', 'Method'],
}
