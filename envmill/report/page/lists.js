// Lists of everything: filtered by what the address says, searched, sorted, a page at a time.
"use strict";

const STEP = 100;

const short = (id) => h("code", {}, id.length > 16 && /^[a-z]+_[0-9a-f]+$/.test(id) ? id.slice(0, 12) : id);

// title, about, what is searched, what can be chosen, what is shown.
const LISTS = {
  environments: {
    title: "Environments",
    about: "Every environment that was built. Open one for its tools, rules, code, tests and dossier.",
    search: ["id", "name", "summary", "theme"],
    choose: ["outcome", "theme", "kind", "gate", "reason"],
    columns: [
      ["name", (one) => [thing(one.id, quoted(one.name)), h("small", { class: "under" }, quoted(one.summary))], "wide"],
      ["domain", (one) => words(one.theme), "", "theme"],
      ["outcome", fate, "", "outcome"],
      ["tools", (one) => count(one.tools), "number"],
      ["rules", (one) => count(one.rules), "number"],
      ["tests", (one) => count(one.tests), "number"],
      ["scenarios", (one) => rows(one.scenarios, "scenarios", { environment: one.id }), "number"],
      ["kept", (one) => rows(one.scenarios_kept, "scenarios", { environment: one.id, kept: "true" }), "number", "scenarios_kept"],
      ["licence", (one) => quoted(one.licence)],
    ],
  },
  scenarios: {
    title: "Scenarios",
    about: "Every scenario with a verifier. ρ0 and ρ1 bound how often it accepts a wrong end or rejects a right one.",
    search: ["id", "request", "environment"],
    choose: ["outcome", "polarity", "split", "theme", "gate", "reason", "bounds"],
    columns: [
      ["request", (one) => thing(one.id, quoted(one.request, "clamp")), "wide"],
      ["outcome", fate, "", "outcome"],
      ["means", (one) => one.polarity, "", "polarity"],
      ["split", (one) => one.split],
      ["calls", (one) => count(one.calls), "number"],
      [
        "probes passed",
        (one) =>
          one.attempts
            ? link(`#/attempts?${new URLSearchParams({ scenario: one.id, rollout_group: "probe" })}`, `${one.passes} of ${one.attempts}`)
            : "–",
        "number",
        "passes",
      ],
      ["ρ0", (one) => bound(one, one.false_accept), "number", "false_accept"],
      ["ρ1", (one) => bound(one, one.false_reject), "number", "false_reject"],
    ],
  },
  attempts: {
    title: "Attempts",
    about: "Every rollout. A kept one is a trajectory: training data.",
    search: ["id", "scenario", "reason", "policy"],
    choose: ["outcome", "kept", "rollout_group", "policy", "form", "termination", "theme", "shown"],
    columns: [
      [
        "attempt",
        (one) => (one.shown ? thing(one.id, short(one.id)) : [short(one.id), h("small", { class: "under" }, "turns not in this report")]),
      ],
      ["outcome", (one) => outcome(one.outcome), "", "outcome"],
      ["kept", (one) => (one.kept ? "trajectory" : "–")],
      ["reward", (one) => rate(one.reward), "number"],
      ["policy", (one) => quoted(one.policy)],
      ["why", (one) => one.rollout_group, "", "rollout_group"],
      ["form", (one) => one.form],
      ["calls", (one) => count(one.steps), "number", "steps"],
      ["ended", (one) => words(one.termination), "", "termination"],
      ["scenario", (one) => thing(one.scenario, short(one.scenario))],
      ["verdict", (one) => quoted(one.reason, "clamp"), "wide", "reason"],
    ],
  },
  candidates: {
    title: "Candidates",
    about: "Every candidate at every step, with what became of it. Open one for the evidence.",
    search: ["subject", "reason", "detail", "theme"],
    choose: ["lap", "stage", "outcome", "reason", "gate", "theme", "recipe"],
    columns: [
      ["candidate", (one) => thing(one.subject, short(one.subject))],
      ["step", (one) => `${one.lap} ${one.stage}`, "", "stage"],
      ["outcome", (one) => outcome(one.outcome), "", "outcome"],
      ["gate", (one) => (one.gate ? gate(OVERVIEW, one.gate) : "–")],
      ["reason", (one) => words(one.reason) || "–"],
      ["what happened", (one) => quoted(one.detail, "clamp"), "wide", "detail"],
      ["domain", (one) => words(one.theme), "", "theme"],
      ["attempts", (one) => count(one.attempts), "number"],
      ["work", (one) => time(one.seconds), "number", "seconds"],
      ["cost", (one) => money(one.cost), "number"],
    ],
  },
  findings: {
    title: "Findings",
    about: "What each gate said of each candidate.",
    search: ["subject", "gate", "reason"],
    choose: ["gate", "outcome", "reason", "lap", "stage", "kept"],
    columns: [
      ["gate", (one) => [h("strong", {}, one.gate), h("small", { class: "under" }, OVERVIEW.titles[one.gate] || "")], "wide"],
      ["candidate", (one) => thing(one.subject, short(one.subject)), "", "subject"],
      ["finding", (one) => outcome(one.outcome), "", "outcome"],
      ["reason", (one) => words(one.reason) || "–"],
    ],
  },
};

