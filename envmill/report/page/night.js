// The first page: what the night yielded, what it cost, what died and why, whether it can be trusted, what changed.
"use strict";

const STAGES = ["mine", "generate", "build", "verify", "filter", "collect", "export"];
const LAPS = ["environments", "scenarios"];
const step = (of, lap, stage) => of.funnel.find((one) => one.lap === lap && one.stage === stage);
const sum = (list, pick) => list.reduce((total, one) => total + (pick(one) || 0), 0);

// What a run comes to, in the few numbers that two nights are compared by.
function tally(of) {
  const cost = Object.fromEntries(of.costs.map((one) => [one.item, one]));
  const judged = of.pass_rate.filter((one) => one.rollout_group === "probe");
  const bounded = of.bounds.find((one) => one.outcome === "kept");
  return {
    candidates: step(of, "environments", "generate")?.entered ?? 0,
    environments: step(of, "environments", "filter")?.kept ?? 0,
    scenarios: step(of, "scenarios", "filter")?.kept ?? 0,
    trajectories: step(of, "scenarios", "collect")?.made ?? 0,
    places: step(of, "scenarios", "generate")?.entered ?? 0,
    dropped: sum(of.funnel, (one) => one.dropped),
    errors: sum(of.funnel, (one) => one.error),
    cost: of.funnel.some((one) => one.cost == null) ? null : sum(of.funnel, (one) => one.cost),
    unpriced: sum(of.funnel, (one) => one.unpriced),
    tokens: sum(of.funnel, (one) => one.tokens),
    seconds: sum(of.funnel, (one) => one.seconds),
    perEnvironment: per(cost.environment),
    perScenario: per(cost.scenario),
    probes: sum(judged, (one) => one.attempts - one.errors),
    passes: sum(judged, (one) => one.passed),
    bounded: bounded?.scenarios ?? 0,
  };
}

const per = (item) => (item && item.kept && item.cost != null ? item.cost / item.kept : null);

function showNight() {
  const of = OVERVIEW,
    now = tally(of),
    before = of.before && tally(of.before),
    run = of.run[0];
  const offline = run.provider === "offline";
  return [
    h(
      "header",
      { class: "top" },
      h("h1", {}, quoted(of.id)),
      h(
        "p",
        { class: "meta" },
        state(run),
        ` started ${when(run.started)} · recipe ${run.recipe || "unknown"} · provider ${run.provider || "unknown"}`,
        run.starts > 1 && ` · started ${count(run.starts)} times`,
      ),
    ),
    offline &&
      h(
        "p",
        { class: "notice", id: "offline" },
        h("strong", {}, "Offline author."),
        " No model was asked, so pass rates and costs below show that the line works. They say nothing about difficulty or price.",
      ),
    h(
      "section",
      { id: "night", class: "night", "aria-label": "The night" },
      yieldTile(now, before),
      costTile(of, now, before, offline),
      diedTile(of, now),
      trustTile(of, now),
      changedTile(now, before, of),
    ),
    flowSection(of),
    failureSection(of),
    yieldSection(of),
    gateSection(of),
    repairSection(of),
    costSection(of),
    passSection(of, offline),
    coverageSection(of),
    qualitySection(of),
    bundleSection(of),
    h(
      "footer",
      {},
      `Written by EnvMill ${of.envmill} from the lake's views. Turns are shown of ${count(of.shown)} of ${plural(of.counts.attempts, "attempt")}`,
      of.all ? "." : ", chosen so that every outcome, policy, form and environment is among them; `envmill report --all` shows the rest.",
    ),
  ];
}

function state(run) {
  const known = { finished: "kept", failed: "error", crashed: "error" };
  return h("span", { class: `pill ${known[run.state] || ""}` }, run.state === "started" ? "not finished" : run.state);
}

function tile(id, title, ...content) {
  return h("section", { class: "tile", id, "aria-labelledby": `${id}-title` }, h("h2", { id: `${id}-title` }, title), content);
}

function yieldTile(now, before) {
  const line = (number, list, query, what, whole, old) =>
    h(
      "li",
      {},
      h("span", { class: "big" }, rows(number, list, query)),
      h("span", { class: "what" }, what, h("small", {}, whole)),
      before && delta(number, old),
    );
  return tile(
    "yield-tile",
    "What it yielded",
    h(
      "ul",
      { class: "big-list" },
      line(
        now.environments,
        "candidates",
        { lap: "environments", stage: "filter", outcome: "kept" },
        "environments",
        `of ${plural(now.candidates, "candidate")}, ${share(now.environments, now.candidates)}`,
        before?.environments,
      ),
      line(
        now.scenarios,
        "candidates",
        { lap: "scenarios", stage: "filter", outcome: "kept" },
        "scenarios",
        `of ${plural(now.places, "place")}, ${share(now.scenarios, now.places)}`,
        before?.scenarios,
      ),
      line(
        now.trajectories,
        "attempts",
        { kept: "true" },
        "trajectories",
        now.scenarios ? `${(now.trajectories / now.scenarios).toFixed(1)} a scenario` : "",
        before?.trajectories,
      ),
    ),
  );
}

