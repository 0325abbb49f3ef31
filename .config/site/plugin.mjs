/**
 * What TypeDoc has no option for. Decided here: what a page is called and where it stands, which address it has, and
 * how much it counts in a search. The theme is TypeDoc's own.
 */
import { basename, dirname } from 'node:path'
import { Converter, IndexEvent, KindRouter, PageEvent, ReflectionKind } from 'typedoc'
import { imports } from '../scripts/entry-points.mjs'
import { groups, problems } from './pages.mjs'

/** Guides come before names: somebody who knows the name finds it by its name. */
const guideBoost = 12
const recordBoost = 0.2

const isRecord = (document) => addresses.get(document).startsWith('decisions/')
/** Where each page of the site is, without its extension: `guides/engine` for docs/engine.md. */
const addresses = new Map()

function addressOf(path) {
  const name = basename(path, '.md')
  const folder = basename(dirname(path))
  if (folder === 'decisions') return name === 'README' ? 'guides/decisions' : `decisions/${name}`
  return folder === 'docs' ? `guides/${name}` : `project/${name.toLowerCase()}`
}

/** A page is called by its first heading, and has its place by the group in the README. */
function namePage(document, path) {
  addresses.set(document, addressOf(path))
  const [first] = document.content
  const [heading] = /^# .*\n+/.exec(first?.text ?? '') ?? []
  if (heading !== undefined) {
    document.name = heading.slice(2).trim()
    first.text = first.text.slice(heading.length)
  }
  const group = groups.find(({ pages }) => pages.some((page) => path.endsWith(`/${page}`)))
  if (group !== undefined) document.frontmatter.group = group.title
  document.relevanceBoost = isRecord(document) ? recordBoost : guideBoost
}

/** Puts the pages on decisions below the page that lists them. */
function moveRecords(project) {
  const documents = project.documents ?? []
  const parent = documents.find((document) => document.name === 'Decisions')
  for (const record of documents.filter(isRecord)) {
    project.removeChild(record)
    record.parent = parent
    parent.addChild(record)
  }
}

/** Addresses by file names: a title may change, and has spaces. */
class SiteRouter extends KindRouter {
  getIdealBaseName(reflection) {
    if (!reflection.isDocument()) return super.getIdealBaseName(reflection)
    return addresses.get(reflection)
  }
}

/** Called by TypeDoc. */
export function load(app) {
  app.renderer.defineRouter('site', SiteRouter)
  app.converter.on(Converter.EVENT_CREATE_DOCUMENT, (_context, document) => {
    namePage(document, document.project.files.getReflectionPath(document) ?? '')
  })
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    for (const problem of problems) app.logger.error(problem)
    moveRecords(project)
    const modules = project.getReflectionsByKind(ReflectionKind.Module).map(({ name }) => name)
    for (const { name, file } of imports.filter((one) => !modules.includes(one.name))) {
      app.logger.error(
        `The entry point ${name} has no page. Write "@module ${name}" into the first comment of ${file}.`,
      )
    }
  })
  // A link to the README ends in its folder, which a browser lists where there is no server.
  app.renderer.on(PageEvent.END, (page) => {
    page.contents = page.contents?.replaceAll(/(?<= href="(?:\.{1,2}\/)+)(?=["#])/g, 'index.html')
  })
  app.renderer.on(IndexEvent.PREPARE_INDEX, (event) => {
    event.searchFieldWeights.name = 4
    event.searchFieldWeights.document = 2
  })
}