const bound = (one, value) => (value == null ? outcome("not_measured") : rate(value));

function fate(one) {
  if (!one.outcome) return outcome(null);
  const where = one.outcome === "kept" ? (one.stage === "verify" ? "verified" : null) : `${one.gate || one.stage}: ${words(one.reason)}`;
  return [outcome(one.outcome), where && h("small", { class: "under" }, where)];
}

async function showList(key, query) {
  const plan = LISTS[key],
    list = await loadList(key);
  const wanted = [...query].filter(([column]) => Object.hasOwn(list.columns, column)),
    text = query.get("q") || "";
  let found = choose(list, wanted, text, plan.search);
  if (query.get("sort")) found = sorted(list, found, query.get("sort"), query.get("down") === "1");
  return [
    h("header", { class: "top" }, h("h1", {}, plan.title), h("p", { class: "meta" }, plan.about)),
    controls(key, plan, list, wanted, query),
    h(
      "p",
      { class: "found", role: "status" },
      found.length === list.count ? `All ${count(list.count)}` : `${count(found.length)} of ${count(list.count)}`,
      key === "attempts" && !OVERVIEW.all && `; turns are shown of ${count(OVERVIEW.shown)}`,
    ),
    listRows(key, plan, list, found, query),
  ];
}

function choose(list, wanted, text, searched) {
  const tests = wanted.map(([column, value]) => {
    const { of, is } = list.columns[column];
    if (!is) return (row) => String(of[row] ?? "") === value;
    const numbers = new Set(of.flatMap((one, number) => (String(one ?? "") === value ? [number] : [])));
    return (row) => numbers.has(is[row]);
  });
  if (text) tests.push(matcher(list, text.toLowerCase(), searched));
  const found = [];
  for (let row = 0; row < list.count; row += 1) if (tests.every((test) => test(row))) found.push(row);
  return found;
}

// Of a text that repeats, one look serves all its rows.
function matcher(list, text, searched) {
  const tests = searched.map((column) => {
    const { of, is } = list.columns[column],
      hit = of.map((one) => one != null && String(one).toLowerCase().includes(text));
    return is ? (row) => hit[is[row]] : (row) => hit[row];
  });
  return (row) => tests.some((test) => test(row));
}

function sorted(list, found, column, down) {
  if (!Object.hasOwn(list.columns, column)) return found;
  const of = (row) => list.at(row, column),
    sign = down ? -1 : 1;
  const least = (one, other) =>
    one == null ? 1 : other == null ? -1 : typeof one === "number" ? one - other : String(one).localeCompare(String(other));
  return found
    .map((row) => [row, of(row)])
    .sort(([, one], [, other]) => (one == null || other == null ? least(one, other) : sign * least(one, other)))
    .map(([row]) => row);
}