function costTile(of, now, before, offline) {
  const value = (label, text, note) => [h("dt", {}, label), h("dd", {}, text, note && h("small", {}, note))];
  return tile(
    "cost-tile",
    "What it cost",
    h(
      "p",
      { class: "big" },
      link("#/section/cost", money(now.cost, now.unpriced)),
      h(
        "small",
        {},
        now.unpriced
          ? `${plural(now.unpriced, "attempt")} without a known price`
          : offline
            ? "offline calls are free"
            : "in the currency of the price file",
      ),
    ),
    h(
      "dl",
      { class: "pairs" },
      value("per kept environment", money(now.perEnvironment, now.perEnvironment == null)),
      value("per kept scenario", money(now.perScenario, now.perScenario == null)),
      value("model tokens", count(now.tokens)),
      value("work", time(now.seconds), "summed over candidates side by side"),
    ),
  );
}

function diedTile(of, now) {
  const dead = of.failures.filter((one) => one.outcome === "dropped"),
    worst = Math.max(1, ...dead.map((one) => one.subjects));
  return tile(
    "died-tile",
    "What died, and why",
    h(
      "p",
      {},
      rows(now.dropped, "candidates", { outcome: "dropped" }),
      " dropped for a reason; ",
      now.errors
        ? h("strong", { class: "error-text" }, rows(now.errors, "candidates", { outcome: "error" }), " in error")
        : "none in error",
      now.errors ? ": nothing is known about those, and Retry works on them again." : ".",
    ),
    h(
      "ol",
      { class: "reasons" },
      dead
        .slice(0, 6)
        .map((one) =>
          h(
            "li",
            {},
            link(
              `#/candidates?${query(one)}`,
              h("span", { class: "reason" }, words(one.reason)),
              h("span", { class: "where" }, `${one.lap} ${one.stage}${one.gate ? ` · ${one.gate}` : ""}`),
            ),
            bar(one.subjects, worst, "dropped"),
            h("span", { class: "number" }, count(one.subjects)),
          ),
        ),
    ),
    dead.length > 6 && h("p", {}, link("#/section/failures", `${dead.length - 6} more reasons`)),
  );
}

const query = (one) => new URLSearchParams({ lap: one.lap, stage: one.stage, outcome: one.outcome, reason: one.reason });

// What a reader should know before training on it; each line says what was looked at.
function trustTile(of, now) {
  const unmeasured = of.provisional.filter((one) => !of.optional.includes(one.gate) && one.gate !== "bounds");
  const aside = sum(of.quarantine, (one) => one.rows),
    changed = of.verdicts.filter((one) => one.outcome_before && one.outcome !== one.outcome_before);
  const broken = (of.quality || []).filter((one) => Object.keys(one.broken).length),
    paid = of.attacks.filter((one) => one.solves === false);
  const bounded = of.bounds.find((one) => one.outcome === "kept"),
    asked = new Set(of.gates.map((one) => one.gate));
  // A lap that kept nothing owes no finding.
  const unasked = of.required.filter((one) => !asked.has(one) && (one.startsWith("W") ? now.environments : now.scenarios));
  return tile(
    "trust-tile",
    "Can it be trusted",
    h(
      "ul",
      { class: "checks" },
      check(
        now.errors ? "error" : "kept",
        now.errors ? [rows(now.errors, "candidates", { outcome: "error" }), " candidates ended in error"] : "Every candidate has a result",
      ),
      check(!now.scenarios || now.bounded < now.scenarios ? "not_measured" : "kept", [
        h("a", { href: "#/section/quality" }, `${count(now.bounded)} of ${count(now.scenarios)}`),
        " kept scenarios have measured error bounds",
        bounded
          ? `: wrong ends are accepted at most ${share(bounded.false_accept, 1)}, right ones rejected at most ${share(bounded.false_reject, 1)} (medians)`
          : "",
      ]),
      unmeasured.map((one) =>
        check("not_measured", [
          rows(one.subjects, "findings", { gate: one.gate, outcome: "not_measured", reason: one.reason, kept: "true" }),
          ` kept and not measured by ${one.gate} (${words(one.reason)}): provisional`,
        ]),
      ),
      of.suspected.map((one) =>
        check("not_measured", [
          rows(one.subjects, "findings", { gate: one.gate, outcome: "suspected", reason: one.reason, kept: "true" }),
          ` kept with a suspicion of ${one.gate} (${words(one.reason)}) that no judge decided: tier suspected`,
        ]),
      ),
      unasked.length > 0 && check("not_measured", `Required gates that nothing was put through: ${unasked.join(", ")}`),
      !unmeasured.length && !unasked.length && check("kept", "Every required gate was measured on what is kept"),
      check(
        paid.length ? "error" : asked.has("S13") ? "kept" : "not_measured",
        paid.length
          ? `${plural(
              sum(paid, (one) => one.attacks),
              "attack",
            )} paid for something else than the task`
          : !asked.has("S13")
            ? "No attacker searched for ways to be paid"
            : of.attacks.length
              ? "Attacks that were paid solve the task"
              : "No attack was paid",
      ),
      of.quality == null
        ? check("not_measured", "The run as a whole was not held to the promises of its tables")
        : check(
            broken.length ? "error" : "kept",
            broken.length
              ? `Promises broken in ${broken.map((one) => one.table).join(", ")}`
              : `All ${count(sum(of.quality, (one) => one.promises.length))} promises of its tables hold`,
          ),
      of.expected &&
        check(
          Object.keys(of.expected.broken).length ? "error" : "kept",
          Object.keys(of.expected.broken).length
            ? [h("a", { href: "#/section/quality" }, plural(Object.keys(of.expected.broken).length, "expectation")), " of the night not met"]
            : `The night is as expected, beside ${Math.max(0, ...Object.values(of.expected.bounds).map((one) => one.nights))} earlier ones`,
        ),
      aside > 0 && check("dropped", [h("a", { href: "#/section/quality" }, count(aside)), " rows were set aside for a broken promise"]),
      changed.length > 0 &&
        check(
          "error",
          `${plural(
            sum(changed, (one) => one.subjects),
            "verdict",
          )} changed when judged again`,
        ),
      of.withdrawals.length > 0 && check("error", `${plural(of.withdrawals.length, "item")} recalled`),
    ),
  );
}

