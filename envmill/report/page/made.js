// What a run made and took, section by section: cost, pass rates, coverage, quality, bundles.
"use strict";

function costSection(of) {
  return section(
    "cost",
    "Cost",
    "Everything that was dropped on the way is in the price of what was kept. A sum with an unknown price is unknown, never less.",
    h("h3", {}, "Per item kept"),
    table(
      [
        column("item", (one) => one.item),
        figure("kept", (one) => keptRows(one)),
        figure("cost", (one) => money(one.cost, one.unpriced)),
        figure("per kept", (one) => (one.kept ? money(one.cost == null ? null : one.cost / one.kept, one.unpriced) : "–")),
        figure("tokens per kept", (one) => (one.kept ? count(one.tokens / one.kept) : "–")),
        figure("work per kept", (one) => (one.kept ? time(one.seconds / one.kept) : "–")),
      ],
      of.costs,
      { caption: "Cost per kept item" },
    ),
    h("h3", {}, "Model calls"),
    table(
      [
        column("role", (one) => one.role),
        column("prompt", (one) => one.prompt),
        column("model", (one) => quoted(`${one.provider}${one.model && one.model !== one.provider ? `: ${one.model}` : ""}`)),
        figure("calls", (one) => count(one.calls)),
        figure("unusable", (one) => count(one.unusable)),
        figure("unanswered", (one) => count(one.unanswered)),
        figure("tokens in", (one) => count(one.tokens_in)),
        figure("out", (one) => count(one.tokens_out)),
        figure("cost", (one) => money(one.cost, one.unpriced)),
      ],
      of.spending,
      { caption: "Model calls by role and prompt", empty: "No model was asked.", most: 20 },
    ),
    h("h3", {}, "By domain"),
    table(
      [
        column("domain", (one) => words(one.theme)),
        column("item", (one) => one.item),
        figure("kept", (one) => keptRows(one)),
        figure("per kept", (one) => (one.kept ? money(one.cost_per_kept, one.unpriced) : "–")),
        figure("work per kept", (one) => time(one.seconds_per_kept)),
      ],
      of.themes,
      { caption: "Cost by domain", most: 12 },
    ),
  );
}

// What was kept of an item: attempts for trajectories, candidates that a filter kept for the rest.
const keptRows = (one) =>
  one.item === "trajectory"
    ? rows(one.kept, "attempts", { kept: "true", theme: one.theme })
    : rows(one.kept, "candidates", { lap: `${one.item}s`, stage: "filter", outcome: "kept", theme: one.theme });

function passSection(of, offline) {
  const policies = [];
  for (const one of of.pass_rate) {
    const held = policies.find((line) => line.policy === one.policy && line.rollout_group === one.rollout_group && line.form === one.form);
    const line = held || { policy: one.policy, rollout_group: one.rollout_group, form: one.form, attempts: 0, passed: 0, errors: 0 };
    for (const key of ["attempts", "passed", "errors"]) line[key] += one[key];
    if (!held) policies.push(line);
  }
  const scripts = policies.some((line) => /^(reference|careless|skilled)(@|$)/.test(line.policy));
  return section(
    "pass",
    "Pass rate and difficulty",
    offline
      ? "Scripted policies over an offline author: plumbing. Read nothing about difficulty from these numbers."
      : (scripts ? "A model wrote these environments, and scripts acted in them: what a script passes says nothing about difficulty. " : "") +
        "p̂ is the share of judged attempts that pass; errors are left out, since they say nothing about the policy, but a conversation that its user spoilt counts as not passed.",
    table(
      [
        column("policy", (one) => quoted(one.policy)),
        column("why", (one) => one.rollout_group),
        column("form", (one) => one.form),
        figure("attempts", (one) =>
          rows(one.attempts, "attempts", { policy: one.policy, rollout_group: one.rollout_group, form: one.form }),
        ),
        figure("passed", (one) =>
          rows(one.passed, "attempts", { policy: one.policy, rollout_group: one.rollout_group, form: one.form, outcome: "pass" }),
        ),
        figure("errors", (one) =>
          one.errors
            ? h(
                "strong",
                { class: "error-text" },
                rows(one.errors, "attempts", { policy: one.policy, rollout_group: one.rollout_group, form: one.form, outcome: "error" }),
              )
            : "0",
        ),
        figure("p̂", (one) => (one.attempts > one.errors ? rate(one.passed / (one.attempts - one.errors)) : "–")),
        column("", (one) => bar(one.passed, one.attempts - one.errors)),
      ],
      policies,
      { caption: "Pass rate by policy", empty: "Nothing was played." },
    ),
    of.pass_rate.length > 0 &&
      h(
        "div",
        { class: "pair" },
        chart("pass-themes", "p̂ of the probes by domain, with its 95 % interval"),
        chart("difficulty", `Scenarios by p̂ of the probes${offline ? " (plumbing, not difficulty)" : ""}`),
      ),
  );
}

