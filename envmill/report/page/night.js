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
  const of = OVERVIEW, now = tally(of), before = of.before && tally(of.before), run = of.run[0];
  const offline = run.provider === "offline";
  return [
    h("header", { class: "top" },
      h("h1", {}, quoted(of.id)),
      h("p", { class: "meta" }, state(run), ` started ${when(run.started)} · recipe ${run.recipe || "unknown"} · provider ${run.provider || "unknown"}`,
        run.starts > 1 && ` · started ${count(run.starts)} times`)),
    offline && h("p", { class: "notice", id: "offline" }, h("strong", {}, "Offline author."),
      " No model was asked, so pass rates and costs below show that the line works. They say nothing about difficulty or price."),
    h("section", { id: "night", class: "night", "aria-label": "The night" }, yieldTile(now, before), costTile(of, now, before, offline), diedTile(of, now), trustTile(of, now), changedTile(now, before, of)),
    flowSection(of), failureSection(of), yieldSection(of), gateSection(of), repairSection(of), costSection(of), passSection(of, offline), coverageSection(of), qualitySection(of), bundleSection(of),
    h("footer", {}, `Written by EnvMill ${of.envmill} from the lake's views. Turns are shown of ${count(of.shown)} of ${plural(of.counts.attempts, "attempt")}`,
      of.all ? "." : ", chosen so that every outcome, policy, form and environment is among them; `envmill report --all` shows the rest."),
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
  const line = (number, list, query, what, whole, old) => h("li", {}, h("span", { class: "big" }, rows(number, list, query)), h("span", { class: "what" }, what, h("small", {}, whole)), before && delta(number, old));
  return tile("yield-tile", "What it yielded", h("ul", { class: "big-list" },
    line(now.environments, "candidates", { lap: "environments", stage: "filter", outcome: "kept" }, "environments", `of ${plural(now.candidates, "candidate")}, ${share(now.environments, now.candidates)}`, before?.environments),
    line(now.scenarios, "candidates", { lap: "scenarios", stage: "filter", outcome: "kept" }, "scenarios", `of ${plural(now.places, "place")}, ${share(now.scenarios, now.places)}`, before?.scenarios),
    line(now.trajectories, "attempts", { kept: "true" }, "trajectories", now.scenarios ? `${(now.trajectories / now.scenarios).toFixed(1)} a scenario` : "", before?.trajectories)));
}

function costTile(of, now, before, offline) {
  const value = (label, text, note) => [h("dt", {}, label), h("dd", {}, text, note && h("small", {}, note))];
  return tile("cost-tile", "What it cost",
    h("p", { class: "big" }, link("#/section/cost", money(now.cost, now.unpriced)), h("small", {}, now.unpriced ? `${plural(now.unpriced, "attempt")} without a known price` : offline ? "offline calls are free" : "in the currency of the price file")),
    h("dl", { class: "pairs" },
      value("per kept environment", money(now.perEnvironment, now.perEnvironment == null)),
      value("per kept scenario", money(now.perScenario, now.perScenario == null)),
      value("model tokens", count(now.tokens)),
      value("work", time(now.seconds), "summed over candidates side by side")));
}

function diedTile(of, now) {
  const dead = of.failures.filter((one) => one.outcome === "dropped"), worst = Math.max(1, ...dead.map((one) => one.subjects));
  return tile("died-tile", "What died, and why",
    h("p", {}, rows(now.dropped, "candidates", { outcome: "dropped" }), " dropped for a reason; ",
      now.errors ? h("strong", { class: "error-text" }, rows(now.errors, "candidates", { outcome: "error" }), " in error") : "none in error",
      now.errors ? ": nothing is known about those, and Retry works on them again." : "."),
    h("ol", { class: "reasons" }, dead.slice(0, 6).map((one) => h("li", {},
      link(`#/candidates?${query(one)}`, h("span", { class: "reason" }, words(one.reason)), h("span", { class: "where" }, `${one.lap} ${one.stage}${one.gate ? ` · ${one.gate}` : ""}`)),
      bar(one.subjects, worst, "dropped"), h("span", { class: "number" }, count(one.subjects))))),
    dead.length > 6 && h("p", {}, link("#/section/failures", `${dead.length - 6} more reasons`)));
}

