/** The submit page: its two ways as tabs, and the form, which is filled in, checked, and opens GitHub's pages. */

import { el } from "./dom.js";
import { faults, file, fits, folder, folderName, tooLarge } from "./manifest.js";
import { fetched, root } from "./site.js";
import { page, steps } from "./submit-steps.js";

/** What stands in the form at first, so that the working agent in it can be sent as it is. */
const FIRST = { name: "My first agent", algorithm: "random" };

/** Milliseconds without a key after which a form that was checked once is checked again: long code takes long to look at. */
const PAUSE = 150;

const place = document.getElementById("pr-submit");
if (place) {
  tabs(["in-the-browser", "on-my-computer"]);
  begin();
}

async function begin() {
  try {
    fill(await fetched("submit/form.json"));
  } catch {
    place.replaceChildren(el("p", { class: "pr-notice" }, "The form could not be loaded. Follow the steps below by hand instead."));
  }
}

function fill(rules) {
  const asked = rules.tasks.find((task) => task.id === new URLSearchParams(location.search).get("task"));
  const form = el("form", { class: "pr-form", novalidate: true, "aria-label": "Submit an agent" });
  const result = el("div", { class: "pr-result", tabindex: "-1" });
  let isChecked = false;
  let checking = 0;
  /** Whether the folder follows the name: until somebody types another. */
  let follows = true;
  let starter = "";
  const at = (id) => form.querySelector(`#pr-submit-${CSS.escape(id)}`);

  const texts = rules.adapters.filter((name) => !rules.adapters_of_models.includes(name));
  const source = el("textarea", { id: "pr-submit-source", rows: 14, spellcheck: "false", autocapitalize: "off", class: "pr-code" });
  form.append(
    el("div", { class: "pr-form-grid" },
      line("login", "Your GitHub login", "The account that opens the pull request.", { autocomplete: "username", autocapitalize: "off" }),
      line("name", "Name on the board", "One line of at most 60 characters."),
      line("agent", "Folder of the agent", "Follows the name: lower-case letters, digits, “.”, “_” or “-”.", { autocapitalize: "off" }),
      line("algorithm", "Algorithm", "PPO, Q-learning, hand-written rule …"),
      choice("kind", "Kind", "A policy chooses actions, a script trains an agent, an image is a container.", rules.kinds.map((kind) => [kind, kind])),
      choice("adapter", "Written for another system", "Only where the agent was written for one of these.",
        [["", "no"], ...texts.map((name) => [name, name])])),
    tasksOf(rules),
    el("div", { id: "pr-submit-file-part" },
      wrapped("source", "Code of the agent", "A working agent; change it, paste your own, or choose a file.", source),
      el("p", { class: "pr-row" },
        el("label", { class: "pr-file" }, "Choose a file ", el("input", { type: "file", id: "pr-submit-file", accept: ".py,text/x-python,text/plain" })),
        el("button", { type: "button", class: "md-button", id: "pr-submit-template" }, "Start from a working agent"))),
    el("div", { id: "pr-submit-image-part", hidden: true },
      line("image", "Image with its digest", "ghcr.io/you/agent@sha256:…", { autocapitalize: "off" })),
    more(rules),
    el("p", {}, el("button", { type: "submit", class: "md-button md-button--primary" }, "Check it, and go on to GitHub")));
  const closed = rules.not_open ?? asked?.not_open;
  place.replaceChildren(...(closed ? [el("p", { class: "pr-notice", role: "note" }, closed)] : []), form, result);

  function draft() {
    const all = at("all").checked;
    return {
      ...Object.fromEntries(["login", "agent", "name", "algorithm", "kind", "adapter", "image", "description", "license", "authors", "source"]
        .map((id) => [id, id === "source" ? at(id).value : at(id).value.normalize("NFC")])),
      all,
      tasks: all ? [] : [...form.querySelectorAll("[data-task]:checked:not(:disabled)")].map((box) => box.dataset.task),
      terms: at("terms")?.checked ?? false,
      meta: Object.fromEntries(rules.fields.map((field) => {
        const input = at(`meta-${field.name}`);
        return [field.name, input.type === "checkbox" ? input.checked : input.value.normalize("NFC")];
      })),
    };
  }

  function look() {
    const now = draft();
    at("file-part").hidden = now.kind === "image";
    at("image-part").hidden = now.kind !== "image";
    at("adapter").disabled = now.kind !== "policy";
    for (const box of form.querySelectorAll("[data-task]")) {
      const task = rules.tasks.find((one) => one.id === box.dataset.task);
      box.disabled = now.all || !fits(now, task);
      box.closest("label").hidden = !fits(now, task);
    }
    form.querySelector(".pr-tasks").hidden = now.all;
    if (!isChecked) return;
    clearTimeout(checking);
    checking = setTimeout(() => check(draft()), PAUSE);
  }

  function check(now) {
    return show(faults(now, rules));
  }

  function show(problems) {
    for (const message of form.querySelectorAll(".pr-fault")) message.textContent = "";
    for (const input of form.querySelectorAll("[aria-invalid]")) input.removeAttribute("aria-invalid");
    for (const { field, words } of problems) {
      const message = form.querySelector(`#pr-submit-${CSS.escape(field)}-fault`);
      message.textContent += `${message.textContent ? " " : ""}${words}`;
      at(field)?.setAttribute("aria-invalid", "true");
    }
    return problems;
  }

  form.addEventListener("submit", (event) => {
    event.preventDefault();
    isChecked = true;
    clearTimeout(checking);
    const now = draft();
    const problems = check(now);
    if (starter && now.algorithm === FIRST.algorithm && now.source !== starter && !problems.length) {
      problems.push({ field: "algorithm", words: "still says random, but the code was changed; name its method" });
      show(problems);
    }
    if (problems.length) {
      result.replaceChildren(el("p", { class: "pr-notice", role: "alert" },
        problems.length === 1 ? "One problem must be corrected first." : `${problems.length} problems must be corrected first.`));
      const first = at(problems[0].field) ?? at("all");
      first.closest("details")?.setAttribute("open", "");
      first.focus();
      return;
    }
    const written = file(now, rules);
    written.path = `${folder(now)}/${written.name}`;
    result.replaceChildren(...steps(now, rules, written));
    const opened = page(rules, written);
    if (opened) window.open(opened, "_blank", "noopener");
    result.focus();
  });
  form.addEventListener("input", (event) => {
    if (event.target === at("agent")) follows = at("agent").value === "";
    if (event.target === at("name") && follows) at("agent").value = folderName(at("name").value);
    if (event.target === at("kind") && source.value === starter) start();
    look();
    if (event.target.id !== "pr-submit-file") result.replaceChildren();
  });
  at("file").addEventListener("change", async () => {
    const [file] = at("file").files;
    if (!file) return;
    if (file.size > rules.kib * 1024) {
      at("source-fault").textContent = tooLarge(rules);
      return;
    }
    source.value = await file.text();
    look();
  });
  async function start() {
    const name = draft().kind === "script" ? "submission.py" : "agent.py";
    const before = source.value;
    const answer = await fetch(new URL(`assets/start/${name}`, root()));
    const code = answer.ok ? await answer.text() : "";
    // Somebody may have typed or pasted in the meantime.
    if (code && source.value === before) source.value = starter = code;
    look();
  }
  at("template").addEventListener("click", () => {
    const isOwn = source.value.trim() && source.value !== starter;
    if (!isOwn || confirm("Replace the code in the form by a working agent?")) start();
  });
  begun();
  look();

  /** A working agent that needs a login only; from a task's page, for that task. */
  function begun() {
    for (const [id, value] of Object.entries(FIRST)) at(id).value = value;
    at("agent").value = folderName(FIRST.name);
    if (asked) {
      at("all").checked = false;
      form.querySelector(`[data-task="${CSS.escape(asked.id)}"]`).checked = true;
      if (asked.kind === "script") {
        at("kind").value = "script";
        at("algorithm").value = "";
      }
    }
    start();
  }
}

