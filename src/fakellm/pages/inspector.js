// The inspector: asks the admin API beside this page what happens, and tells it what to arm. See common.js for make().
"use strict";
const EVERY_MS = 1000, KEPT = 500, SHOWN_BYTES = 200000;
const base = location.pathname.replace(/[^/]*$/, "");
const known = new Map();        // fault id -> its row of the catalogue
const exchanges = new Map();    // number -> { row, element }
let token = sessionStorage.getItem("fakellm-admin-token") || "";
let changed = 0, paused = false, opened = null, timer = null, polls = 0;

class Refused extends Error { constructor(status, words) { super(words); this.status = status; } }
async function call(path, method = "GET", body = undefined) {
  const headers = token ? { "x-fakellm-admin-token": token } : {};
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(base + path, { method, headers, body: body === undefined ? undefined : JSON.stringify(body), cache: "no-store" });
  const value = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, [value.error, value.hint].filter(Boolean).join("; "));
  return value;
}
function say(text, look) { by("state").textContent = text; by("state").className = "word " + look; }
function complain(error) { by("problem").textContent = error ? error.message : ""; }

// ---------------------------------------------------------------- live
async function poll() {
  clearTimeout(timer);
  try {
    const [journal, play] = await Promise.all([call(`journal?changed=${changed}&limit=${KEPT}`), polls++ % 3 === 0 ? inPlay() : null]);
    by("gate").hidden = true;
    if (journal.now < changed - 5 || journal.total < exchanges.size) forget();
    changed = Math.max(0, journal.now - 0.5);
    for (const row of journal.exchanges) put(row);
    trim();
    refilter();
    by("counts").textContent = `${journal.total} exchanges` + (journal.dropped ? `, the oldest ${journal.dropped} dropped` : "") + (journal.workers ? `, ${journal.workers} workers` : "");
    say(paused ? "paused" : "live", paused ? "WARN" : "OK");
  } catch (error) {
    if (error.status === 401) { by("gate").hidden = false; say("token needed", "WARN"); return; }
    say("the server does not answer", "FAIL");
    changed = 0;
  }
  if (!paused && !document.hidden) timer = setTimeout(poll, EVERY_MS);
}
async function inPlay() {
  const [scenarios, armed] = await Promise.all([call("scenarios"), call("faults/armed")]);
  drawScenarios(scenarios.scenarios);
  drawArmed(armed.armed);
}
async function act(deed) {
  try { complain(null); await deed(); await inPlay(); } catch (error) { complain(error); }
}

// ------------------------------------------------------- scenarios and faults
function drawScenarios(rows) {
  const list = by("scenarios"), chosen = by("where").value, wanted = JSON.stringify(rows);
  if (list.dataset.drawn === wanted) return;
  list.dataset.drawn = wanted;
  list.replaceChildren(...[...rows].sort((a, b) => b.default - a.default).map((row) => make("li", {},
    row.default ? make("span", { class: "tag" }, "armed") : make("button", { type: "button", onclick: () => act(() => call(`scenarios/${encodeURIComponent(row.name)}/arm`, "POST")) }, "Arm"),
    make("strong", {}, row.name), make("span", { class: "dim" }, `${row.layout}${row.title ? ": " + row.title : ""}`),
    row.unused.length ? make("span", { class: "WARN" }, `${row.unused.length} replies still to be played`) : null)));
  by("where").replaceChildren(make("option", { value: "" }, "of any scenario"), ...rows.map((row) => make("option", { value: row.name }, "of " + row.name)));
  by("where").value = chosen;
}
function drawArmed(rows) {
  by("armed").replaceChildren(...rows.map((row) => make("li", {},
    make("span", { class: "tag" }, typeof row.fault === "string" ? row.fault : JSON.stringify(row.fault)),
    make("span", { class: "dim" }, (row.left === null ? "on every answer" : row.left === 1 ? "on the next answer" : `on the next ${row.left} answers`) + (row.scenario ? ` of ${row.scenario}` : "") + " that it applies to"),
    make("button", { type: "button", "aria-label": `Disarm ${row.id}`, onclick: () => act(() => call(`faults/armed/${row.number}`, "DELETE")) }, "Disarm"))));
}
by("arm").addEventListener("submit", (event) => {
  event.preventDefault();
  act(async () => {
    const id = by("fault").value.trim(), given = by("parameters").value.trim(), times = by("times").value;
    let parameters = null;
    try { parameters = given ? JSON.parse(given) : null; } catch (_) { throw new Error('parameters are JSON, for example {"at": 2}'); }
    await call("faults/arm", "POST", { fault: parameters ? { [id]: parameters } : id, times: times === "" ? null : Number(times), scenario: by("where").value || null });
  });
});
by("fault").addEventListener("input", () => {
  const row = known.get(by("fault").value.trim());
  const own = row ? Object.entries(row.parameters).map(([name, facts]) => `${name}: ${facts.description || ""}`).join("; ") : "";
  by("about").textContent = row ? `${row.title} Parameters: ${own}.` : "";
});

