/** The steps from a checked submission to a pull request: which pages of GitHub to open, and what to press there. */

import { el } from "./dom.js";
import { folder, newFile } from "./manifest.js";

/**
 * GitHub's page for the file, filled in.
 *
 * @param {{repository: string|null}} rules
 * @param {{path: string, content: string}} file
 * @returns {string|null} null without a repository, or for a file longer than an address may be
 */
export function page(rules, file) {
  return hasRepository(rules) ? newFile(rules.repository, "main", file.path, file.content) : null;
}

/**
 * What is left to do.
 *
 * @param {object} draft what stands in the form
 * @param {{repository: string|null}} rules
 * @param {{name: string, content: string, path: string}} file
 * @returns {Node[]}
 */
export function steps(draft, rules, file) {
  const head = [
    el("h3", {}, "Your file looks fine. The pull request will run your agent."),
    el("p", {}, "This page looks for common mistakes only. The preview of the pull request reads the whole file and runs it."),
    written(file),
  ];
  if (!hasRepository(rules)) {
    return [...head, el("p", { class: "pr-notice" }, `This board names no repository. Put the file into ${folder(draft)}/ of your clone.`)];
  }
  const opened = page(rules, file);
  return [...head, ...(opened ? [typed(opened, file), uploaded(draft, rules, false)] : [uploaded(draft, rules, true)])];
}

function hasRepository(rules) {
  return /^https?:/.test(rules.repository ?? "");
}

function written(file) {
  const made = new Blob([file.content], { type: "text/plain" });
  return el("details", { class: "pr-more" },
    el("summary", {}, el("code", {}, file.path)),
    el("pre", { class: "pr-log", tabindex: "0" }, el("code", {}, file.content)),
    el("p", {}, el("a", { class: "md-button", download: file.name, href: URL.createObjectURL(made) }, `Download ${file.name}`)));
}

/** GitHub's page for a new file makes fork, branch and pull request by itself. */
function typed(opened, file) {
  return el("section", { class: "pr-route" },
    el("h4", {}, "On GitHub’s own pages"),
    el("ol", {},
      el("li", {}, "GitHub’s page has opened in another tab. If not: ",
        el("a", { ...outside(), href: opened, id: "pr-open-first" }, `open GitHub’s page for ${file.name}`), ", which is filled in."),
      el("li", {}, "The first time GitHub asks for a copy of the board: press “Fork this repository”."),
      el("li", {}, "Press “Commit changes…”, then “Propose changes”."),
      el("li", {}, "Press “Create pull request”, look at it once more, and press it again. The bot’s comment follows by itself.")));
}

/** Uploading needs a fork: GitHub takes uploads only from people with write access. */
function uploaded(draft, rules, isOnly) {
  const { fork, branch, fields } = where(rules);
  const drop = el("a", outside(), "Open the upload page of your fork");
  const ask = el("a", outside(), "Open the pull request");
  const aim = () => {
    drop.href = `${forkOf(draft, rules, fork.value)}/upload/main/${folder(draft)}`;
    ask.href = request(draft, rules, fork.value, branch.value);
  };
  for (const input of [branch, fork]) input.addEventListener("input", aim);
  aim();
  const inner = [
    isOnly ? el("p", {}, "The file is longer than an address may be, so it cannot be filled in. Upload it instead.")
      : el("p", {}, "For long files, or for weights beside them."),
    el("ol", {},
      el("li", {}, "Download the file above."),
      el("li", {}, el("a", { ...outside(), href: `${rules.repository}/fork` }, "Make a fork of the board"), ", unless you have one. GitHub takes uploads only from people with write access, so they go to your own copy."),
      el("li", {}, "Its name, and the branch that you will make: ", fields),
      el("li", {}, drop, ", drop the file and whatever weights belong to it, choose “Create a new branch” and give it that name."),
      el("li", {}, ask, ".")),
  ];
  if (isOnly) return el("section", { class: "pr-route" }, el("h4", {}, "By upload"), ...inner);
  return el("details", { class: "pr-more" }, el("summary", {}, "Or upload it, with weights"), ...inner);
}

function where(rules) {
  const name = rules.repository.split("/").pop();
  const fork = el("input", { type: "text", id: "pr-upload-fork", value: name, spellcheck: "false", autocomplete: "off" });
  const branch = el("input", { type: "text", id: "pr-upload-branch", value: "submission", spellcheck: "false", autocomplete: "off" });
  const fields = el("span", { class: "pr-row" },
    el("span", { class: "pr-field" }, el("label", { for: fork.id }, "Your fork"), fork),
    el("span", { class: "pr-field" }, el("label", { for: branch.id }, "The branch"), branch));
  return { fork, branch, fields };
}

/** The address of the fork, on the host of the repository. */
function forkOf(draft, rules, name) {
  return `${new URL(rules.repository).origin}/${encodeURIComponent(draft.login)}/${encodeURIComponent(name)}`;
}

function request(draft, rules, fork, branch) {
  const same = rules.repository.split("/").pop() === fork;
  const head = [draft.login, ...(same ? [] : [fork]), ...[branch]].map(encodeURIComponent).join(":").replaceAll("%2F", "/");
  const title = encodeURIComponent(`Add ${draft.login}/${draft.agent}`);
  return `${rules.repository}/compare/main...${head}?quick_pull=1&title=${title}`;
}

function outside() {
  return { target: "_blank", rel: "noopener" };
}
