// Adapter for the Vercel AI SDK: `node adapter.mjs openai|openai-compatible`, `generateText` and `streamText`.
//
// It keeps no token ids; the OpenAI provider hands scores over in `providerMetadata`, the compatible one has none. Its
// finish reason is its own word, the API's is read off `rawFinishReason`.

import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, AISDKError, generateText, streamText } from "ai";
import { row, serve, version } from "../kit.mjs";

const PROVIDER = process.argv[2];
const OPENAI = PROVIDER === "openai";
const client = {
  name: `vercel ai sdk, ${PROVIDER}`,
  version: `${version(import.meta.url, "ai")}, ${version(import.meta.url, `@ai-sdk/${PROVIDER}`)}`,
  homepage: "https://github.com/vercel/ai",
  issues: "https://github.com/vercel/ai/issues",
};
const supports = {
  apis: ["chat"],
  captures: OPENAI ? ["logprobs", "text", "finish_reason"] : ["text", "finish_reason"],
  layouts: ["vllm-0.32.0"],
};
const NAMES = { max_tokens: "maxOutputTokens", temperature: "temperature", seed: "seed", stop: "stopSequences" };
const HANDLED = new Set(["model", "messages", "stream", "stream_options", ...Object.keys(NAMES)]);

// Fields that the SDK does not know are put into the body on its way out: it has no other place for them.
function fetching(extra) {
  return (url, init) => fetch(url, { ...init, body: JSON.stringify({ ...JSON.parse(init.body), ...extra }) });
}

async function run(message, signal) {
  const { request } = message;
  const extra = Object.fromEntries(Object.entries(request).filter(([name]) => !HANDLED.has(name)));
  const terms = { name: "fake", baseURL: message.base_url, apiKey: "none", fetch: fetching(extra), includeUsage: true };
  const model = OPENAI ? createOpenAI(terms).chat(request.model) : createOpenAICompatible(terms)(request.model);
  const known = Object.entries(NAMES).filter(([name]) => name in request);
  const call = {
    model,
    messages: request.messages,
    maxRetries: 0,
    abortSignal: AbortSignal.any([signal, AbortSignal.timeout(message.deadline_ms)]),
    providerOptions: { openai: { logprobs: request.top_logprobs ?? true } },
    ...Object.fromEntries(known.map(([name, theirs]) => [theirs, request[name]])),
  };
  let failure = null;
  const result = message.stream
    ? streamText({ ...call, onError: ({ error }) => (failure = error) })
    : await generateText(call);
  if (message.stream) await result.consumeStream({ onError: (error) => (failure = error) });
  if (failure !== null) throw failure;
  const told = await result.providerMetadata;
  const scores = told?.openai?.logprobs?.map((entry) => entry.logprob) ?? null;
  const values = { logprobs: OPENAI ? scores : null, text: await result.text };
  return { captured: [row(0, { ...values, finish_reason: (await result.rawFinishReason) ?? null })] };
}

await serve(client, supports, run, (error) => AISDKError.isInstance(error) || APICallError.isInstance(error));
