/** A submission from the form: its problems, in the words of `pullrank check`, and its files. */

/** GitHub's pages take addresses up to about 8 KiB; longer ones end in an error page. */
const LONGEST = 8000;
/** What evaluator/model/config/source_header.py reads. */
const SOURCE = "agent.py";
const OPENING = "# /// pullrank";
const CLOSING = "# ///";
const HEADER_BYTES = 16384;
const LINE = 60;
const TEXT = 2000;
const NAME_RULE = "1 to 40 lower-case letters, digits, '.', '_' or '-', not ending in .json, .html, .md, .svg or .xml, and no device's name in Windows";
const LOGIN_RULE = "a GitHub login: letters, digits, inner hyphens and '_', at most 39 characters";
/** What the file of an agent must define, by its adapter; scripts/commands/check.py has the same. */
const DEFINES = {
  "": ["Agent", "defines no class Agent; write 'class Agent' with a method act(self, observation)"],
  "rl-arena": ["Player", "defines no class Player; rl-arena's players are a class of that name with start, step and end"],
};
/** Words that YAML does not read as text. */
const NOT_TEXT = /^(true|false|yes|no|on|off|null|y|n|~)$/i;

/**
 * @typedef {{login: string, agent: string, name: string, algorithm: string, kind: string, adapter: string, image: string,
 *   tasks: string[], all: boolean, description: string, license: string, authors: string, terms: boolean,
 *   meta: Object<string, string|boolean>, source: string}} Draft what stands in the form
 */

/**
 * The one file of a submission, which holds its manifest: the agent with a header, or for an image the manifest alone.
 *
 * @param {Draft} draft
 * @param {object} rules
 * @returns {{name: string, content: string}}
 */
export function file(draft, rules) {
  if (draft.kind === "image") return { name: "submission.yml", content: manifest(draft, rules) };
  return { name: SOURCE, content: `${header(draft, rules)}\n${draft.source}` };
}

/**
 * A folder's name for an agent of that name; empty where its letters give none.
 *
 * @param {string} name
 * @returns {string}
 */
export function folderName(name) {
  const plain = name.normalize("NFKD").replace(/\p{M}/gu, "").toLowerCase();
  return plain.replace(/[^a-z0-9]+/g, "-").slice(0, 40).replace(/^-+|-+$/g, "");
}

/**
 * What is wrong, each with the field it is about.
 *
 * @param {Draft} draft
 * @param {object} rules the document `submit/form.json`
 * @returns {{field: string, words: string}[]}
 */
export function faults(draft, rules) {
  const problems = [];
  const add = (field, words) => words && problems.push({ field, words });
  const matches = (pattern, text) => new RegExp(`^(?:${pattern})$`, "u").test(text);
  if (draft.login.startsWith("@")) add("login", "leave out the @");
  else add("login", matches(rules.patterns.login, draft.login) ? "" : `must be ${LOGIN_RULE}`);
  if (draft.login.toLowerCase() === "local") {
    add("login", "the login local stands for the example agents; submit under another account");
  }
  if (rules.bans.some((login) => login.toLowerCase() === draft.login.toLowerCase())) {
    add("login", "may not take part on this board; its rules say why");
  }
  add("agent", matches(rules.patterns.agent, draft.agent) ? "" : `must be ${NAME_RULE}`);
  add("name", nameFault(draft.name, rules));
  add("algorithm", nameFault(draft.algorithm, rules));
  for (const field of ["license", "authors"]) {
    for (const one of field === "authors" ? people(draft) : [draft[field]]) add(field, one && nameFault(one, rules));
  }
  if (people(draft).length > 20) add("authors", "up to 20 names");
  add("description", textFault(draft.description, rules));
  if (!draft.all && !draft.tasks.length) add("tasks", "'tasks' is an empty list; name a task or write 'all'");
  if (draft.all && !rules.tasks.some((task) => fits(draft, task))) add("kind", `this board has no task for the kind ${draft.kind}`);
  if (draft.kind === "image") {
    const named = /^[a-z0-9.-]+(:\d+)?\/\S+@sha256:[0-9a-f]{64}$/.test(draft.image);
    add("image", named && !/@sha256:0{64}$/.test(draft.image) ? "" : "must be an image with its digest: host/name@sha256:<64 digits>, such as ghcr.io/alice/agent@sha256:0123…");
  } else {
    for (const words of sourceFaults(draft, rules)) add("source", words);
  }
  if (draft.kind !== "image" && new TextEncoder().encode(header(draft, rules)).length > HEADER_BYTES) {
    add("description", `the header has more than ${HEADER_BYTES / 1024} KiB; shorten what you wrote`);
  }
  if (rules.terms && !draft.terms) add("terms", "must be accepted to take part");
  for (const field of rules.fields) {
    const answer = draft.meta[field.name];
    if (field.required && (answer === undefined || answer === "")) add(`meta-${field.name}`, "must be answered");
    else if (typeof answer === "string" && answer) add(`meta-${field.name}`, textFault(answer, rules));
  }
  return problems;
}