const query = (one) => new URLSearchParams({ lap: one.lap, stage: one.stage, outcome: one.outcome, reason: one.reason });

// What a reader should know before training on it; each line says what was looked at.
function trustTile(of, now) {
  const unmeasured = of.provisional.filter((one) => !of.optional.includes(one.gate) && one.gate !== "bounds");
  const aside = sum(of.quarantine, (one) => one.rows), changed = of.verdicts.filter((one) => one.outcome_before && one.outcome !== one.outcome_before);
  const broken = (of.quality || []).filter((one) => Object.keys(one.broken).length), paid = of.attacks.filter((one) => one.solves === false);
  const bounded = of.bounds.find((one) => one.outcome === "kept");
  return tile("trust-tile", "Can it be trusted", h("ul", { class: "checks" },
    check(now.errors ? "error" : "kept", now.errors ? [rows(now.errors, "candidates", { outcome: "error" }), " candidates ended in error"] : "Every candidate has a result"),
    check(!now.scenarios || now.bounded < now.scenarios ? "not_measured" : "kept", [h("a", { href: "#/section/quality" }, `${count(now.bounded)} of ${count(now.scenarios)}`), " kept scenarios have measured error bounds",
      bounded ? `: wrong ends are accepted at most ${share(bounded.false_accept, 1)}, right ones rejected at most ${share(bounded.false_reject, 1)} (medians)` : ""]),
    check(unmeasured.length ? "not_measured" : "kept", unmeasured.length ? [unmeasured.slice(0, 3).map((one, place) => [place ? ", " : "", rows(one.subjects, "findings", { gate: one.gate, outcome: "not_measured", reason: one.reason, kept: "true" }), ` kept and not measured by ${one.gate} (${words(one.reason)})`]), ": provisional"] : "Every required gate was measured on what is kept"),
    check(paid.length ? "error" : "kept", paid.length ? `${plural(sum(paid, (one) => one.attacks), "attack")} paid for something else than the task` : of.attacks.length ? "Attacks that were paid solve the task" : "No attack was paid"),
    of.quality == null ? check("not_measured", "The run as a whole was not held to the promises of its tables") : check(broken.length ? "error" : "kept", broken.length ? `Promises broken in ${broken.map((one) => one.table).join(", ")}` : `All ${count(sum(of.quality, (one) => one.promises.length))} promises of its tables hold`),
    aside > 0 && check("dropped", [h("a", { href: "#/section/quality" }, count(aside)), " rows were set aside for a broken promise"]),
    changed.length > 0 && check("error", `${plural(sum(changed, (one) => one.subjects), "verdict")} changed when judged again`),
    of.withdrawals.length > 0 && check("error", `${plural(of.withdrawals.length, "item")} recalled`)));
}

const check = (kind, text) => h("li", { class: kind }, outcomeSign(kind), h("span", {}, text));
const outcomeSign = (kind) => h("i", { class: `sign ${kind}`, role: "img", "aria-label": { kept: "in order", error: "amiss", not_measured: "not measured", dropped: "note" }[kind] }, SIGNS[kind]);

function delta(now, before) {
  if (before == null || now == null) return h("span", { class: "delta" }, "");
  const by = now - before;
  return h("span", { class: "delta" }, by === 0 ? "as before" : `${by > 0 ? "+" : "−"}${Math.abs(by).toLocaleString("en", { maximumFractionDigits: 2 })}`);
}