// ---------------------------------------------------------------- exchanges
function put(row) {
  const number = String(row.number);
  let entry = exchanges.get(number);
  if (!entry) {
    const element = make("tr", { tabindex: "0", onclick: () => open(number) });
    entry = { element };
    exchanges.set(number, entry);
    by("rows").prepend(element);
  }
  const ended = row.disconnected_ms !== null && row.disconnected_ms !== undefined ? "client gone" : row.finished_ms === null ? "streaming" : `${Math.round(row.finished_ms)} ms`;
  const again = opened === number && entry.row && entry.row.finished_ms !== row.finished_ms;
  entry.row = row;
  entry.text = [row.number, row.method, row.path, row.status, row.scenario, row.reply, ...row.faults, row.unmatched ? "unmatched" : "", row.problem || "", row.token || "", ended].join(" ").toLowerCase();
  entry.element.replaceChildren(make("td", { class: "mono" }, number),
    make("td", {}, make("span", { class: "mono" }, `${row.method} ${row.path}`), make("br"), make("span", { class: "dim", title: row.reply || "" }, [row.scenario, (row.reply || "").replace(/^.*[/\\]/, "")].filter(Boolean).join(" · "))),
    make("td", {}, make("span", { class: "word " + look(row) }, row.unmatched ? "unmatched" : row.status === null ? "…" : row.status), make("span", { class: "dim" }, ` ${ended} `), ...row.faults.map((one) => make("span", { class: "tag" }, one)), row.problem ? make("div", { class: "FAIL" }, row.problem.slice(0, 200)) : null));
  if (again) open(number, false);
}
function look(row) { return row.unmatched || row.problem || row.status >= 500 ? "FAIL" : row.status >= 400 ? "WARN" : "OK"; }
function forget() { exchanges.clear(); by("rows").replaceChildren(); close(); }
function trim() {
  for (const [number, entry] of exchanges) { if (exchanges.size <= KEPT) break; entry.element.remove(); exchanges.delete(number); }
}
function refilter() {
  const words = by("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  let count = 0;
  for (const entry of exchanges.values()) {
    entry.element.hidden = !words.every((one) => entry.text.includes(one));
    count += entry.element.hidden ? 0 : 1;
  }
  by("shown").textContent = exchanges.size ? `${count} of ${exchanges.size} shown` : "";
  by("empty").hidden = exchanges.size > 0;
}
function close() {
  if (opened !== null && exchanges.has(opened)) { const row = exchanges.get(opened).element; row.setAttribute("aria-selected", "false"); if (by("detail").contains(document.activeElement)) row.focus(); }
  opened = null;
  by("detail").hidden = true;
}
async function open(number, focus = true) {
  if (opened !== number) close();
  opened = number;
  if (exchanges.has(number)) exchanges.get(number).element.setAttribute("aria-selected", "true");
  const path = `journal/${encodeURIComponent(number)}`;
  try {
    const [detail, strips] = await Promise.all([call(path), call(path + "/strips").catch((error) => ({ strips: [], error: error.message }))]);
    if (opened !== number) return;
    by("detail").replaceChildren(...drawDetail(detail, strips));
    by("detail").hidden = false;
    toFirst(by("detail"));
    if (focus && matchMedia("(max-width: 860px)").matches) by("detail").scrollIntoView();
  } catch (error) {
    if (opened === number) { by("detail").replaceChildren(make("p", { class: "FAIL" }, error.message)); by("detail").hidden = false; }
  }
}

// ------------------------------------------------------------------- detail
function drawDetail(detail, beside) {
  const facts = [["answered", detail.status === null ? "not yet" : String(detail.status)], ["scenario", [detail.scenario, detail.reply].filter(Boolean).join(" · ")],
    ["faults", detail.faults.join(", ") || "none"], ["ended", detail.finished_ms === null ? "" : `after ${Math.round(detail.finished_ms)} ms`],
    ["client gone", detail.disconnected_ms === null ? "" : `after ${Math.round(detail.disconnected_ms)} ms, ${detail.response.sent_bytes} bytes were sent`],
    ["aborted", typeof detail.aborted_ms === "number" ? `after ${Math.round(detail.aborted_ms)} ms, by a route of the server` : ""],
    ["ignored", detail.ask && detail.ask.ignored.length ? detail.ask.ignored.join(", ") : ""], ["problem", detail.problem || ""]];
  const parts = [make("div", { class: "tools" }, make("h2", {}, `${detail.number}: ${detail.method} ${detail.path}`), make("span", { class: "push" }), make("button", { type: "button", onclick: close }, "Close")),
    make("dl", { class: "facts" }, ...facts.filter(([, value]) => value).flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]))];
  const misses = nearMisses(detail);
  if (misses) parts.push(make("h3", {}, "Near misses"), ...misses);
  if (beside.strips.length) parts.push(make("h3", {}, "Truth beside the wire"), ...beside.strips.map((strip) => drawStrip(strip, ["truth", "wire"])));
  else if (beside.error && detail.truth) parts.push(make("p", { class: "dim" }, beside.error));
  parts.push(make("h3", {}, "Request"), pre(detail.request.body), more("Request headers", detail.request.headers));
  parts.push(make("h3", {}, "Response" + (detail.response.cut ? " (cut)" : "")), drawFrames(detail), more("Response headers", detail.response.headers));
  if (detail.ask) parts.push(more("What the server heard", detail.ask));
  if (detail.truth) parts.push(more("The truth, whole", detail.truth));
  return parts;
}
function nearMisses(detail) {
  let body = null;
  try { body = JSON.parse(detail.response.body); } catch (_) { return null; }
  if (!detail.unmatched || !body || !body.fakellm || !body.fakellm.near_misses) return null;
  const tables = body.fakellm.near_misses.map((miss) => make("div", {}, make("p", {}, make("strong", {}, `replies[${miss.reply}]`), make("span", { class: "dim" }, " " + (miss.where || ""))),
    make("table", {}, make("tbody", {}, ...miss.fields.map((one) => make("tr", {}, make("td", { class: "word " + (one.holds ? "OK" : "FAIL") }, one.holds ? "fits" : "differs"), make("td", { class: "mono" }, one.field), make("td", {}, one.rule), make("td", {}, "the request has ", make("code", {}, one.got))))))));
  return [...(tables.length ? tables : [make("p", {}, "The scenario has no reply at all.")]), make("p", { class: "dim" }, body.fakellm.hint || "")];
}
function drawFrames(detail) {
  const body = detail.response.body, frames = detail.response.frames;
  const paced = frames.length > 1 && frames.some((frame) => frame.due_ms !== frames[0].due_ms);
  if (typeof body !== "string" || !paced) return pre(body);
  const bytes = new TextEncoder().encode(body), decoder = new TextDecoder(), rows = [];
  let at = 0;
  for (const frame of frames.slice(0, 2000)) {
    rows.push(make("tr", {}, make("td", { class: "dim" }, `${frame.due_ms} ms`), make("td", { class: "dim" }, `${frame.bytes} B`), make("td", { class: "mono" }, decoder.decode(bytes.subarray(at, at + frame.bytes)).trim())));
    at += frame.bytes;
  }
  if (frames.length > rows.length) rows.push(make("tr", {}, make("td", { colspan: "3" }, `and ${frames.length - rows.length} more`)));
  return make("div", { class: "frames", tabindex: "0", role: "region", "aria-label": "Frames" }, make("table", {}, make("tbody", {}, ...rows)));
}
function pre(value) {
  let text = typeof value === "string" ? value : JSON.stringify(value, null, 1);
  if (typeof value === "string" && value.length < SHOWN_BYTES) try { text = JSON.stringify(JSON.parse(value), null, 1); } catch (_) { /* not JSON: as it is */ }
  if (text.length > SHOWN_BYTES) text = text.slice(0, SHOWN_BYTES) + `\n… ${text.length - SHOWN_BYTES} more characters (journal/${opened} has them all)`;
  return make("pre", { tabindex: "0" }, text || "(empty)");
}
function more(title, value) { return make("details", {}, make("summary", {}, title), pre(value)); }