const chart = (key, caption) =>
  h("figure", {}, h("figcaption", {}, caption), h("div", { class: "chart", "data-chart": key, role: "img", "aria-label": caption }));

function coverageSection(of) {
  const themes = [...new Set(of.coverage.map((one) => one.theme))].sort(),
    kinds = [...new Set(["achieve", "answer", "refuse", "escalate", "clarify", ...of.coverage.map((one) => one.polarity)])];
  const number = (theme, polarity) =>
    sum(
      of.coverage.filter((one) => one.theme === theme && one.polarity === polarity),
      (one) => one.scenarios,
    );
  const most = Math.max(1, ...themes.flatMap((theme) => kinds.map((kind) => number(theme, kind))));
  const tint = (value) => {
    const box = h("span", { class: "tint" }, value ? count(value) : "·");
    box.style.setProperty("--part", value / most);
    return box;
  };
  const split = (theme) => [...new Set(of.coverage.filter((one) => one.theme === theme).map((one) => one.split))].join(", ");
  return section(
    "coverage",
    "Coverage and diversity",
    "Kept scenarios by domain and by what success means there; an empty cell is a gap. On the map, environments whose texts share words lie close together.",
    table(
      [
        column("domain", (theme) => words(theme)),
        column("split", split),
        ...kinds.map((kind) => figure(kind, (theme) => tint(number(theme, kind)))),
        figure("all", (theme) => count(sum(kinds, (kind) => number(theme, kind)))),
      ],
      themes,
      { caption: "Kept scenarios by domain and polarity", empty: "No scenario was kept.", most: 40 },
    ),
    noveltyTables(of),
    h(
      "div",
      { class: "pair" },
      chart("map", "Environments by their words"),
      chart("lengths", "Kept scenarios by tool calls of the reference path"),
    ),
  );
}

// What no earlier run of the lake had, and how soon this run repeats itself.
function noveltyTables(of) {
  const expected = (value) => (value == null ? "·" : value.toFixed(1));
  return h(
    "div",
    { class: "pair" },
    table(
      [
        figure("seeds", (one) => count(one.seeds)),
        figure("themes", (one) => count(one.themes)),
        figure("new themes", (one) => count(one.new_themes)),
        figure("compared", (one) => count(one.judged)),
        figure("new structures", (one) => count(one.new_structures)),
        figure("duplicates", (one) => count(one.duplicates)),
      ],
      of.novelty,
      { caption: "Themes and structures that no earlier run of this lake had", empty: "No seed was used yet." },
    ),
    table(
      [
        figure("drawn", (one) => count(one.draws)),
        figure("distinct structures", (one) => expected(one.structures)),
        figure("distinct themes", (one) => expected(one.themes)),
      ],
      of.rarefaction,
      { caption: "Distinct structures and themes expected among so many of them", empty: "No seed was used yet." },
    ),
  );
}

function expectedPart(of) {
  if (of.expected == null) {
    return h("p", { class: "empty not-measured" }, outcome("not_measured"), " Rows are compared with the last nights before a run exports.");
  }
  const bounds = Object.entries(of.expected.bounds).map(([name, one]) => ({ name, ...one, found: of.expected.means[name].mean }));
  const broken = Object.entries(of.expected.broken).map(([name, said]) => ({ name, said }));
  return [
    h("p", {}, h("a", { href: "quality/index.html" }, "Every expectation and what was found"), ", as Great Expectations' Data Docs."),
    table([column("column", (one) => one.name), column("expected and found", (one) => quoted(one.said), { wide: true })], broken, {
      caption: "Expectations that are not met",
      empty: "Every expectation is met.",
    }),
    table(
      [
        column("mean of", (one) => one.name),
        figure("expected", (one) => `${one.low.toPrecision(3)} to ${one.high.toPrecision(3)}`),
        figure("found", (one) => one.found.toPrecision(3)),
        figure("nights", (one) => count(one.nights)),
      ],
      bounds,
      { caption: "Means beside those of the last nights", empty: "There are fewer than five earlier nights of the same settings to compare with." },
    ),
  ];
}

