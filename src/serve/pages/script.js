// Everything here is a convenience: the pages work without it.
"use strict";

// A box that filters the rows of a long table.
for (const table of document.querySelectorAll("table[data-rows]")) {
  if (Number(table.dataset.rows) < 12) continue;
  const box = document.createElement("input");
  box.type = "search";
  box.className = "filter";
  box.placeholder = "Filter these rows  ( / )";
  box.setAttribute("aria-label", "Filter these rows");
  const rows = [...table.tBodies[0].rows];
  box.addEventListener("input", () => {
    const wanted = box.value.toLowerCase();
    for (const row of rows) row.hidden = !row.textContent.toLowerCase().includes(wanted);
  });
  table.parentElement.before(box);
}

// Choosing shows at once.
for (const select of document.querySelectorAll("form.choose select")) {
  select.addEventListener("change", () => select.form.requestSubmit());
}

// The query goes to the clipboard.
for (const pre of document.querySelectorAll("pre[data-copy]")) {
  if (!navigator.clipboard) break;
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(pre.textContent);
    button.textContent = "Copied";
  });
  pre.before(button);
}

// j and k go through rows and calls, / to the filter, the arrows through the heat map.
let at = -1;
document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const target = event.target;
  if (target.matches("input, select, textarea")) {
    if (event.key === "Escape") target.blur();
    return;
  }
  if (event.key === "/") {
    const box = document.querySelector("input.filter");
    if (box) { event.preventDefault(); box.focus(); }
  } else if (event.key === "j" || event.key === "k") {
    const stops = [...document.querySelectorAll("details.call > summary, tbody tr a, tbody tr summary")]
      .filter((stop, place, all) => !stop.closest("tr")?.hidden && (place === 0 || stop.closest("tr") === null || stop.closest("tr") !== all[place - 1].closest("tr")));
    if (!stops.length) return;
    const here = stops.indexOf(document.activeElement);
    at = Math.max(0, Math.min(stops.length - 1, (here >= 0 ? here : at) + (event.key === "j" ? 1 : -1)));
    stops[at].focus();
    stops[at].scrollIntoView({ block: "nearest" });
  } else if (event.key.startsWith("Arrow") && target.closest("table.heat")) {
    const cell = target.closest("td, th");
    const row = cell.parentElement;
    const down = { ArrowDown: 1, ArrowUp: -1 }[event.key] ?? 0;
    const right = { ArrowRight: 1, ArrowLeft: -1 }[event.key] ?? 0;
    let y = row.sectionRowIndex, x = cell.cellIndex;
    const rows = row.parentElement.rows;
    for (;;) {
      y += down; x += right;
      const next = rows[y]?.cells[x];
      if (!next) return;
      const link = next.querySelector("a");
      if (link) { event.preventDefault(); link.focus(); return; }
    }
  }
});