function changedTile(now, before, of) {
  if (!before) return tile("changed-tile", "What changed", h("p", { class: "empty" }, "No earlier run of this recipe with this provider to compare with."));
  const lines = [
    ["environments kept", share(now.environments, now.candidates), share(before.environments, before.candidates), now.environments / now.candidates - before.environments / before.candidates],
    ["scenarios kept", share(now.scenarios, now.places), share(before.scenarios, before.places), now.scenarios / now.places - before.scenarios / before.places],
    ["probes that pass", share(now.passes, now.probes), share(before.passes, before.probes), now.passes / now.probes - before.passes / before.probes],
    ["scenarios with bounds", share(now.bounded, now.scenarios), share(before.bounded, before.scenarios), now.bounded / now.scenarios - before.bounded / before.scenarios],
    ["in error", count(now.errors), count(before.errors), null, now.errors - before.errors],
    ["cost per scenario", money(now.perScenario, now.perScenario == null), money(before.perScenario, before.perScenario == null), null, now.perScenario != null && before.perScenario != null ? now.perScenario - before.perScenario : null],
    ["work per scenario", time(now.seconds / now.scenarios), time(before.seconds / before.scenarios), null, null],
  ];
  const moved = ([, , , points, plain]) => (Number.isFinite(points) && points !== null ? (Math.abs(points) < 0.005 ? "as before" : `${points > 0 ? "+" : "−"}${Math.abs(100 * points).toFixed(0)} pts`) : plain == null ? "" : plain === 0 ? "as before" : `${plain > 0 ? "+" : "−"}${Math.abs(plain).toLocaleString("en", { maximumSignificantDigits: 3 })}`);
  return tile("changed-tile", "What changed", h("p", {}, "against ", quoted(of.before.run[0].run), `, ${when(of.before.run[0].started)}`),
    table([column("", (one) => one[0], { wide: true }), figure("this run", (one) => one[1]), figure("before", (one) => one[2]), figure("change", moved)], lines, { caption: "This run and the one before" }), newReasons(of));
}

function newReasons(of) {
  const known = new Set(of.before.failures.map((one) => `${one.stage} ${one.reason}`));
  const fresh = of.failures.filter((one) => !known.has(`${one.stage} ${one.reason}`));
  return fresh.length > 0 && h("p", {}, "New reasons: ", fresh.slice(0, 4).map((one, place) => [place ? ", " : "", link(`#/candidates?${query(one)}`, words(one.reason)), ` (${count(one.subjects)})`]), fresh.length > 4 && `, and ${fresh.length - 4} more`);
}

function flowSection(of) {
  const places = of.funnel.map((one) => ({ ...one, by: { lap: one.lap, stage: one.stage } }));
  return section("flow", "Flow", "Every candidate, step by step. A step's candidates are kept, dropped for a reason, or in error; none is lost in between.",
    LAPS.map((lap) => h("figure", { class: "flow" }, h("figcaption", {}, lap === "environments" ? "Environments lap: seeds to kept environments" : "Scenarios lap: places to scenarios with trajectories"), h("div", { class: "chart", "data-chart": `flow-${lap}`, role: "img", "aria-label": `Flow of the ${lap} lap; the table below says the same` }))),
    table([
      column("lap", (one) => one.lap), column("step", (one) => one.stage),
      figure("entered", (one) => rows(one.entered, "candidates", one.by)),
      figure("kept", (one) => rows(one.kept, "candidates", { ...one.by, outcome: "kept" })), column("", (one) => bar(one.kept, one.entered)),
      figure("dropped", (one) => rows(one.dropped, "candidates", { ...one.by, outcome: "dropped" })),
      figure("error", (one) => (one.error ? h("strong", { class: "error-text" }, rows(one.error, "candidates", { ...one.by, outcome: "error" })) : "0")),
      figure("made", (one) => count(one.made), { title: "Records the step made: one candidate may become many" }),
      figure("work", (one) => time(one.seconds)), figure("tokens", (one) => count(one.tokens)), figure("cost", (one) => money(one.cost, one.unpriced)),
    ], places, { caption: "Candidates at each step" }),
    of.again[0].candidates > 0 && h("p", { class: "about" }, plural(of.again[0].candidates, "candidate"), " took more than one attempt at a step; the last one decides, and costs add up."));
}

