// A fake inference server for tests of Node clients: started, asked for the truth, stopped. No dependencies.

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

/**
 * Start `fakellm serve` and wait until it listens.
 * @param {string} scenario a scenario file or folder
 * @param {string[]} words further words of the command line, for example "--layout", "sglang"
 */
export async function start(scenario, ...words) {
  const [command, ...first] = (process.env.FAKELLM ?? "fakellm").split(" ");
  const child = spawn(command, [...first, "serve", "-q", "--scenario", scenario, ...words], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const ended = once(child, "exit");
  const lines = createInterface({ input: child.stdout });
  const [line] = await Promise.race([
    once(lines, "line"),
    ended.then(([code]) => Promise.reject(new Error(`fakellm ended with code ${code} before it listened`))),
  ]);
  const { url, admin_url: admin } = JSON.parse(line);
  const ask = async (path, options) => (await fetch(`${admin}/${path}`, options)).json();
  return {
    url,
    baseUrl: `${url}/v1`, // what OpenAI clients call baseURL
    /** What the engine really said in the answer with this id: prompt_token_ids, choices[].tokens[].{id, logprob}. */
    truth: async (responseId) => (await ask(`truth/${responseId}`)).truth[0],
    /** Every exchange so far; `exchange(n)` has the bytes of one. */
    journal: async () => (await ask("journal")).exchanges,
    exchange: (number) => ask(`journal/${number}`),
    /** Unmatched requests and replies that nobody asked for; `ok` when there are none. */
    verdict: () => ask("verdict"),
    reset: () => ask("reset", { method: "POST" }),
    stop: async () => {
      child.kill();
      await ended;
    },
  };
}
