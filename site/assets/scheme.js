/* The colours of a page of a duel, before its first picture: those chosen on other pages, and the switch for them. */
"use strict";

(() => {
  const root = document.documentElement;
  root.dataset.script = "";
  // The colour scheme chosen on other pages of the site; without a choice the stylesheet follows the system.
  try {
    const site = new URL(root.dataset.root, location).pathname;
    const palette = JSON.parse(localStorage.getItem(`${site}.__palette`));
    if (palette && palette.color && palette.color.scheme) root.dataset.scheme = palette.color.scheme;
  } catch {
    // Storage may be disabled.
  }

  /* The switch of the site's other pages: they read the same entry of the storage. */
  const dress = (button) => {
    const isDark = () => getComputedStyle(root).colorScheme === "dark";
    const show = () => { button.textContent = isDark() ? "Light" : "Dark"; };
    button.hidden = false;
    button.addEventListener("click", () => {
      const index = isDark() ? 0 : 1;
      const [scheme, media] = [["default", "(prefers-color-scheme: light)"], ["slate", "(prefers-color-scheme: dark)"]][index];
      root.dataset.scheme = scheme;
      show();
      try {
        const site = new URL(root.dataset.root, location).pathname;
        const color = { media, scheme, primary: "custom", accent: "custom" };
        localStorage.setItem(`${site}.__palette`, JSON.stringify({ index, color }));
      } catch {
        // As above.
      }
    });
    show();
  };

  document.addEventListener("DOMContentLoaded", () => dress(document.querySelector(".pr-scheme")));
})();