function failureSection(of) {
  return section("failures", "Failures by reason", "Dropped is a result: the candidate was looked at and found wanting. Error is none: something broke, and Retry works on it again.",
    table([
      column("outcome", (one) => outcome(one.outcome)), column("where", (one) => `${one.lap} ${one.stage}`), column("gate", (one) => (one.gate ? gate(of, one.gate) : "–")), column("reason", (one) => words(one.reason)),
      figure("candidates", (one) => link(`#/candidates?${query(one)}`, count(one.subjects))),
      column("one of them", (one) => [quoted(one.example, "clamp"), thing(one.example_subject, "open it")], { wide: true }),
      figure("cost", (one) => money(one.cost, one.unpriced)),
    ], of.failures, { caption: "Reasons for which candidates ended", empty: "Nothing was dropped, and nothing ended in error.", most: 25 }));
}

const gate = (of, code) => h("abbr", { title: of.titles[code] || "" }, code);

function yieldSection(of) {
  const themes = [...new Set(of.yields.map((one) => one.theme))].map((theme) => ({ theme, ...Object.fromEntries(LAPS.map((lap) => [lap, { entered: sum(of.yields.filter((one) => one.theme === theme && one.lap === lap), (one) => one.entered), kept: sum(of.yields.filter((one) => one.theme === theme && one.lap === lap), (one) => one.kept) }])) }));
  const recipes = of.yields.reduce((found, one) => { const held = found.find((line) => line.recipe === one.recipe && line.lap === one.lap); if (held) { held.entered += one.entered; held.kept += one.kept; } else found.push({ ...one }); return found; }, []);
  const columnsOf = (lap, by) => [figure(`${lap} entered`, (one) => rows(one[lap].entered, "candidates", { lap, stage: "generate", ...by(one) })), figure("kept", (one) => rows(one[lap].kept, "candidates", { lap, stage: "filter", outcome: "kept", ...by(one) })), column("", (one) => [bar(one[lap].kept, one[lap].entered), h("span", { class: "number" }, share(one[lap].kept, one[lap].entered))])];
  const by = (one) => ({ theme: one.theme });
  return section("yield", "Yield", "Kept per candidate that entered the lap, by recipe, kind and domain.",
    h("div", { class: "pair" },
      h("div", {}, h("h3", {}, "By recipe"), table([column("recipe", (one) => one.recipe), column("lap", (one) => one.lap), figure("entered", (one) => rows(one.entered, "candidates", { recipe: one.recipe, lap: one.lap, stage: "generate" })), figure("kept", (one) => rows(one.kept, "candidates", { recipe: one.recipe, lap: one.lap, stage: "filter", outcome: "kept" })), figure("share", (one) => share(one.kept, one.entered))], recipes, { caption: "Yield by recipe" })),
      h("div", {}, h("h3", {}, "By kind"), table([column("kind", (one) => one.kind), figure("blueprints", (one) => count(one.blueprints)), figure("built", (one) => rows(one.built, "environments", { kind: one.kind })), figure("environments kept", (one) => rows(one.environments, "environments", { kind: one.kind, kept: "true" })), figure("scenarios kept", (one) => rows(one.scenarios, "scenarios", { kind: one.kind, kept: "true" }))], of.kinds, { caption: "Yield by kind" }))),
    h("h3", {}, "By domain"), table([column("domain", (one) => words(one.theme)), ...columnsOf("environments", by), ...columnsOf("scenarios", by)], themes, { caption: "Yield by domain", most: 30 }));
}

