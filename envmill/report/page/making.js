// How a run was made, section by section: flow, failures, yield, gates, repairs.
"use strict";

function flowSection(of) {
  const places = of.funnel.map((one) => ({ ...one, by: { lap: one.lap, stage: one.stage } }));
  return section(
    "flow",
    "Flow",
    "Every candidate, step by step. A step's candidates are kept, dropped for a reason, or in error; none is lost in between.",
    LAPS.map((lap) =>
      h(
        "figure",
        { class: "flow" },
        h(
          "figcaption",
          {},
          lap === "environments" ? "Environments lap: seeds to kept environments" : "Scenarios lap: places to scenarios with trajectories",
        ),
        h("div", {
          class: "chart",
          "data-chart": `flow-${lap}`,
          role: "img",
          "aria-label": `Flow of the ${lap} lap; the table below says the same`,
        }),
      ),
    ),
    table(
      [
        column("lap", (one) => one.lap),
        column("step", (one) => one.stage),
        figure("entered", (one) => rows(one.entered, "candidates", one.by)),
        figure("kept", (one) => rows(one.kept, "candidates", { ...one.by, outcome: "kept" })),
        column("", (one) => bar(one.kept, one.entered)),
        figure("dropped", (one) => rows(one.dropped, "candidates", { ...one.by, outcome: "dropped" })),
        figure("error", (one) =>
          one.error ? h("strong", { class: "error-text" }, rows(one.error, "candidates", { ...one.by, outcome: "error" })) : "0",
        ),
        figure("made", (one) => count(one.made), { title: "Records the step made: one candidate may become many" }),
        figure("work", (one) => time(one.seconds)),
        figure("tokens", (one) => count(one.tokens)),
        figure("cost", (one) => money(one.cost, one.unpriced)),
      ],
      places,
      { caption: "Candidates at each step" },
    ),
    of.again[0].candidates > 0 &&
      h(
        "p",
        { class: "about" },
        plural(of.again[0].candidates, "candidate"),
        " took more than one attempt at a step; the last one decides, and costs add up.",
      ),
  );
}

function failureSection(of) {
  return section(
    "failures",
    "Failures by reason",
    "Dropped is a result: the candidate was looked at and found wanting. Error is none: something broke, and Retry works on it again.",
    table(
      [
        column("outcome", (one) => outcome(one.outcome)),
        column("where", (one) => `${one.lap} ${one.stage}`),
        column("gate", (one) => (one.gate ? gate(of, one.gate) : "–")),
        column("reason", (one) => words(one.reason)),
        figure("candidates", (one) => link(`#/candidates?${query(one)}`, count(one.subjects))),
        column("one of them", (one) => [quoted(one.example, "clamp"), thing(one.example_subject, "open it")], { wide: true }),
        figure("cost", (one) => money(one.cost, one.unpriced)),
      ],
      of.failures,
      { caption: "Reasons for which candidates ended", empty: "Nothing was dropped, and nothing ended in error.", most: 25 },
    ),
  );
}

const gate = (of, code) => h("abbr", { title: of.titles[code] || "" }, code);