// ------------------------------------------------------------------ controls
function pause(wanted) {
  paused = wanted;
  by("pause").textContent = paused ? "Go on" : "Pause";
  by("pause").setAttribute("aria-pressed", String(paused));
  poll();
}
by("pause").addEventListener("click", () => pause(!paused));
by("reset").addEventListener("click", () => act(async () => { await call("reset", "POST"); forget(); changed = 0; await poll(); }));
by("filter").addEventListener("input", refilter);
by("gate").addEventListener("submit", (event) => {
  event.preventDefault();
  token = by("token").value;
  sessionStorage.setItem("fakellm-admin-token", token);
  start();
});
document.addEventListener("visibilitychange", () => { if (!document.hidden && !paused) poll(); });
document.addEventListener("keydown", (event) => {
  const active = document.activeElement, typing = ["INPUT", "SELECT", "TEXTAREA"].includes(active.tagName);
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "Escape") { if (typing) active.blur(); else close(); return; }
  if (typing) return;
  if (event.key === "/") { event.preventDefault(); by("filter").focus(); }
  else if (event.key === "f") { event.preventDefault(); by("fault").focus(); }
  else if (event.key === "p") pause(!paused);
  else if (event.key === "Enter" && active.parentElement === by("rows")) active.click();
  else if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    if (by("detail").contains(active)) return;
    const rows = [...by("rows").children].filter((row) => !row.hidden), at = rows.indexOf(active), down = event.key === "ArrowDown";
    const next = rows[at < 0 ? (down ? 0 : rows.length - 1) : at + (down ? 1 : -1)];
    if (next) { event.preventDefault(); next.focus(); }
  }
});
async function start() {
  by("root").textContent = location.origin + "/v1";
  polls = 0;
  await poll();
  if (known.size) return;
  try {
    for (const row of (await call("faults")).faults) known.set(row.id, row);
    by("known").replaceChildren(...[...known.values()].map((row) => make("option", { value: row.id }, row.title)));
  } catch (error) { if (error.status !== 401) complain(error); }
}
start();