function gateSection(of) {
  const found = new Map();
  for (const one of of.gates) {
    const key = `${one.lap} ${one.stage} ${one.gate}`;
    if (!found.has(key)) found.set(key, { ...one, reasons: [] });
    const line = found.get(key);
    line[`is_${one.outcome}`] = (line[`is_${one.outcome}`] || 0) + one.subjects;
    if (one.reason) line.reasons.push(one);
  }
  const lines = [...found.values()].sort((one, other) => LAPS.indexOf(one.lap) - LAPS.indexOf(other.lap) || STAGES.indexOf(one.stage) - STAGES.indexOf(other.stage) || gateOrder(one).localeCompare(gateOrder(other)));
  const said = (code) => figure(SPOKEN[code] || code, (one) => rows(one[`is_${code}`] || 0, "findings", { lap: one.lap, stage: one.stage, gate: one.gate, outcome: code }));
  return section("gates", "Gates", "What each admission check said. Not measured is no pass: what would be needed was not there.",
    table([column("gate", (one) => [h("strong", {}, one.gate), h("small", { class: "under" }, of.titles[one.gate] || "")], { wide: true }), column("step", (one) => `${one.lap} ${one.stage}`), said("kept"), said("dropped"), said("error"), said("not_measured"), said("not_applicable"),
      column("reasons", (one) => one.reasons.map((each, place) => [place ? ", " : "", words(each.reason), ` (${count(each.subjects)})`]), { wide: true })], lines, { caption: "Findings of each gate" }));
}

const gateOrder = (one) => one.gate.replace(/\d+/, (digits) => digits.padStart(3, "0"));

function repairSection(of) {
  const lines = [];
  for (const one of of.repairs) {
    const held = lines.find((line) => line.lap === one.lap && line.stage === one.stage && line.repair === one.repair);
    const line = held || { lap: one.lap, stage: one.stage, repair: one.repair, built: 0, failed: 0, unchanged: 0, faults: {} };
    line[one.outcome] += one.versions;
    line.unchanged += one.unchanged;
    if (one.outcome === "failed") line.faults[one.fault] = (line.faults[one.fault] || 0) + one.versions;
    if (!held) lines.push(line);
  }
  return section("repairs", "Repair attempts", "What did not run was sent back with the failing case. The first version is number 0.",
    table([column("step", (one) => `${one.lap} ${one.stage}`), figure("repair", (one) => count(one.repair)), figure("ran", (one) => count(one.built)), figure("failed", (one) => count(one.failed)), column("", (one) => bar(one.built, one.built + one.failed)),
      column("fault lay in", (one) => Object.entries(one.faults).map(([fault, number]) => `${fault} ${number}`).join(", ") || "–"), figure("came back unchanged", (one) => count(one.unchanged))], lines, { caption: "Versions by repair attempt", empty: "No version was recorded." }));
}

function costSection(of) {
  return section("cost", "Cost", "Everything that was dropped on the way is in the price of what was kept. A sum with an unknown price is unknown, never less.",
    h("h3", {}, "Per item kept"), table([column("item", (one) => one.item), figure("kept", (one) => keptRows(one)), figure("cost", (one) => money(one.cost, one.unpriced)), figure("per kept", (one) => (one.kept ? money(one.cost == null ? null : one.cost / one.kept, one.unpriced) : "–")), figure("tokens per kept", (one) => (one.kept ? count(one.tokens / one.kept) : "–")), figure("work per kept", (one) => (one.kept ? time(one.seconds / one.kept) : "–"))], of.costs, { caption: "Cost per kept item" }),
    h("h3", {}, "Model calls"), table([column("role", (one) => one.role), column("prompt", (one) => one.prompt), column("model", (one) => quoted(`${one.provider}${one.model && one.model !== one.provider ? `: ${one.model}` : ""}`)), figure("calls", (one) => count(one.calls)), figure("unusable", (one) => count(one.unusable)), figure("unanswered", (one) => count(one.unanswered)), figure("tokens in", (one) => count(one.tokens_in)), figure("out", (one) => count(one.tokens_out)), figure("cost", (one) => money(one.cost, one.unpriced))], of.spending, { caption: "Model calls by role and prompt", empty: "No model was asked.", most: 20 }),
    h("h3", {}, "By domain"), table([column("domain", (one) => words(one.theme)), column("item", (one) => one.item), figure("kept", (one) => keptRows(one)), figure("per kept", (one) => (one.kept ? money(one.cost_per_kept, one.unpriced) : "–")), figure("work per kept", (one) => time(one.seconds_per_kept))], of.themes, { caption: "Cost by domain", most: 12 }));
}