function controls(key, plan, list, wanted, query) {
  const go = (change) => {
    const next = new URLSearchParams(query);
    for (const [column, value] of Object.entries(change)) {
      if (value) next.set(column, value);
      else next.delete(column);
    }
    location.hash = `#/${key}${next.size ? `?${next}` : ""}`;
  };
  const search = h("input", {
    type: "search",
    id: "search",
    value: query.get("q") || "",
    placeholder: `Search ${plan.title.toLowerCase()}  ( / )`,
    "aria-label": `Search ${plan.title.toLowerCase()}`,
  });
  const chosen = new Map(wanted);
  const selects = plan.choose.map((column) => {
    const { of } = list.columns[column],
      values = [...new Set(of.map((one) => String(one ?? "")))].sort();
    if (values.length < 2 && !chosen.has(column)) return null;
    const select = h(
      "select",
      { "aria-label": words(column), onchange: (event) => go({ [column]: event.target.value }) },
      h("option", { value: "" }, `any ${words(column)}`),
      values
        .slice(0, 300)
        .filter(Boolean)
        .map((value) => h("option", { value, selected: chosen.get(column) === value }, words(value))),
    );
    return h("label", { class: chosen.has(column) ? "chosen" : null }, select);
  });
  const others = wanted
    .filter(([column]) => !plan.choose.includes(column))
    .map(([column, value]) =>
      h("button", { type: "button", class: "chip", onclick: () => go({ [column]: "" }) }, `${words(column)} `, quoted(value), " ×"),
    );
  return h(
    "form",
    {
      class: "controls",
      role: "search",
      onsubmit: (event) => {
        event.preventDefault();
        go({ q: search.value.trim() });
      },
    },
    search,
    selects,
    others,
    (wanted.length > 0 || query.get("q")) && h("a", { class: "chip", href: `#/${key}` }, "show all"),
  );
}

function listRows(key, plan, list, found, query) {
  const columns = plan.columns.map(([label, cellOf, kind, by]) => ({
    head: sorter(key, label, by || label, list, query),
    cell: cellOf,
    number: kind === "number",
    wide: kind === "wide",
  }));
  const at = (row) => Object.fromEntries(Object.keys(list.columns).map((column) => [column, list.at(row, column)]));
  const body = h("tbody");
  const more = h("button", { type: "button", onclick: () => fill() });
  let shown = 0;
  const fill = () => {
    const page = found.slice(shown, shown + STEP);
    shown += page.length;
    add(
      body,
      page.map((row) => {
        const one = at(row);
        return h(
          "tr",
          {},
          columns.map((each) => cell(each, one)),
        );
      }),
    );
    more.textContent = `Show ${count(Math.min(STEP, found.length - shown))} more of ${count(found.length - shown)}`;
    more.hidden = shown >= found.length;
  };
  fill();
  if (!found.length) return h("p", { class: "empty" }, "Nothing matches. Take a filter away, or search for something else.");
  return h(
    "div",
    {},
    h(
      "div",
      { class: "scroll", tabindex: "0", role: "region", "aria-label": plan.title },
      h("table", { class: "list" }, h("caption", {}, plan.title), h("thead", {}, h("tr", {}, columns.map(head))), body),
    ),
    more,
  );
}

function sorter(key, label, by, list, query) {
  if (!Object.hasOwn(list.columns, by)) return label;
  const now = query.get("sort") === by,
    down = now && query.get("down") !== "1";
  const next = new URLSearchParams(query);
  next.set("sort", by);
  if (down) next.set("down", "1");
  else next.delete("down");
  return link(`#/${key}?${next}`, label, now && (query.get("down") === "1" ? " ↓" : " ↑"));
}

// Over everything that has a name or a text.
async function showSearch(text) {
  const head = h("header", { class: "top" }, h("h1", {}, "Search"), h("p", { class: "meta" }, "for ", quoted(text)));
  const parts = [];
  for (const key of ["environments", "scenarios", "candidates", "attempts"]) {
    const list = await loadList(key),
      found = choose(list, [], text, LISTS[key].search);
    if (found.length)
      parts.push(
        h(
          "section",
          {},
          h(
            "h2",
            {},
            LISTS[key].title,
            " ",
            h("small", {}, link(`#/${key}?${new URLSearchParams({ q: text })}`, plural(found.length, "match", "matches"))),
          ),
          listRows(key, LISTS[key], list, found.slice(0, 5), new URLSearchParams()),
        ),
      );
  }
  return [head, parts.length ? parts : h("p", { class: "empty" }, "Nothing has that in its name, text or id.")];
}
