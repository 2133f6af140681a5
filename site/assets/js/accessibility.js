// Repairs for keyboards and screen readers of what the theme's script adds to pages.

/** The theme puts a `<nav>` without a name around each copy button, and its scrolling tables cannot take the focus. */
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
