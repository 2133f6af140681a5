// How strict html-validate is with pages: everything that it recommends for whole documents, but for what is said here.
module.exports = {
  root: true,
  extends: ["html-validate:recommended", "html-validate:document"],
  rules: {
    // White space and the capitals of <!doctype> are the theme's, and mean nothing.
    "no-trailing-whitespace": "off",
    "doctype-style": "off",
    // Every file comes from the site itself, as other tests say; a canonical link has a whole address and loads nothing.
    "require-sri": "off",
    // Names of agents have up to sixty characters, and stand whole in a title.
    "long-title": "off",
    // A table that scrolls in a box of its own is no section of the text.
    "prefer-native-element": ["error", { exclude: ["region"] }],
    // The theme's ids begin with underscores, those of matches are what their addresses say: match=1.
    "valid-id": ["error", { relaxed: true }],
    // A list may be named: ARIA allows it.
    "aria-label-misuse": ["error", { allowAnyNamable: true }],
    // Where a bar begins and ends, and how a column of Markdown is aligned.
    "no-inline-style": ["error", { allowedProperties: ["text-align", "aspect-ratio", "--l", "--w", "--m", "--pr-when", "--pr-columns", "--pr-rows"] }],
  },
};
