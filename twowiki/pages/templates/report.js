"use strict";
(async () => {
  const at = (id) => document.getElementById(id);
  const list = at("list"), packed = at("rows");
  const STEP = 100; // questions that the list shows at once
  const FIELDS = ["scope", "type", "system", "change", "outcome", "error", "text", "sort", "order"];
  const PARTS = { joint: "joint_", answer: "", support: "sp_", evidence: "evi_" };
  const fields = FIELDS.map(at).filter(Boolean);

  const unpack = async (text) => {
    const letters = atob(text), bytes = new Uint8Array(letters.length);
    for (let place = 0; place < letters.length; place++) bytes[place] = letters.charCodeAt(place);
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).json();
  };
  const data = await unpack(packed.content.textContent.trim());
  packed.remove();
  const several = data.systems.length > 1;
  const names = {};
  for (const option of document.querySelectorAll("#outcome option, #error option")) names[option.value] = option.textContent;

  // a row of the data: its gold, then each system
  const rows = data.rows.map((row, number) => ({
    number, id: row[0], type: row[1], question: row[2], answer: row[3], facts: row[4], triples: row[5],
    systems: row.slice(6).map((one, place) => ({
      name: data.systems[place], answer: one[0], facts: one[1], triples: one[2], outcome: one[3], errors: one[4],
      scores: one[5], marks: one[6].split(","),
    })),
  }));
  const column = new Map(data.metrics.map((metric, place) => [metric, place]));
  const nodes = new Map();
  for (const node of document.querySelectorAll(".example")) nodes.set(Number(node.dataset.row), node);
  const whole = new Set(nodes.keys());
  const numbers = new Map(rows.map((row) => [row.id, row.number]));

  const element = (tag, values, ...children) => {
    const made = Object.assign(document.createElement(tag), values);
    made.append(...children);
    return made;
  };
  const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
  const shown = (value) => value === null ? element("i", { className: "none" }, "none")
    : value.trim() ? element("bdi", {}, value) : element("i", { className: "none" }, "(empty)");
  const pair = (term, ...what) => element("div", {}, element("dt", {}, term), " ", element("dd", {}, ...what));
  const scoresOf = (system) => Object.entries(PARTS)
    .filter(([, prefix]) => at("sort").querySelector(`[value="${prefix}f1"]`))
    .map(([part, prefix]) => part + " " + system.scores[column.get(prefix + "f1")].toFixed(1)).join(", ");
  const permalink = (row) => element("a", { href: "#" + new URLSearchParams({ question: row.id }) },
    "link", element("span", { className: "unseen" }, " to the question " + row.id));
  const entries = (title, values, marks, otherwise) => {
    const items = (values || []).map((one, place) => {
      const right = marks[place] === "1";
      const sign = element("b", { className: right ? "hit" : "miss" }, right ? "✓ " : otherwise[0] + " ");
      sign.setAttribute("aria-hidden", "true");
      const words = Array.isArray(one) ? one.map(text).join(one.length === 3 ? " – " : ", sentence ") : text(one);
      return element("li", {}, sign, element("bdi", {}, words),
        element("span", { className: "unseen" }, right ? " (right)" : ` (${otherwise[1]})`));
    });
    const body = items.length ? element("ul", { className: "entries" }, ...items) : element("p", { className: "none" }, "none");
    return element("figure", {}, element("figcaption", {}, title), body);
  };
  const WRONG = ["✗", "wrong"], MISSED = ["○", "not found"];
  const chip = (words, kind) => element("span", { className: "chip " + kind }, words);
  const body = (row) => {
    const facts = element("dl", { className: "facts" }, pair("gold answer", shown(row.answer)));
    const parts = [facts];
    for (const system of row.systems) {
      facts.append(pair(several ? system.name : "predicted answer", shown(system.answer),
        element("span", { className: "meaning" }, "F1: " + scoresOf(system))));
      if (system.errors.length) parts.push(element("ul", { className: "errors" },
        ...system.errors.map((key) => element("li", {}, (several ? system.name + ": " : "") + names[key]))));
    }
    facts.append(pair("id", element("code", {}, row.id), " ", permalink(row)));
    parts.push(element("p", { className: "note" }, "The page has the sentences of drawn questions alone, not of this one."));
    const figures = [];
    if (row.facts.length || row.systems.some((one) => one.facts)) figures.push(["sentences", "facts", 0]);
    if (row.triples.length || row.systems.some((one) => one.triples)) figures.push(["triples", "triples", 2]);
    for (const [word, field, place] of figures) {
      const grid = element("div", { className: "graphs" });
      grid.append(entries("gold " + word, row[field], several ? "1".repeat(50) : row.systems[0].marks[place], MISSED));
      for (const system of row.systems) {
        grid.append(entries((several ? system.name : "predicted") + ": " + word, system[field], system.marks[place + 1], WRONG));
      }
      parts.push(grid);
    }
    return parts;
  };
  const build = (row) => {
    const chips = row.systems.map((one) => chip((several ? one.name + ": " : "") + names[one.outcome],
      one.outcome === "all_right" ? "good" : "bad"));
    const details = element("details", {}, element("summary", {},
      element("h3", {}, row.question || "question " + row.id),
      element("span", { className: "chips" }, chip(row.type.replaceAll("_", " "), ""), ...chips)));
    details.addEventListener("toggle", () => {
      if (details.open && details.childElementCount === 1) details.append(...body(row));
    });
    const node = element("article", { className: "example" }, details);
    Object.assign(node.dataset, { row: row.number, type: row.type, outcome: row.systems[0].outcome, errors: row.systems[0].errors.join(" ") });
    return node;
  };
  const nodeOf = (row) => {
    if (!nodes.has(row.number)) nodes.set(row.number, build(row));
    return nodes.get(row.number);
  };

  const texts = new Map();
  const textOf = (row) => {
    if (!texts.has(row.number)) {
      const node = whole.has(row.number) ? nodes.get(row.number).textContent : "";
      texts.set(row.number, (node || JSON.stringify([row.id, row.question, row.answer, row.facts, row.triples, row.systems.map((one) => [one.answer, one.facts, one.triples])])).toLowerCase());
    }
    return texts.get(row.number);
  };
  const value = (name) => (at(name) ? at(name).value : "");
  const isRight = (system, side) => system.scores[side === "a" ? 0 : column.get(at("sort").querySelector('[value="joint_em"]') ? "joint_em" : "em")] === 100;
  const changed = (row, wanted) => {
    const [first, second] = wanted.slice(1).split("-").map((place) => row.systems[place]);
    return isRight(first, wanted[0]) && !isRight(second, wanted[0]);
  };
  const scoped = () => (value("scope") === "all" ? rows : rows.filter((row) => whole.has(row.number)));
  const everything = () => (whole.size ? scoped() : rows);
  let matches = [], limit = STEP, current = null;
  const choose = () => {
    const words = value("text").toLowerCase().split(/\s+/).filter(Boolean);
    const place = Number(value("system") || 0);
    matches = everything().filter((row) =>
      (!value("type") || row.type === value("type")) &&
      (!value("outcome") || row.systems[place].outcome === value("outcome")) &&
      (!value("error") || row.systems[place].errors.includes(value("error"))) &&
      (!value("change") || changed(row, value("change"))) &&
      words.every((word) => textOf(row).includes(word)));
    const by = value("sort"), sign = value("order") ? -1 : 1;
    if (by) {
      const score = (row) => row.systems[place].scores[column.get(by)];
      matches.sort((one, other) => sign * (score(one) - score(other)) || one.number - other.number);
    } else if (sign < 0) matches.reverse();
  };
  const label = (row) => { // the score that the list is sorted by
    const chips = nodeOf(row).querySelector(".chips"), by = value("sort");
    chips.querySelector(".sorted")?.remove();
    if (!by) return;
    const score = row.systems[Number(value("system") || 0)].scores[column.get(by)];
    chips.append(chip(at("sort").selectedOptions[0].textContent + " " + score.toFixed(1), "sorted"));
  };
  const show = () => {
    const shown = matches.slice(0, limit);
    shown.forEach(label);
    list.replaceChildren(...shown.map(nodeOf));
    const total = everything().length, count = matches.length;
    const what = whole.size && value("scope") !== "all" ? " examples" : " questions";
    at("count").textContent = count + " of " + total + what + (count ? "" : ": nothing fits these filters");
    at("more").hidden = count <= limit;
    at("more").textContent = `Show more (${Math.min(STEP, count - limit)} of ${count - limit})`;
  };
  const remember = () => {
    const state = new URLSearchParams();
    for (const field of fields) if (field.value) state.set(field.id, field.value);
    if (current !== null) state.set("question", rows[current].id);
    const hash = state.size ? "#" + state : " ";
    history.replaceState(null, "", hash === " " ? location.pathname + location.search : hash);
  };
  const apply = () => { limit = STEP; choose(); show(); };
  const changedField = () => { current = null; apply(); remember(); };
  const clear = () => { for (const field of fields) field.value = ""; current = null; };
  const visit = (number, move = true) => {
    const place = matches.findIndex((row) => row.number === number);
    if (place < 0) return;
    if (place >= limit) { limit = place + STEP; show(); }
    if (current !== null && current !== number) nodes.get(current).querySelector("details").open = false;
    current = number;
    const details = nodeOf(rows[number]).querySelector("details");
    details.open = true;
    if (move) {
      details.querySelector("summary").focus({ preventScroll: true });
      details.scrollIntoView({ block: "start" });
    }
    remember();
  };
  const step = (by) => {
    const inside = document.activeElement && document.activeElement.closest(".example");
    const from = inside ? Number(inside.dataset.row) : current;
    const place = from === null ? (by > 0 ? -1 : matches.length) : matches.findIndex((row) => row.number === from);
    const next = matches[place + by];
    if (next) { if (current === null && inside) current = from; visit(next.number); }
  };
  // what an address says: filters, and a question that is opened
  const restore = () => {
    const state = new URLSearchParams(location.hash.slice(1));
    if (![...state.keys()].some((key) => key === "question" || FIELDS.includes(key))) return false;
    clear();
    for (const field of fields) if (state.has(field.id)) field.value = state.get(field.id);
    const number = numbers.get(state.get("question"));
    if (number !== undefined && !whole.has(number) && at("scope")) at("scope").value = "all";
    apply();
    if (number !== undefined) {
      if (!matches.includes(rows[number])) {
        clear();
        if (!whole.has(number)) at("scope").value = "all";
        apply();
      }
      visit(number);
    }
    return true;
  };
  const jsonLine = (row) => JSON.stringify({
    id: row.id, type: row.type, question: row.question, answer: row.answer, supporting_facts: row.facts, evidences: row.triples,
    predictions: row.systems.map((one) => ({
      system: one.name, answer: one.answer, supporting_facts: one.facts, evidences: one.triples, outcome: one.outcome, errors: one.errors,
      scores: Object.fromEntries(data.metrics.map((metric, place) => [metric, one.scores[place]])
        .filter(([metric]) => metric === "contains" || at("sort").querySelector(`[value="${metric}"]`))),
    })),
  });
  const download = () => {
    const lines = matches.map((row) => jsonLine(row) + "\n");
    const address = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
    element("a", { href: address, download: "rows.jsonl" }).click();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  };
  const fold = (open) => { for (const node of list.children) node.querySelector("details").open = open; };

  for (const field of fields) field.addEventListener(field.id === "text" ? "input" : "change", changedField);
  at("reset").addEventListener("click", () => { clear(); apply(); remember(); });
  at("unfold").addEventListener("click", () => fold(true));
  at("fold").addEventListener("click", () => fold(false));
  at("download").addEventListener("click", download);
  at("more").addEventListener("click", () => { limit += STEP; show(); });
  for (const button of document.querySelectorAll("button[data-field]")) {
    button.addEventListener("click", () => {
      clear();
      if (at("scope").querySelector('[value="all"]')) at("scope").value = "all";
      if (button.dataset.system && several) at("system").value = button.dataset.system === "0" ? "" : button.dataset.system;
      at(button.dataset.field).value = button.dataset.value;
      changedField();
      at("count").focus({ preventScroll: true });
      at("examples").scrollIntoView();
    });
  }
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.target.closest("input, select, textarea")) return;
    if (event.key === "n") step(1);
    else if (event.key === "p") step(-1);
  });
  addEventListener("hashchange", restore);
  for (const part of document.querySelectorAll(".needs-script")) part.hidden = false;
  if (!restore()) { clear(); apply(); }
  document.documentElement.dataset.ready = "yes";
})();
