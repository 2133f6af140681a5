/** Sections of a page as tabs. Without a script they stand one below the other. */

import { el } from "./dom.js";

/**
 * Makes tabs of sections that follow each other, each a heading of the second level and all up to the next one.
 *
 * @param {string[]} ids of the headings
 */
export function tabs(ids) {
  const heads = ids.map((id) => document.getElementById(id));
  if (heads.some((head) => !head)) return;
  const list = el("div", { class: "pr-tabs", role: "tablist", "aria-label": "Where to work" });
  heads[0].before(list);
  const made = heads.map((head) => section(head, list));
  const choose = (index, focus) => made.forEach(({ tab, panel }, i) => {
    tab.setAttribute("aria-selected", String(i === index));
    tab.tabIndex = i === index ? 0 : -1;
    panel.hidden = i !== index;
    if (i === index && focus) tab.focus();
  });
  const follow = () => {
    const index = ids.indexOf(location.hash.slice(1));
    if (index >= 0) choose(index, false);
  };
  made.forEach(({ tab }, index) => {
    tab.addEventListener("click", () => choose(index, false));
    tab.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      const next = step ? (index + step + made.length) % made.length : { Home: 0, End: made.length - 1 }[event.key];
      if (next === undefined) return;
      event.preventDefault();
      choose(next, true);
    });
  });
  choose(0, false);
  follow();
  addEventListener("hashchange", follow);
}

/** The tab of a section, and the panel that its content moves into; its heading stays for readers of the page's outline. */
function section(head, list) {
  const words = head.firstChild.textContent;
  const panel = el("div", { role: "tabpanel", id: `${head.id}-panel`, "aria-labelledby": `${head.id}-tab`, tabindex: "-1" });
  head.before(panel);
  while (panel.nextSibling && (panel.nextSibling === head || panel.nextSibling.nodeName !== "H2")) panel.append(panel.nextSibling);
  head.classList.add("pr-unseen");
  const tab = el("button", { type: "button", role: "tab", id: `${head.id}-tab`, "aria-controls": panel.id }, words);
  list.append(tab);
  return { tab, panel };
}