/**
 * Whether an agent of this kind is measured on a task.
 *
 * @param {Draft} draft
 * @param {{kind: string}} task
 * @returns {boolean}
 */
export function fits(draft, task) {
  return (draft.kind === "script") === (task.kind === "script");
}

/** What is said where a folder is larger than `submissions.kib` allows. */
export function tooLarge({ kib }) {
  return `the folder holds more than ${kib >= 1024 ? `${Number((kib / 1024).toFixed(1))} MiB` : `${kib} KiB`}; shrink or quantise weights`;
}

/** Finds the most common mistakes in Python source; `pullrank check` parses it completely. */
function sourceFaults(draft, rules) {
  const name = SOURCE;
  const source = draft.source;
  if (!source.trim()) return [`${name}: the entry file does not exist; write it, or choose a file`];
  if (new TextEncoder().encode(source).length > rules.kib * 1024) {
    return [tooLarge(rules)];
  }
  const headed = source.split("\n").findIndex((line) => line.trimEnd() === OPENING);
  if (headed >= 0) return [`${name}:${headed + 1}: has a header already; remove it, since the form writes one`];
  if (source.includes("\0")) return [`${name}: holds a zero byte, so it is not Python source; commit the .py file`];
  if (source.includes("\ufffd")) return [`${name}: is not UTF-8 text; save the source as UTF-8`];
  const code = withoutTexts(source);
  const problems = [];
  if (code.open) problems.push(`${name}:${code.open}: a text begins here and does not end; correct the syntax`);
  const bracket = unbalanced(code.text);
  if (bracket && !code.open) problems.push(`${name}:${bracket.line}: ${bracket.words}; correct the syntax`);
  if (!code.open) problems.push(...[strange(code.text), bracket ? "" : unopened(code.text)].filter(Boolean).map((words) => `${name}:${words}`));
  const mixed = source.split("\n").findIndex((line) => /^ +\t|^\t+ /.test(line));
  if (mixed >= 0) problems.push(`${name}:${mixed + 1}: indents with tabs and spaces; use one of them`);
  if (draft.kind === "policy" && draft.adapter in DEFINES) {
    const [wanted, missing] = DEFINES[draft.adapter];
    const defined = new RegExp(`^(class\\s+${wanted}\\b|${wanted}\\s*=|(from\\s.+)?import\\s.*\\b${wanted}\\b)`, "m");
    if (!defined.test(code.text)) problems.push(`${name}:1: ${missing}`);
    else if (!draft.adapter && /^class\s+Agent\s*(\(\s*\))?\s*:/m.test(code.text) && !/\bdef\s+act(_batch)?\s*\(/.test(code.text)) {
      problems.push(`${name}:1: class Agent has no method act(self, observation); write it`);
    }
  }
  return problems;
}

/** The source with comments and the insides of texts blanked, line by line as it was; where a text is open, its line. */
function withoutTexts(source) {
  const token = /#[^\n]*|("""|''')(?:\\[\s\S]|(?!\1)[\s\S])*(\1|$)|"(?:\\[\s\S]|[^"\\\n])*("|\n|$)|'(?:\\[\s\S]|[^'\\\n])*('|\n|$)/g;
  let open = 0;
  const text = source.replace(token, (whole, triple, tripleEnd, double, single, at) => {
    const ended = whole.startsWith("#") || (triple ? tripleEnd === triple && whole.length >= 6 : whole[0] === whole[whole.length - 1] && whole.length > 1);
    if (!ended && !open) open = source.slice(0, at).split("\n").length;
    return whole.replace(/[^\n]/g, " ");
  });
  return { text, open };
}

function unbalanced(code) {
  const pairs = { ")": "(", "]": "[", "}": "{" };
  const open = [];
  let line = 1;
  for (const sign of code) {
    if (sign === "\n") line += 1;
    else if ("([{".includes(sign)) open.push({ sign, line });
    else if (sign in pairs && open.pop()?.sign !== pairs[sign]) return { line, words: `unmatched '${sign}'` };
  }
  return open.length ? { line: open[open.length - 1].line, words: `'${open[open.length - 1].sign}' was never closed` } : null;
}

/** A character outside of texts and comments that Python's code never has, such as the quotes and blanks of a word processor. */
function strange(code) {
  const match = /[^\0-\x7f\p{L}\p{M}\p{N}\p{Pc}]/u.exec(code);
  if (!match) return "";
  return `${lineOf(code, match.index)}: invalid character '${match[0]}' (${named(match[0])}); write a plain quote, blank or sign`;
}

/** A statement that opens a block and has no colon; brackets are balanced. */
function unopened(code) {
  let flat = code.replace(/\\\n/g, "  ");
  for (let before = ""; before !== flat;) {
    before = flat;
    flat = flat.replace(/[([{][^()[\]{}]*[)\]}]/g, (inner) => "_".repeat(inner.length));
  }
  const match = /^[ \t]*(async[ \t]+)?(def|class|if|elif|else|for|while|try|except|finally|with)\b[^:\n]*$/m.exec(flat);
  return match ? `${lineOf(code, match.index)}: expected ':' at the end of the line` : "";
}

function lineOf(text, at) {
  return text.slice(0, at).split("\n").length;
}

/** As `name_fault` in evaluator/model/visible_text.py; texts are brought into the form NFC before. */
function nameFault(text, rules) {
  if (/[\n\t]/.test(text)) return "must be a single line";
  if (!text || text !== text.trim()) return "must not be empty or begin or end with a space";
  if ([...text].length > LINE) return `has ${[...text].length} characters, at most ${LINE} are allowed; shorten it`;
  const fault = invisibleFault(text, rules.patterns.invisible_in_names);
  if (fault) return fault;
  const odd = [...text].find((sign) => sign !== " " && /[\p{Zs}\p{Co}]/u.test(sign));
  if (odd) return /\p{Zs}/u.test(odd) ? `holds the blank ${named(odd)}; write a plain space` : `holds the private character ${named(odd)}; write a common one`;
  if (/[\p{Mn}\p{Me}]{3}/u.test(text)) return "has more than 2 accents on one letter; remove some";
  return /[\p{L}\p{N}]/u.test(text) ? "" : "has neither a letter nor a digit; write a name";
}

function textFault(text, rules) {
  if ([...text].length > TEXT) return `has ${[...text].length} characters, at most ${TEXT} are allowed; shorten it`;
  return invisibleFault(text, rules.patterns.invisible);
}

function invisibleFault(text, pattern) {
  const match = new RegExp(pattern, "u").exec(text);
  return match ? `holds the invisible character ${named(match[0])}; remove it` : "";
}

function named(sign) {
  return `U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
}

function people(draft) {
  return draft.authors.split(",").map((one) => one.trim()).filter(Boolean);
}

/** The manifest in YAML. Text that YAML could read as something else is written as a JSON string. */
function manifest(draft, rules) {
  const list = (values) => `[${values.map(scalar).join(", ")}]`;
  const lines = [`name: ${scalar(draft.name)}`, `algorithm: ${scalar(draft.algorithm)}`];
  if (draft.kind !== "policy") lines.push(`kind: ${draft.kind}`);
  if (draft.kind === "image") lines.push(`entry: ${scalar(draft.image)}`);
  if (draft.kind === "policy" && draft.adapter) lines.push(`adapter: ${draft.adapter}`);
  if (!draft.all) lines.push(`tasks: ${list(draft.tasks)}`);
  const authors = people(draft);
  if (authors.length) lines.push(`authors: ${list(authors)}`);
  if (draft.description.trim()) lines.push(`description: ${scalar(draft.description.trim().replaceAll("\r\n", "\n"))}`);
  if (draft.license) lines.push(`license: ${scalar(draft.license)}`);
  if (rules.terms) lines.push(`terms: ${draft.terms}`);
  const meta = Object.entries(draft.meta).filter(([, answer]) => answer !== "");
  if (meta.length) lines.push("meta:", ...meta.map(([name, answer]) => `  ${scalar(name)}: ${answer === true || answer === false ? answer : scalar(answer)}`));
  return `${lines.join("\n")}\n`;
}

function header(draft, rules) {
  const lines = manifest(draft, rules).trimEnd().split("\n").map((line) => `# ${line}`);
  return `${[OPENING, ...lines, CLOSING].join("\n")}\n`;
}

function scalar(text) {
  const plain = /^[A-Za-z][A-Za-z0-9 ._-]*$/.test(text) && !text.endsWith(" ") && !NOT_TEXT.test(text);
  return plain ? text : JSON.stringify(text);
}

/**
 * The folder of an agent in the repository.
 *
 * @param {Draft} draft
 * @returns {string}
 */
export function folder(draft) {
  return `submissions/${draft.login}/${draft.agent}`;
}

/**
 * GitHub's page that proposes a new file, filled in.
 *
 * @param {string} repository the board's address, or the fork's
 * @param {string} branch
 * @param {string} path
 * @param {string} content
 * @returns {string|null} null where the address would be too long
 */
export function newFile(repository, branch, path, content) {
  const place = branch.split("/").map(encodeURIComponent).join("/");
  const address = `${repository}/new/${place}?filename=${encodeURIComponent(path)}&value=${encodeURIComponent(content)}`;
  return address.length > LONGEST ? null : address;
}