function yieldSection(of) {
  const themes = [...new Set(of.yields.map((one) => one.theme))].map((theme) => ({
    theme,
    ...Object.fromEntries(
      LAPS.map((lap) => [
        lap,
        {
          entered: sum(
            of.yields.filter((one) => one.theme === theme && one.lap === lap),
            (one) => one.entered,
          ),
          kept: sum(
            of.yields.filter((one) => one.theme === theme && one.lap === lap),
            (one) => one.kept,
          ),
        },
      ]),
    ),
  }));
  const recipes = of.yields.reduce((found, one) => {
    const held = found.find((line) => line.recipe === one.recipe && line.lap === one.lap);
    if (held) {
      held.entered += one.entered;
      held.kept += one.kept;
    } else found.push({ ...one });
    return found;
  }, []);
  const columnsOf = (lap, by) => [
    figure(`${lap} entered`, (one) => rows(one[lap].entered, "candidates", { lap, stage: "generate", ...by(one) })),
    figure("kept", (one) => rows(one[lap].kept, "candidates", { lap, stage: "filter", outcome: "kept", ...by(one) })),
    column("", (one) => [bar(one[lap].kept, one[lap].entered), h("span", { class: "number" }, share(one[lap].kept, one[lap].entered))]),
  ];
  const by = (one) => ({ theme: one.theme });
  return section(
    "yield",
    "Yield",
    "Kept per candidate that entered the lap, by recipe, kind and domain.",
    h(
      "div",
      { class: "pair" },
      h(
        "div",
        {},
        h("h3", {}, "By recipe"),
        table(
          [
            column("recipe", (one) => one.recipe),
            column("lap", (one) => one.lap),
            figure("entered", (one) => rows(one.entered, "candidates", { recipe: one.recipe, lap: one.lap, stage: "generate" })),
            figure("kept", (one) => rows(one.kept, "candidates", { recipe: one.recipe, lap: one.lap, stage: "filter", outcome: "kept" })),
            figure("share", (one) => share(one.kept, one.entered)),
          ],
          recipes,
          { caption: "Yield by recipe" },
        ),
      ),
      h(
        "div",
        {},
        h("h3", {}, "By kind"),
        table(
          [
            column("kind", (one) => one.kind),
            figure("blueprints", (one) => count(one.blueprints)),
            figure("built", (one) => rows(one.built, "environments", { kind: one.kind })),
            figure("environments kept", (one) => rows(one.environments, "environments", { kind: one.kind, kept: "true" })),
            figure("scenarios kept", (one) => rows(one.scenarios, "scenarios", { kind: one.kind, kept: "true" })),
          ],
          of.kinds,
          { caption: "Yield by kind" },
        ),
      ),
    ),
    h("h3", {}, "By domain"),
    table([column("domain", (one) => words(one.theme)), ...columnsOf("environments", by), ...columnsOf("scenarios", by)], themes, {
      caption: "Yield by domain",
      most: 30,
    }),
    of.users.length > 0 && h("h3", {}, "By simulated user"),
    of.users.length > 0 &&
      table(
        [
          column("user", (one) => one.persona || "(no persona)"),
          column("manner", (one) => one.manner || "as the contract says"),
          column("played by", (one) => one.person || "not recorded"),
          figure("conversations", (one) => count(one.conversations)),
          figure("user faults", (one) => count(one.user_faults)),
          figure("share", (one) => share(one.user_faults, one.conversations)),
          figure("suspected", (one) => count(one.suspected)),
          column("most often", (one) => words(one.most_often || "")),
        ],
        of.users,
        { caption: "Conversations by simulated user", most: 30 },
      ),
  );
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
  const lines = [...found.values()].sort(
    (one, other) =>
      LAPS.indexOf(one.lap) - LAPS.indexOf(other.lap) ||
      STAGES.indexOf(one.stage) - STAGES.indexOf(other.stage) ||
      gateOrder(one).localeCompare(gateOrder(other)),
  );
  const said = (code) =>
    figure(SPOKEN[code] || code, (one) =>
      rows(one[`is_${code}`] || 0, "findings", { lap: one.lap, stage: one.stage, gate: one.gate, outcome: code }),
    );
  return section(
    "gates",
    "Gates",
    "What each admission check said. Not measured is no pass: what would be needed was not there.",
    table(
      [
        column("gate", (one) => [h("strong", {}, one.gate), h("small", { class: "under" }, of.titles[one.gate] || "")], { wide: true }),
        column("step", (one) => `${one.lap} ${one.stage}`),
        said("kept"),
        said("dropped"),
        said("suspected"),
        said("cleared"),
        said("corrected"),
        said("error"),
        said("not_measured"),
        said("not_applicable"),
        column(
          "reasons",
          (one) => one.reasons.map((each, place) => [place ? ", " : "", words(each.reason), ` (${count(each.subjects)})`]),
          { wide: true },
        ),
      ],
      lines,
      { caption: "Findings of each gate" },
    ),
  );
}

const gateOrder = (one) => one.gate.replace(/\d+/, (digits) => digits.padStart(3, "0"));

function repairSection(of) {
  const lines = [];
  for (const one of of.versions) {
    const held = lines.find((line) => line.lap === one.lap && line.stage === one.stage && line.repair === one.repair);
    const line = held || { lap: one.lap, stage: one.stage, repair: one.repair, built: 0, failed: 0, unchanged: 0, faults: {} };
    line[one.outcome] += one.versions;
    line.unchanged += one.unchanged;
    if (one.outcome === "failed") line.faults[one.fault] = (line.faults[one.fault] || 0) + one.versions;
    if (!held) lines.push(line);
  }
  return section(
    "repairs",
    "Repair attempts",
    "What did not run, and what a gate found, was sent back to its author. The first version is number 0.",
    table(
      [
        column("step", (one) => `${one.lap} ${one.stage}`),
        figure("repair", (one) => count(one.repair)),
        figure("ran", (one) => count(one.built)),
        figure("failed", (one) => count(one.failed)),
        column("", (one) => bar(one.built, one.built + one.failed)),
        column(
          "fault lay in",
          (one) =>
            Object.entries(one.faults)
              .map(([fault, number]) => `${fault} ${number}`)
              .join(", ") || "–",
        ),
        figure("came back unchanged", (one) => count(one.unchanged)),
      ],
      lines,
      { caption: "Versions by repair attempt", empty: "No version was recorded." },
    ),
    h("h3", {}, "By complaint"),
    table(
      [
        column("step", (one) => `${one.lap} ${one.stage}`),
        column("gate", (one) => gate(of, one.gate)),
        column("reason", (one) => words(one.reason)),
        figure("sent back", (one) => count(one.sent_back), { title: "Versions that were sent back with it" }),
        figure("mended", (one) => count(one.mended), { title: "Candidates whose last version no longer has it" }),
        figure("given up", (one) => count(one.given_up), { title: "Candidates whose last version still has it" }),
        figure("unseen", (one) => count(one.unseen), { title: "Candidates whose last version failed before it could be found again" }),
        figure("weakened", (one) => count(one.weakened), { title: "Versions whose repair was refused: it had less in it" }),
      ],
      of.repairs,
      { caption: "What complaints came to", empty: "Nothing was sent back.", most: 25 },
    ),
  );
}
