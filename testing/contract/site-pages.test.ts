/** Which pages the site has, and in which order: `.config/site/pages.mjs` reads it from the README. */
import { describe, expect, test } from 'vitest'

interface Group {
  readonly title: string
  readonly pages: readonly string[]
}

const script = new URL('../../.config/site/pages.mjs', import.meta.url)
// A script without types of its own: Node runs it as it is.
const { groups, groupsOf, problems, problemsOf } = (await import(script.href)) as {
  readonly groups: readonly Group[]
  readonly problems: readonly string[]
  groupsOf(readme: string): Group[]
  problemsOf(groups: readonly Group[], existing: readonly string[]): string[]
}

const readme = `# Wombats

See [food](docs/food.md).

## Documentation

Read [this](docs/nothing.md) first.

### Guides

- [Food](docs/food.md) and [sleep](docs/sleep.md#at-noon): [MDN](https://mdn.example/a)

### The project

- [Changes](CHANGES.md), [licence](LICENSE), [sleep](docs/sleep.md), and \`docs/dens.md\`

## Thanks

- [Friends](docs/friends.md)
`

describe('the pages of a README', () => {
  test('are those of its section, in groups by its headings', () => {
    expect(groupsOf(readme)).toEqual([
      { title: 'Guides', pages: ['docs/food.md', 'docs/sleep.md'] },
      { title: 'The project', pages: ['CHANGES.md', 'docs/sleep.md', 'docs/dens.md'] },
    ])
  })

  test('have a place each, and only one', () => {
    expect(problemsOf(groupsOf(readme), ['docs/food.md', 'docs/friends.md', 'docs/sleep.md'])).toEqual([
      'docs/friends.md has no place on the site. Link it in the section "Documentation" of README.md.',
      'docs/sleep.md is linked twice in the section "Documentation" of README.md, which is the order of the site.',
    ])
  })
})

test('every page of this repository has a place', () => {
  expect(problems).toEqual([])
  expect(groups[0]?.pages[0]).toBe('docs/get-started.md')
})