function wrapped(id, label, hint, control) {
  control.setAttribute("aria-describedby", `pr-submit-${id}-hint pr-submit-${id}-fault`);
  return el("div", { class: "pr-field" },
    el("label", { for: `pr-submit-${id}` }, label), control,
    el("p", { class: "pr-hint", id: `pr-submit-${id}-hint` }, hint),
    el("p", { class: "pr-fault", id: `pr-submit-${id}-fault`, role: "status" }));
}

function line(id, label, hint, attributes = {}) {
  return wrapped(id, label, hint, el("input", { id: `pr-submit-${id}`, type: "text", spellcheck: "false", autocomplete: "off", ...attributes }));
}

function choice(id, label, hint, options) {
  return wrapped(id, label, hint,
    el("select", { id: `pr-submit-${id}` }, ...options.map(([value, words]) => el("option", { value }, words))));
}

function ticked(id, words, attributes = {}) {
  return el("label", { class: "pr-tick-row" }, el("input", { type: "checkbox", id: id ? `pr-submit-${id}` : null, ...attributes }), " ", el("bdi", {}, words));
}

function tasksOf(rules) {
  return el("fieldset", { class: "pr-fieldset" }, el("legend", {}, "Tasks"),
    ticked("all", "all that fit its kind", { checked: true }),
    el("div", { class: "pr-tasks" }, ...rules.tasks.map((task) => ticked("", task.not_open ? `${task.title}. ${task.not_open}` : task.title, { "data-task": task.id }))),
    el("p", { class: "pr-fault", id: "pr-submit-tasks-fault", role: "status" }));
}

function more(rules) {
  const asked = rules.fields.map((field) => {
    const id = `meta-${field.name}`;
    const label = `${field.name}${field.required ? "" : " (optional)"}`;
    const hint = field.description ?? "Asked by the hosts of this board.";
    if (field.kind === "choice") return choice(id, label, hint, [["", "–"], ...field.options.map((one) => [one, one])]);
    if (field.kind === "boolean") return wrapped(id, label, hint, el("input", { type: "checkbox", id: `pr-submit-${id}`, class: "pr-box" }));
    return line(id, label, hint);
  });
  const terms = rules.terms
    ? [el("div", { class: "pr-field" }, ticked("terms", "I accept the terms of this board"),
      el("p", { class: "pr-hint" }, "The terms: ", rules.terms_url ? el("a", { href: rules.terms_url, target: "_blank", rel: "noopener" }, rules.terms) : rules.terms),
      el("p", { class: "pr-fault", id: "pr-submit-terms-fault", role: "status" }))]
    : [];
  return el("div", {}, ...terms, ...asked,
    el("details", { class: "pr-more" }, el("summary", {}, "Description, authors, licence"),
      wrapped("description", "Description", "A few sentences for the agent’s page; plain text.", el("textarea", { id: "pr-submit-description", rows: 3 })),
      el("div", { class: "pr-form-grid" },
        line("authors", "Authors", "Besides your login, with commas between them."),
        line("license", "Licence of the code", "MIT, Apache-2.0 …"))));
}

/** Makes tabs of sections that follow each other, each a heading of the second level and all up to the next one. */
function tabs(ids) {
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
  head.classList.add("pr-hidden");
  const tab = el("button", { type: "button", role: "tab", id: `${head.id}-tab`, "aria-controls": panel.id }, words);
  list.append(tab);
  return { tab, panel };
}
