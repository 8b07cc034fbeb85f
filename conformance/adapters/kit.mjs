// What the JavaScript adapters of this folder share: the loop of JSON lines, and reading of OpenAI-shaped objects.
//
// An adapter hands `serve` who its client is and `run(message) -> answer`. Errors for which `refused` says yes are the
// client's own typed refusals; whatever else escapes is its crash. Nothing here mends what a client handed over.

import { createInterface } from "node:readline";
import { readFileSync } from "node:fs";

export const VALUES = ["prompt_token_ids", "completion_token_ids", "logprobs", "text", "finish_reason"];
const NOWHERE = "http://127.0.0.1:9";

export function version(adapter, name) {
  return JSON.parse(readFileSync(new URL(`./node_modules/${name}/package.json`, adapter))).version;
}

export async function serve(client, supports, run, refused) {
  await warmUp(supports, run, refused);
  for await (const line of createInterface({ input: process.stdin })) {
    const message = JSON.parse(line);
    if (message.cmd === "stop") break;
    const hello = { protocol: 1, client: { language: "javascript", ...client }, supports };
    const reply = message.cmd === "start" ? hello : { seq: message.seq, ...(await answer(message, run, refused)) };
    process.stdout.write(`${JSON.stringify(reply, (_, value) => spelled(value))}\n`);
  }
  process.exit(0);
}

// One call to nobody: what a client loads on its first call must not count in a case's time.
async function warmUp(supports, run, refused) {
  const request = { model: "m", messages: [{ role: "user", content: "m" }], prompt: "m" };
  for (const stream of supports.stream ?? [false, true]) {
    const call = { api: supports.apis[0], stream, base_url: `${NOWHERE}/v1`, root_url: NOWHERE, deadline_ms: 1000 };
    await answer({ ...call, request: { ...request, stream } }, run, refused);
  }
}

async function answer(message, run, refused) {
  const stop = new AbortController();
  const timer = message.cancel_after_ms && setTimeout(() => stop.abort(), message.cancel_after_ms);
  try {
    return await run(message, stop.signal);
  } catch (error) {
    const words = `${error?.name ?? "Error"}: ${error?.message ?? error}`.slice(0, 500);
    if (stop.signal.aborted || refused(error)) return { refused: { kind: error?.name ?? "Error", message: words } };
    return { errored: { message: words, traceback: String(error?.stack ?? "") } };
  } finally {
    clearTimeout(timer);
  }
}

// JSON has no NaN and no infinity: the protocol writes them as words.
function spelled(value) {
  if (typeof value !== "number" || Number.isFinite(value)) return value;
  return Number.isNaN(value) ? "NaN" : value > 0 ? "Infinity" : "-Infinity";
}

export function row(index, values) {
  return { index, ...Object.fromEntries(VALUES.map((name) => [name, null])), ...values };
}

function scoresOf(logprobs) {
  if (!logprobs) return null;
  const found = "content" in logprobs ? logprobs.content : logprobs.token_logprobs;
  return found == null ? null : found.map((entry) => (entry !== null && typeof entry === "object" ? entry.logprob : entry));
}

// Choices of an OpenAI-shaped answer, whole or joined from chunks in the order in which they came.
export class Choices {
  rows = new Map();
  usage = null;
  prompt = null;

  add(answer) {
    this.usage = answer.usage ?? this.usage;
    this.prompt ??= answer.prompt_token_ids ?? null;
    for (const choice of answer.choices ?? []) {
      const known = this.rows.get(choice.index) ?? row(choice.index ?? null, {});
      this.rows.set(choice.index, known);
      const said = choice.message ?? choice.delta ?? {};
      const text = "text" in choice ? choice.text : said.content;
      const pieces = { completion_token_ids: choice.token_ids, logprobs: scoresOf(choice.logprobs), text };
      for (const [name, piece] of Object.entries(pieces)) {
        if (piece != null) known[name] = known[name] === null ? piece : known[name].concat(piece);
      }
      known.prompt_token_ids ??= choice.prompt_token_ids ?? null;
      known.finish_reason = choice.finish_reason ?? known.finish_reason;
    }
  }

  answer() {
    const rows = [...this.rows.values()];
    for (const known of rows) known.prompt_token_ids ??= this.prompt;
    return { captured: rows, usage: this.usage };
  }
}
