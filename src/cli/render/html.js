"use strict";
(() => {
  const bar = document.getElementById("filter");
  const find = document.getElementById("find");
  const said = document.getElementById("found");
  const rows = [...document.querySelectorAll("[data-kind]")];
  const steps = rows.filter((row) => row.localName === "details");
  const texts = new Map();
  const text = (row) => {
    if (!texts.has(row)) texts.set(row, row.textContent.toLowerCase());
    return texts.get(row);
  };
  const show = () => {
    const kind = bar.querySelector("input[name=show]:checked").value;
    const words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    const has = (row) => words.every((word) => text(row).includes(word));
    let shown = 0;
    for (const row of rows) {
      const step = row.dataset.of ? document.getElementById(row.dataset.of) : row;
      const visible = (kind === "all" || row.dataset.kind === kind) && has(step);
      row.hidden = !visible;
      if (visible && step === row) shown += 1;
    }
    for (const step of steps) {
      const summary = step.firstElementChild;
      const inside = words.some((word) => !text(summary).includes(word));
      if (words.length > 0 && !step.hidden && inside && !step.open) {
        step.open = true;
        step.dataset.opened = "yes";
      } else if ((words.length === 0 || !inside) && step.dataset.opened) {
        step.open = false;
        delete step.dataset.opened;
      }
    }
    const all = rows.filter((row) => !row.dataset.of).length;
    said.textContent = shown === all ? "" : `${shown} of ${all} shown`;
  };
  bar.addEventListener("input", show);
  bar.addEventListener("submit", (event) => event.preventDefault());
  addEventListener("hashchange", () => {
    const step = document.getElementById(location.hash.slice(1));
    if (step && step.localName === "details") step.open = true;
  });
  bar.hidden = false;
  show();
})();
