"use strict";
(() => {
  const at = (id) => document.getElementById(id);
  const examples = Array.from(document.querySelectorAll(".example"));
  const fields = { type: at("type"), outcome: at("outcome"), error: at("error") };
  const search = at("text");
  const texts = new Map();
  const textOf = (example) => {
    if (!texts.has(example)) texts.set(example, example.textContent.toLowerCase());
    return texts.get(example);
  };
  const fits = (example, words) =>
    (!fields.type.value || example.dataset.type === fields.type.value) &&
    (!fields.outcome.value || example.dataset.outcome === fields.outcome.value) &&
    (!fields.error.value || example.dataset.errors.split(" ").includes(fields.error.value)) &&
    words.every((word) => textOf(example).includes(word));
  const apply = () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const example of examples) {
      example.hidden = !fits(example, words);
      if (!example.hidden) count += 1;
    }
    at("count").textContent = count + " of " + examples.length + " examples" + (count ? "" : ": nothing fits these filters");
  };
  const fold = (open) => {
    for (const example of examples) if (!example.hidden) example.querySelector("details").open = open;
  };
  for (const field of Object.values(fields)) field.addEventListener("change", apply);
  search.addEventListener("input", apply);
  const clear = () => { for (const field of [...Object.values(fields), search]) field.value = ""; };
  at("reset").addEventListener("click", () => { clear(); apply(); });
  at("unfold").addEventListener("click", () => fold(true));
  at("fold").addEventListener("click", () => fold(false));
  for (const button of document.querySelectorAll("button[data-field]")) {
    button.addEventListener("click", () => {
      clear();
      fields[button.dataset.field].value = button.dataset.value;
      apply();
      at("count").focus({ preventScroll: true });
      at("examples").scrollIntoView();
    });
  }
  for (const part of document.querySelectorAll(".needs-script")) part.hidden = false;
  clear();
  apply();
})();
