// Does my client capture the tokens that the server sampled, each with its own score?   node --test

import assert from "node:assert/strict";
import { after, before, test } from "node:test";

import { start } from "./fakellm.mjs";

let fakellm;
before(async () => {
  fakellm = await start(new URL("../hello.yaml", import.meta.url).pathname);
});
after(async () => {
  assert.deepEqual(await fakellm.verdict().then(({ ok }) => ok), true);
  await fakellm.stop();
});

/** The client under test: ids and scores of a streamed answer. */
async function capture(baseUrl) {
  const answer = await fetch(`${baseUrl}/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "tiny",
      messages: [{ role: "user", content: "Say hello." }],
      stream: true,
      logprobs: true,
      return_token_ids: true,
    }),
  });
  const captured = { id: null, ids: [], scores: [] };
  for (const event of (await answer.text()).split("\n\n")) {
    const data = event.replace(/^data: /, "");
    if (!data.startsWith("{")) continue;
    const chunk = JSON.parse(data);
    captured.id ??= chunk.id;
    for (const choice of chunk.choices) {
      captured.ids.push(...(choice.token_ids ?? []));
      captured.scores.push(...(choice.logprobs?.content ?? []).map((entry) => entry.logprob));
    }
  }
  return captured;
}

test("every token keeps its score", async () => {
  const captured = await capture(fakellm.baseUrl);

  const { tokens } = (await fakellm.truth(captured.id)).choices[0];
  assert.deepEqual(captured.ids, tokens.map((token) => token.id));
  assert.deepEqual(captured.scores, tokens.map((token) => token.logprob));
});

test("the journal has the exchange, bytes and all", async () => {
  await fakellm.reset();
  await capture(fakellm.baseUrl);

  const [exchange] = await fakellm.journal();
  assert.deepEqual(exchange.faults, ["late-eos-score"]);
  assert.match((await fakellm.exchange(exchange.number)).response.body, /data: \[DONE\]/);
});