const check = (kind, text) => h("li", { class: kind }, outcomeSign(kind), h("span", {}, text));
const outcomeSign = (kind) =>
  h(
    "i",
    {
      class: `sign ${kind}`,
      role: "img",
      "aria-label": { kept: "in order", error: "amiss", not_measured: "not measured", dropped: "note" }[kind],
    },
    SIGNS[kind],
  );

function delta(now, before) {
  if (before == null || now == null) return h("span", { class: "delta" }, "");
  const by = now - before;
  return h(
    "span",
    { class: "delta" },
    by === 0 ? "as before" : `${by > 0 ? "+" : "−"}${Math.abs(by).toLocaleString("en", { maximumFractionDigits: 2 })}`,
  );
}

function changedTile(now, before, of) {
  if (!before)
    return tile(
      "changed-tile",
      "What changed",
      h("p", { class: "empty" }, "No earlier run of this recipe with this provider to compare with."),
    );
  const lines = [
    [
      "environments kept",
      share(now.environments, now.candidates),
      share(before.environments, before.candidates),
      now.environments / now.candidates - before.environments / before.candidates,
    ],
    [
      "scenarios kept",
      share(now.scenarios, now.places),
      share(before.scenarios, before.places),
      now.scenarios / now.places - before.scenarios / before.places,
    ],
    [
      "probes that pass",
      share(now.passes, now.probes),
      share(before.passes, before.probes),
      now.passes / now.probes - before.passes / before.probes,
    ],
    [
      "scenarios with bounds",
      share(now.bounded, now.scenarios),
      share(before.bounded, before.scenarios),
      now.bounded / now.scenarios - before.bounded / before.scenarios,
    ],
    ["in error", count(now.errors), count(before.errors), null, now.errors - before.errors],
    [
      "cost per scenario",
      money(now.perScenario, now.perScenario == null),
      money(before.perScenario, before.perScenario == null),
      null,
      now.perScenario != null && before.perScenario != null ? now.perScenario - before.perScenario : null,
    ],
    ["work per scenario", time(now.seconds / now.scenarios), time(before.seconds / before.scenarios), null, null],
  ];
  const moved = ([, , , points, plain]) =>
    Number.isFinite(points) && points !== null
      ? Math.abs(points) < 0.005
        ? "as before"
        : `${points > 0 ? "+" : "−"}${Math.abs(100 * points).toFixed(0)} pts`
      : plain == null
        ? ""
        : plain === 0
          ? "as before"
          : `${plain > 0 ? "+" : "−"}${Math.abs(plain).toLocaleString("en", { maximumSignificantDigits: 3 })}`;
  return tile(
    "changed-tile",
    "What changed",
    h("p", {}, "against ", quoted(of.before.run[0].run), `, ${when(of.before.run[0].started)}`),
    table(
      [
        column("", (one) => one[0], { wide: true }),
        figure("this run", (one) => one[1]),
        figure("before", (one) => one[2]),
        figure("change", moved),
      ],
      lines,
      { caption: "This run and the one before" },
    ),
    newReasons(of),
  );
}

function newReasons(of) {
  const known = new Set(of.before.failures.map((one) => `${one.stage} ${one.reason}`));
  const fresh = of.failures.filter((one) => !known.has(`${one.stage} ${one.reason}`));
  return (
    fresh.length > 0 &&
    h(
      "p",
      {},
      "New reasons: ",
      fresh
        .slice(0, 4)
        .map((one, place) => [place ? ", " : "", link(`#/candidates?${query(one)}`, words(one.reason)), ` (${count(one.subjects)})`]),
      fresh.length > 4 && `, and ${fresh.length - 4} more`,
    )
  );
}
