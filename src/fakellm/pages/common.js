// What report.html and the inspector share: building elements out of text, and the alignment strip.
const by = (id) => document.getElementById(id);
// Everything from a wire goes through here: text is set as text, never as markup.
function make(name, attributes, ...inside) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key === "class") element.className = value; else if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  for (const one of inside) if (one !== null && one !== undefined) element.append(one);
  return element;
}
function cellText(value) {
  if (value === "absent") return ["—", "absent"];
  if (typeof value === "number" && !Number.isInteger(value)) return [String(Number(value.toPrecision(7))), ""];
  return [value === null ? "null" : typeof value === "string" ? JSON.stringify(value) : String(value), ""];
}
// One column a position; `sides`: whose ids and scores stand below one another. `first` null: nothing diverges.
function drawStrip(strip, sides = ["truth", "sent", "got"]) {
  const table = make("table", { class: "mono" });
  const put = (head, pick, look) => {
    const row = make("tr", {}, make("th", { scope: "row" }, head));
    for (const one of strip.rows) {
      const [text, style] = look ? look(pick(one)) : cellText(pick(one));
      const first = one.position === strip.first ? " first" : "";
      row.append(make("td", { class: (one.differs ? "differs" : "") + first + " " + style }, text));
    }
    table.append(row);
  };
  put("position", (one) => one.position, (value) => [String(value), ""]);
  put("piece", (one) => one.piece, (value) => [JSON.stringify(value), ""]);
  for (const side of sides) put(side + " id", (one) => one[side].id);
  if (strip.of === "completion") for (const side of sides) put(side + " logprob", (one) => one[side].logprob);
  const box = make("div", { class: "strip", tabindex: "0", role: "region", "aria-label": "alignment strip" }, table);
  const place = strip.first === null ? "nothing diverges" : `around the first divergence at ${strip.first}`;
  const window_ = `${strip.rows.length} of ${strip.total} ${strip.of} tokens of choice ${strip.choice}, ${place}`;
  const says = strip.diagnosis || (strip.first === null ? "" : "the values differ");
  return make("div", {}, says ? make("p", { class: "says" }, says) : null, make("p", { class: "dim" }, window_), box);
}
function toFirst(box) {
  for (const strip of box.querySelectorAll(".strip")) {
    const first = strip.querySelector(".first");
    if (first) strip.scrollLeft = Math.max(0, first.offsetLeft - strip.clientWidth / 3);
  }
}