// What was kept of an item: attempts for trajectories, candidates that a filter kept for the rest.
const keptRows = (one) => (one.item === "trajectory" ? rows(one.kept, "attempts", { kept: "true", theme: one.theme }) : rows(one.kept, "candidates", { lap: `${one.item}s`, stage: "filter", outcome: "kept", theme: one.theme }));

function passSection(of, offline) {
  const policies = [];
  for (const one of of.pass_rate) {
    const held = policies.find((line) => line.policy === one.policy && line.rollout_group === one.rollout_group && line.form === one.form);
    const line = held || { policy: one.policy, rollout_group: one.rollout_group, form: one.form, attempts: 0, passed: 0, errors: 0 };
    for (const key of ["attempts", "passed", "errors"]) line[key] += one[key];
    if (!held) policies.push(line);
  }
  return section("pass", "Pass rate and difficulty", offline ? "Scripted policies over an offline author: plumbing. Read nothing about difficulty from these numbers." : "p̂ is the share of judged attempts that pass; errors are left out, since they say nothing about the policy.",
    table([column("policy", (one) => quoted(one.policy)), column("why", (one) => one.rollout_group), column("form", (one) => one.form), figure("attempts", (one) => rows(one.attempts, "attempts", { policy: one.policy, rollout_group: one.rollout_group, form: one.form })), figure("passed", (one) => rows(one.passed, "attempts", { policy: one.policy, rollout_group: one.rollout_group, form: one.form, outcome: "pass" })), figure("errors", (one) => (one.errors ? h("strong", { class: "error-text" }, rows(one.errors, "attempts", { policy: one.policy, rollout_group: one.rollout_group, form: one.form, outcome: "error" })) : "0")), figure("p̂", (one) => (one.attempts > one.errors ? rate(one.passed / (one.attempts - one.errors)) : "–")), column("", (one) => bar(one.passed, one.attempts - one.errors))], policies, { caption: "Pass rate by policy", empty: "Nothing was played." }),
    of.pass_rate.length > 0 && h("div", { class: "pair" },
      chart("pass-themes", "p̂ of the probes by domain, with its 95 % interval"),
      chart("difficulty", `Scenarios by p̂ of the probes${offline ? " (plumbing, not difficulty)" : ""}`)));
}

const chart = (key, caption) => h("figure", {}, h("figcaption", {}, caption), h("div", { class: "chart", "data-chart": key, role: "img", "aria-label": caption }));

function coverageSection(of) {
  const themes = [...new Set(of.coverage.map((one) => one.theme))].sort(), kinds = [...new Set(["achieve", "answer", "refuse", "escalate", "clarify", ...of.coverage.map((one) => one.polarity)])];
  const number = (theme, polarity) => sum(of.coverage.filter((one) => one.theme === theme && one.polarity === polarity), (one) => one.scenarios);
  const most = Math.max(1, ...themes.flatMap((theme) => kinds.map((kind) => number(theme, kind))));
  const tint = (value) => { const box = h("span", { class: "tint" }, value ? count(value) : "·"); box.style.setProperty("--part", value / most); return box; };
  const split = (theme) => [...new Set(of.coverage.filter((one) => one.theme === theme).map((one) => one.split))].join(", ");
  return section("coverage", "Coverage and diversity", "Kept scenarios by domain and by what success means there; an empty cell is a gap. On the map, environments whose texts share words lie close together.",
    table([column("domain", (theme) => words(theme)), column("split", split), ...kinds.map((kind) => figure(kind, (theme) => tint(number(theme, kind)))), figure("all", (theme) => count(sum(kinds, (kind) => number(theme, kind))))], themes, { caption: "Kept scenarios by domain and polarity", empty: "No scenario was kept.", most: 40 }),
    h("div", { class: "pair" }, chart("map", "Environments by their words"), chart("lengths", "Kept scenarios by tool calls of the reference path")));
}

