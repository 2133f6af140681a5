// The theme's script puts a `<nav>` without a name around the button that copies a piece of code: it is no landmark.

/** Take the landmark away from what is only a button's place. */
function mended() {
  for (const one of document.querySelectorAll("nav.md-code__nav:not([role])")) one.setAttribute("role", "presentation");
}

new MutationObserver(mended).observe(document.body, { childList: true, subtree: true });
mended();
