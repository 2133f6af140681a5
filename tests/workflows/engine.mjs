// GitHub's own workflow parser and expression engine behind one line of JSON in, one line of JSON out.
// Bundled by esbuild before use: the packages import JSON in a way that Node itself does not take.
import { data, Evaluator, Lexer, Parser } from "@actions/expressions";
import { convertWorkflowTemplate, NoOperationTraceWriter, parseWorkflow } from "@actions/workflow-parser";
import examples from "@octokit/webhooks-examples";
import readline from "node:readline";

const STATUS = {
  success: (status) => status === "success",
  failure: (status) => status === "failure",
  cancelled: (status) => status === "cancelled",
  always: () => true,
};

const toData = (value) => JSON.parse(JSON.stringify(value), data.reviver);
const toJson = (value) => JSON.parse(JSON.stringify(value, data.replacer));

function evaluate({ expression, contexts, status }) {
  const functions = Object.entries(STATUS).map(([name, holds]) => ({
    name,
    minArgs: 0,
    maxArgs: 0,
    call: () => new data.BooleanData(holds(status)),
  }));
  const tree = new Parser(new Lexer(expression).lex().tokens, Object.keys(contexts), functions).parse();
  const context = new data.Dictionary();
  for (const [name, value] of Object.entries(contexts)) context.add(name, toData(value));
  const found = new Evaluator(tree, context, new Map(functions.map((one) => [one.name, one]))).evaluate();
  return { value: toJson(found), truth: truth(found), text: found.coerceString() };
}

// What GitHub takes for false: false, 0, -0, "", null and NaN.
function truth(found) {
  if (found instanceof data.Null) return false;
  if (found instanceof data.BooleanData) return found.value;
  if (found instanceof data.NumberData) return found.value !== 0 && !Number.isNaN(found.value);
  if (found instanceof data.StringData) return found.value !== "";
  return true;
}

// The conditions as GitHub reads them: with success() added where a condition names no status.
async function conditions({ name, content }) {
  const parsed = parseWorkflow({ name, content }, new NoOperationTraceWriter());
  const workflow = await convertWorkflowTemplate(parsed.context, parsed.value, undefined, {});
  const errors = [...parsed.context.errors.getErrors(), ...(workflow.errors ?? [])].map((one) => one.message ?? String(one));
  const read = (token) => (token ? (token.expression ?? String(token.value)) : "success()");
  const jobs = workflow.jobs.map((job) => [
    job.id.value,
    { if: read(job.if), steps: (job.steps ?? []).map((step) => read(step.if)) },
  ]);
  return { errors, jobs: Object.fromEntries(jobs) };
}

const payloads = ({ event }) => examples.find((one) => one.name === event).examples;

const OPERATIONS = { evaluate, conditions, payloads };

async function main() {
  for await (const line of readline.createInterface({ input: process.stdin })) {
    const request = JSON.parse(line);
    let answer;
    try {
      answer = { found: await OPERATIONS[request.operation](request) };
    } catch (error) {
      answer = { error: String(error) };
    }
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
}

main();
