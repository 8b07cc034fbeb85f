// Adapter for the `openai` SDK of JavaScript: `node adapter.mjs [create|helper]`.
//
// `create` calls `create`, whole and streamed; `helper` reads streams through the SDK's own `chat.completions.stream`.

import OpenAI from "openai";
import { Choices, serve, VALUES, version } from "../kit.mjs";

const MODE = process.argv[2] ?? "create";
const HELPER = MODE === "helper";
const client = {
  name: `openai-node${HELPER ? " stream helper" : ""}`,
  version: version(import.meta.url, "openai"),
  homepage: "https://github.com/openai/openai-node",
  issues: "https://github.com/openai/openai-node/issues",
};
const supports = {
  apis: HELPER ? ["chat"] : ["chat", "completions"],
  stream: HELPER ? [true] : [false, true],
  captures: VALUES,
  layouts: ["vllm-0.32.0"],
};

async function run(message, signal) {
  const sdk = new OpenAI({ baseURL: message.base_url, apiKey: "none", maxRetries: 0, timeout: message.deadline_ms });
  const api = message.api === "chat" ? sdk.chat.completions : sdk.completions;
  const choices = new Choices();
  if (HELPER) {
    choices.add(await api.stream(message.request, { signal }).finalChatCompletion());
  } else if (message.stream) {
    for await (const chunk of await api.create(message.request, { signal })) choices.add(chunk);
  } else {
    choices.add(await api.create(message.request, { signal }));
  }
  return choices.answer();
}

await serve(client, supports, run, (error) => error instanceof OpenAI.OpenAIError);