function qualitySection(of) {
  const aside = table(
    [
      column("table", (one) => one.table_name),
      column("promise", (one) => words(one.promise)),
      figure("rows", (one) => count(one.rows)),
      column("one of them", (one) => [thing(one.example, "open"), " ", quoted(one.detail)], { wide: true }),
    ],
    of.quarantine,
    { caption: "Rows that were set aside", empty: "No row was set aside." },
  );
  const held =
    of.quality == null
      ? h(
          "p",
          { class: "empty not-measured" },
          outcome("not_measured"),
          " The run has not been held to the promises of its tables as a whole: that happens at the end of a run under Prefect.",
        )
      : table(
          [
            column("table", (one) => one.table),
            figure("rows", (one) => count(one.rows)),
            figure("promises", (one) => count(one.promises.length)),
            column("broken", (one) =>
              Object.keys(one.broken).length ? h("strong", { class: "error-text" }, tell(one.broken)) : outcome("kept"),
            ),
            column("set aside", (one) => tell(one.set_aside) || "–"),
          ],
          of.quality.filter((one) => one.rows || Object.keys(one.broken).length),
          { caption: "Promises of each table" },
        );
  return section(
    "quality",
    "Quality",
    "Promises that every table's rows are held to, and what is known about the verifiers' own errors.",
    h("h3", {}, "Promises"),
    held,
    h("h3", {}, "Beside the last nights"),
    expectedPart(of),
    h("h3", {}, "Set aside"),
    aside,
    h("h3", {}, "Error bounds of kept scenarios"),
    table(
      [
        column("", (one) => (one.outcome === "kept" ? "measured" : outcome(one.outcome))),
        column("why not", (one) => words(one.reason) || "–"),
        figure("scenarios", (one) => rows(one.scenarios, "scenarios", { bounds: one.outcome, kept: "true" })),
        figure("ρ0 median", (one) => rate(one.false_accept), { title: "Upper bound of accepting a wrong end" }),
        figure("worst", (one) => rate(one.worst_accept)),
        figure("wrong ends tried", (one) => count(one.wrong_ends)),
        figure("ρ1 median", (one) => rate(one.false_reject), { title: "Upper bound of rejecting a right end" }),
        figure("worst", (one) => rate(one.worst_reject)),
        figure("right ends tried", (one) => count(one.right_ends)),
      ],
      of.bounds,
      { caption: "Bounds on the verifiers' errors", empty: "No scenario was kept." },
    ),
    of.attacks.length > 0 && [
      h("h3", {}, "Attacks that were paid"),
      table(
        [
          column("found", (one) => one.manner),
          column("ends where the reference path does", (one) =>
            one.solves == null ? "no such path" : one.solves ? "yes: a solution" : h("strong", { class: "error-text" }, "no"),
          ),
          figure("attacks", (one) => count(one.attacks)),
          figure("best reward", (one) => rate(one.best)),
        ],
        of.attacks,
        { caption: "Attacks by how they were found" },
      ),
    ],
    of.verdicts.length > 0 && [
      h("h3", {}, "Judged again"),
      table(
        [
          column("by", (one) => one.gate),
          column("before", (one) => (one.outcome_before ? outcome(one.outcome_before) : "–")),
          column("now", (one) => outcome(one.outcome)),
          figure("subjects", (one) => count(one.subjects)),
        ],
        of.verdicts,
        { caption: "Later verdicts" },
      ),
    ],
    of.reviews.length > 0 && [
      h("h3", {}, "Reviews by people"),
      table([column("judgement", (one) => one.judgement), figure("subjects", (one) => count(one.subjects))], of.reviews),
    ],
  );
}

const tell = (counts) =>
  Object.entries(counts)
    .map(([promise, number]) => `${words(promise)} ${number}`)
    .join(", ");

function bundleSection(of) {
  return section(
    "bundles",
    "What left the factory",
    null,
    table(
      [
        column("exporter", (one) => one.exporter),
        column("folder", (one) => quoted(one.path)),
        figure("rows", (one) => count(one.rows)),
        figure("files", (one) => count(one.files)),
      ],
      of.bundles,
      { caption: "Bundles", empty: "Nothing was exported.", most: 20 },
    ),
    of.withdrawals.length > 0 && [
      h("h3", {}, "Recalled"),
      table(
        [
          column("item", (one) => thing(one.subject)),
          column("why", (one) => quoted(one.reason), { wide: true }),
          column("when", (one) => when(one.withdrawn_at)),
        ],
        of.withdrawals,
      ),
    ],
  );
}
