// The page: where one is, what is shown there, and the keys that lead on.
"use strict";

const main = document.getElementById("main");
const SECTIONS = [
  ["night", "The night"],
  ["flow", "Flow"],
  ["failures", "Failures"],
  ["yield", "Yield"],
  ["gates", "Gates"],
  ["repairs", "Repairs"],
  ["cost", "Cost"],
  ["pass", "Pass rate"],
  ["coverage", "Coverage"],
  ["quality", "Quality"],
  ["bundles", "Bundles"],
];
const KEYS = { n: "#/", e: "#/environments", s: "#/scenarios", a: "#/attempts", c: "#/candidates", f: "#/section/failures" };
let showing = 0;

function buildNav() {
  const search = h("input", { type: "search", id: "all", placeholder: "Search all  ( / )", "aria-label": "Search everything" });
  const lists = ["environments", "scenarios", "attempts", "candidates", "findings"].map((key) =>
    h("li", {}, link(`#/${key}`, LISTS[key].title, h("small", {}, count(OVERVIEW.counts[key])))),
  );
  add(document.getElementById("nav"), [
    h(
      "p",
      { class: "brand" },
      link("#/", "EnvMill"),
      h("button", { type: "button", id: "theme", title: "Light or dark ( d )", "aria-label": "Light or dark", onclick: toggleTheme }, "◐"),
    ),
    h(
      "form",
      {
        role: "search",
        onsubmit: (event) => {
          event.preventDefault();
          if (search.value.trim()) location.hash = `#/search?${new URLSearchParams({ q: search.value.trim() })}`;
        },
      },
      search,
    ),
    h(
      "ul",
      { class: "sections" },
      SECTIONS.map(([key, title]) => h("li", {}, link(key === "night" ? "#/" : `#/section/${key}`, title))),
    ),
    h("ul", { class: "lists" }, lists),
    h(
      "p",
      { class: "keys" },
      "Keys: ",
      ["/ search", "n night", "e environments", "s scenarios", "a attempts", "c candidates", "d dark"].map((key) => [
        h("kbd", {}, key[0]),
        key.slice(1),
        " ",
      ]),
    ),
  ]);
}

// `#/`, `#/section/flow`, `#/attempts?outcome=fail`, `#/thing/ID`, `#/search?q=…`
async function show() {
  const mine = (showing += 1);
  const [path, asked = ""] = location.hash.replace(/^#\/?/, "").split("?"),
    query = new URLSearchParams(asked);
  const [where, ...rest] = path.split("/");
  const isNight = !where || where === "section";
  if (isNight && main.dataset.shown === "night") return jump(rest[0]);
  try {
    const content = isNight
      ? showNight()
      : where === "thing"
        ? await showThing(decodeURIComponent(rest.join("/")))
        : where === "search"
          ? await showSearch(query.get("q") || "")
          : Object.hasOwn(LISTS, where)
            ? await showList(where, query)
            : lost(path);
    if (mine !== showing) return;
    main.replaceChildren();
    add(main, [content]);
  } catch (error) {
    main.replaceChildren(
      h("header", { class: "top" }, h("h1", {}, "This cannot be shown")),
      h("p", { class: "notice error" }, String(error.message || error)),
    );
  }
  main.dataset.shown = isNight ? "night" : path;
  document.title = `${document.querySelector("h1")?.textContent.slice(0, 60) || "Report"} · EnvMill`;
  mark(isNight ? "" : where);
  jump(isNight ? rest[0] : undefined);
  // After the first paint: the library takes longer to read than the page to show.
  requestAnimationFrame(() =>
    setTimeout(() =>
      drawCharts(main)
        .then(() => {
          main.dataset.drawn = String(mine);
          if (rest[0] && isNight) jump(rest[0]);
        })
        .catch((error) => main.append(h("p", { class: "notice error" }, `Charts cannot be drawn: ${error.message}`))),
    ),
  );
}

const lost = (path) => [
  h("header", { class: "top" }, h("h1", {}, "Nothing here")),
  h("p", {}, "There is no page ", quoted(path), ". ", link("#/", "Back to the night")),
];

function mark(where) {
  for (const one of document.querySelectorAll("#nav a")) {
    if (one.getAttribute("href") === `#/${where}`) one.setAttribute("aria-current", "page");
    else one.removeAttribute("aria-current");
  }
}

function jump(key) {
  const target = key && document.getElementById(key);
  if (target) {
    target.scrollIntoView();
    target.querySelector("h2")?.focus({ preventScroll: true });
  } else {
    scrollTo(0, 0);
    if (main.dataset.visited) main.focus({ preventScroll: true });
  }
  main.dataset.visited = "1";
}

function toggleTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
  try {
    localStorage.setItem("envmill-theme", document.documentElement.dataset.theme);
  } catch {
    /* some browsers keep nothing for files */
  }
  if (plotly) drawCharts(main);
}

function press(event) {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target.matches("input, select, textarea")) {
    if (event.key === "Escape") event.target.blur();
    return;
  }
  if (event.key === "/") {
    event.preventDefault();
    (document.getElementById("search") || document.getElementById("all")).focus();
  } else if (event.key === "d") toggleTheme();
  else if (Object.hasOwn(KEYS, event.key)) location.hash = KEYS[event.key];
}

try {
  const kept = localStorage.getItem("envmill-theme");
  if (kept === "dark" || kept === "light") document.documentElement.dataset.theme = kept;
} catch {
  /* as above */
}
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => plotly && drawCharts(main));
matchMedia("(max-width: 52rem)").addEventListener("change", () => plotly && drawCharts(main));
document.addEventListener("keydown", press);
addEventListener("hashchange", show);
buildNav();
show();