function qualitySection(of) {
  const aside = table([column("table", (one) => one.table_name), column("promise", (one) => words(one.promise)), figure("rows", (one) => count(one.rows)), column("one of them", (one) => [thing(one.example, "open"), " ", quoted(one.detail)], { wide: true })], of.quarantine, { caption: "Rows that were set aside", empty: "No row was set aside." });
  const held = of.quality == null ? h("p", { class: "empty not-measured" }, outcome("not_measured"), " The run has not been held to the promises of its tables as a whole: that happens at the end of a run under Prefect.")
    : table([column("table", (one) => one.table), figure("rows", (one) => count(one.rows)), figure("promises", (one) => count(one.promises.length)), column("broken", (one) => (Object.keys(one.broken).length ? h("strong", { class: "error-text" }, tell(one.broken)) : outcome("kept"))), column("set aside", (one) => tell(one.set_aside) || "–")], of.quality.filter((one) => one.rows || Object.keys(one.broken).length), { caption: "Promises of each table" });
  return section("quality", "Quality", "Promises that every table's rows are held to, and what is known about the verifiers' own errors.",
    h("h3", {}, "Promises"), held, h("h3", {}, "Set aside"), aside,
    h("h3", {}, "Error bounds of kept scenarios"), table([column("", (one) => (one.outcome === "kept" ? "measured" : outcome(one.outcome))), column("why not", (one) => words(one.reason) || "–"), figure("scenarios", (one) => rows(one.scenarios, "scenarios", { bounds: one.outcome, kept: "true" })), figure("ρ0 median", (one) => rate(one.false_accept), { title: "Upper bound of accepting a wrong end" }), figure("worst", (one) => rate(one.worst_accept)), figure("wrong ends tried", (one) => count(one.wrong_ends)), figure("ρ1 median", (one) => rate(one.false_reject), { title: "Upper bound of rejecting a right end" }), figure("worst", (one) => rate(one.worst_reject)), figure("right ends tried", (one) => count(one.right_ends))], of.bounds, { caption: "Bounds on the verifiers' errors", empty: "No scenario was kept." }),
    of.attacks.length > 0 && [h("h3", {}, "Attacks that were paid"), table([column("found", (one) => one.manner), column("ends where the reference path does", (one) => (one.solves == null ? "no such path" : one.solves ? "yes: a solution" : h("strong", { class: "error-text" }, "no"))), figure("attacks", (one) => count(one.attacks)), figure("best reward", (one) => rate(one.best))], of.attacks, { caption: "Attacks by how they were found" })],
    of.verdicts.length > 0 && [h("h3", {}, "Judged again"), table([column("by", (one) => one.gate), column("before", (one) => (one.outcome_before ? outcome(one.outcome_before) : "–")), column("now", (one) => outcome(one.outcome)), figure("subjects", (one) => count(one.subjects))], of.verdicts, { caption: "Later verdicts" })],
    of.reviews.length > 0 && [h("h3", {}, "Reviews by people"), table([column("judgement", (one) => one.judgement), figure("subjects", (one) => count(one.subjects))], of.reviews)]);
}

const tell = (counts) => Object.entries(counts).map(([promise, number]) => `${words(promise)} ${number}`).join(", ");

function bundleSection(of) {
  return section("bundles", "What left the factory", null, table([column("exporter", (one) => one.exporter), column("folder", (one) => quoted(one.path)), figure("rows", (one) => count(one.rows)), figure("files", (one) => count(one.files))], of.bundles, { caption: "Bundles", empty: "Nothing was exported.", most: 20 }),
    of.withdrawals.length > 0 && [h("h3", {}, "Recalled"), table([column("item", (one) => thing(one.subject)), column("why", (one) => quoted(one.reason), { wide: true }), column("when", (one) => when(one.withdrawn_at))], of.withdrawals)]);
}
