"use strict";
// An error is marked on the page, where a test finds it.
window.addEventListener("error", (e) => { document.documentElement.dataset.error = String(e.message); });

// themeSwitch goes through the system's theme, light and dark, and remembers the choice.
function themeSwitch(changed) {
  const themes = ["system", "light", "dark"];
  const button = document.getElementById("theme");
  let chosen = "system";
  try {
    chosen = localStorage.getItem("gpk-profile-theme") || "system";
  } catch { /* a file may have no storage */ }
  if (!themes.includes(chosen)) chosen = "system";
  function show() {
    const root = document.documentElement;
    if (chosen === "system") delete root.dataset.theme;
    else root.dataset.theme = chosen;
    button.textContent = "Theme: " + chosen;
    changed();
  }
  button.addEventListener("click", () => {
    chosen = themes[(themes.indexOf(chosen) + 1) % themes.length];
    try {
      localStorage.setItem("gpk-profile-theme", chosen);
    } catch { /* the choice lasts as long as the page */ }
    show();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", changed);
  show();
}

// sortBy sorts a table's rows by a column: numbers the largest first, texts by alphabet;
// again the other way round.
function sortBy(table, column, head) {
  const body = table.tBodies[0];
  const rows = Array.from(body.rows);
  const number = rows.some((r) => r.cells[column].dataset.sort !== undefined);
  const now = head.getAttribute("aria-sort");
  const descending = now === null ? number : now === "ascending";
  const key = (r) => {
    const cell = r.cells[column];
    return number ? Number(cell.dataset.sort) : cell.textContent;
  };
  rows.sort((a, b) => {
    const x = key(a), y = key(b);
    const order = number ? x - y : x.localeCompare(y);
    return descending ? -order : order;
  });
  for (const h of head.parentNode.cells) h.removeAttribute("aria-sort");
  head.setAttribute("aria-sort", descending ? "descending" : "ascending");
  const shown = rows.filter((r) => !r.classList.contains("more")).length;
  rows.forEach((r, i) => r.classList.toggle("more", i >= shown));
  body.append(...rows);
}

function tables() {
  for (const table of document.querySelectorAll("table")) {
    for (const head of table.tHead.rows[0].cells) {
      head.querySelector("button").addEventListener("click", () => sortBy(table, head.cellIndex, head));
      const first = table.tBodies[0].rows[0];
      if (first && first.cells[head.cellIndex].classList.contains("number")) head.classList.add("number");
    }
  }
  document.addEventListener("mouseover", (e) => { // the whole of a text that is cut
    const cell = e.target.closest("td");
    if (cell && !cell.title && cell.scrollWidth > cell.clientWidth) cell.title = cell.textContent;
  });
  for (const button of document.querySelectorAll("button.all")) {
    button.addEventListener("click", () => {
      button.previousElementSibling.classList.add("expanded");
      button.remove();
    });
  }
}
