/**
 * An element with a text.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag
 * @param {string} text
 */
export function textElement(tag, text) {
  const element = document.createElement(tag)
  element.textContent = text
  return element
}
