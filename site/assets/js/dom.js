/** Creates elements; text is never parsed as markup. */

const SVG = "http://www.w3.org/2000/svg";

/**
 * An HTML element.
 *
 * @param {string} tag
 * @param {Object<string, unknown>} [attributes] false, null and undefined leave one out, true sets it without a value; a
 *   function under `onclick` and the like becomes a listener
 * @param {...(Node|string|number|null|undefined|false|Array)} children text becomes text nodes; null, undefined and false are left out
 * @returns {HTMLElement}
 */
export function el(tag, attributes = {}, ...children) {
  return filled(document.createElement(tag), attributes, children);
}

/**
 * An SVG element; otherwise as `el`.
 *
 * @param {string} tag
 * @param {Object<string, unknown>} [attributes]
 * @param {...(Node|string|number|null|undefined|false|Array)} children
 * @returns {SVGElement}
 */
export function svg(tag, attributes = {}, ...children) {
  return filled(document.createElementNS(SVG, tag), attributes, children);
}

function filled(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes ?? {})) {
    if (typeof value === "function" && name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, String(value));
  }
  append(element, children);
  return element;
}

function append(element, children) {
  for (const child of children) {
    if (Array.isArray(child)) append(element, child);
    else if (child instanceof Node) element.append(child);
    else if (child !== null && child !== undefined && child !== false) element.append(String(child));
  }
}
