// What the theme's script builds into pages, made fit for those who use a keyboard or a screen reader.

/** Around the button that copies code it puts a `<nav>` without a name, which is no landmark; tables that scroll can not be reached. */
function mend() {
  for (const one of document.querySelectorAll("nav.md-code__nav:not([role])")) one.setAttribute("role", "presentation");
  for (const one of document.querySelectorAll(".md-typeset__scrollwrap")) {
    if (one.scrollWidth > one.clientWidth) one.tabIndex = 0;
    else one.removeAttribute("tabindex");
  }
}

new MutationObserver(mend).observe(document.body, { childList: true, subtree: true });
addEventListener("resize", mend);
mend();
