/** What Markdown becomes on the site, where TypeDoc's own way does not do. */

/**
 * TypeDoc reads the text of a heading without its code, for the anchor and for the contents of the page, and so finds
 * nothing in the headings of the troubleshooting page. Such code gets its text as a child, which TypeDoc reads
 * and the renderer does not.
 */
function keepCodeInHeadings({ tokens }) {
  for (const [index, { type }] of tokens.entries()) {
    if (type !== 'heading_open') continue
    for (const part of tokens[index + 1].children) {
      if (part.type === 'code_inline') part.children = [{ type: 'text', content: part.content }]
    }
  }
}

/** Changes the parser of TypeDoc. */
export function setUpMarkdown(parser) {
  parser.core.ruler.push('code-in-headings', keepCodeInHeadings)
  // A wide table scrolls by itself on a phone, and by keyboard, too.
  parser.renderer.rules.table_open = () => '<div class="table" tabindex="0" role="group" aria-label="Table"><table>\n'
  parser.renderer.rules.table_close = () => '</table></div>\n'
}
