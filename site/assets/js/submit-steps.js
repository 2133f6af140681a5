/** The steps from a checked submission to a pull request: which pages of GitHub to open, and what to press there. */

import { el } from "./dom.js";
import { folder, newFile } from "./manifest.js";

/**
 * @param {object} draft what stands in the form
 * @param {{repository: string|null}} rules
 * @param {{name: string, content: string, path: string}[]} files the source first, the manifest last
 * @returns {Node[]}
 */
export function steps(draft, rules, files) {
  const head = [
    el("h3", {}, "Your files look fine. The pull request will run your agent."),
    el("p", {}, "Everything that can be checked without running it is correct. The preview of the pull request runs it."),
    ...files.map(written),
  ];
  if (!rules.repository || !/^https?:/.test(rules.repository)) {
    return [...head, el("p", { class: "pr-notice" }, `This board names no repository. Put ${files.length > 1 ? "the files" : "the file"} into ${folder(draft)}/ of your clone.`)];
  }
  const short = files.every((file) => newFile(rules.repository, "main", file.path, file.content));
  const ways = short ? [typed(draft, rules, files), uploaded(draft, rules, files, false)] : [uploaded(draft, rules, files, true)];
  return [...head, ...ways];
}

function written(file) {
  const made = new Blob([file.content], { type: "text/plain" });
  return el("details", { class: "pr-more" },
    el("summary", {}, el("code", {}, file.path)),
    el("pre", { class: "pr-log", tabindex: "0" }, el("code", {}, file.content)),
    el("p", {}, el("a", { class: "md-button", download: file.name, href: URL.createObjectURL(made) }, `Download ${file.name}`)));
}

/** GitHub's page for a new file takes one file at a time: the first makes fork and branch, the second is added there. */
function typed(draft, rules, files) {
  const [first, second] = files;
  const { branch, fork, fields } = where(rules);
  const opened = newFile(rules.repository, "main", first.path, first.content);
  const follow = el("a", outside());
  const ask = el("a", outside());
  const aim = () => {
    if (second) follow.href = newFile(forkOf(draft, rules, fork.value), branch.value, second.path, second.content) ?? "";
    ask.href = request(draft, rules, fork.value, branch.value);
  };
  follow.textContent = `Open GitHub’s page for ${second?.name}`;
  ask.textContent = "Open the pull request";
  for (const input of [branch, fork]) input.addEventListener("input", aim);
  aim();
  const yet = second ? " Do not open the pull request yet: a second file is missing." : "";
  return el("section", { class: "pr-route" },
    el("h4", {}, "On GitHub’s own pages"),
    el("p", {}, second ? "GitHub’s page takes one file at a time, so there are two, and then the pull request." : "One file, and then the pull request."),
    el("ol", {},
      el("li", {}, el("a", { ...outside(), href: opened, id: "pr-open-first" }, `Open GitHub’s page for ${first.name}`),
        `, which is filled in. Press “Commit changes…”, then “Propose changes”: GitHub makes your copy of the board, a fork, with a branch in it.${yet}`),
      el("li", {}, "The next page shows the names of both at the top: ", fields),
      second ? el("li", {}, follow, ". Press “Commit changes…” and commit directly to that branch.") : null,
      el("li", {}, ask, ", look at it once more, and press “Create pull request”. The bot’s comment follows by itself.")));
}

/** Uploading needs a fork: GitHub takes uploads only from people with write access. */
function uploaded(draft, rules, files, isOnly) {
  const { fork, branch, fields } = where(rules, "upload");
  const drop = el("a", outside(), "Open the upload page of your fork");
  const ask = el("a", outside(), "Open the pull request");
  const aim = () => {
    drop.href = `${forkOf(draft, rules, fork.value)}/upload/main/${folder(draft)}`;
    ask.href = request(draft, rules, fork.value, branch.value);
  };
  for (const input of [branch, fork]) input.addEventListener("input", aim);
  aim();
  const many = files.length > 1 ? "the two files" : "the file";
  const inner = [
    isOnly ? el("p", {}, "The file is longer than an address may be, so it cannot be filled in. Upload it instead.")
      : el("p", {}, "For long files, or for weights beside them."),
    el("ol", {},
      el("li", {}, `Download ${many} above.`),
      el("li", {}, el("a", { ...outside(), href: `${rules.repository}/fork` }, "Make a fork of the board"), ", unless you have one. GitHub takes uploads only from people with write access, so they go to your own copy."),
      el("li", {}, "Its name, and the branch that you will make: ", fields),
      el("li", {}, drop, `, drop ${many} and whatever weights belong to it, choose “Create a new branch” and give it that name.`),
      el("li", {}, ask, ".")),
  ];
  if (isOnly) return el("section", { class: "pr-route" }, el("h4", {}, "By upload"), ...inner);
  return el("details", { class: "pr-more" }, el("summary", {}, "Or upload everything at once"), ...inner);
}

function where(rules, id = "typed") {
  const name = rules.repository.split("/").pop();
  const fork = el("input", { type: "text", id: `pr-${id}-fork`, value: name, spellcheck: "false", autocomplete: "off" });
  const branch = el("input", { type: "text", id: `pr-${id}-branch`, value: id === "typed" ? "patch-1" : "submission", spellcheck: "false", autocomplete: "off" });
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
