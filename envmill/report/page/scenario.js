// A scenario: who asks, the reference path, the verifier, its attempts, the state it starts from.
"use strict";

async function showScenario(id, found, first) {
  const of = first("scenario"),
    list = await loadList("attempts"),
    verifier = of.verifier;
  const played = choose(list, [["scenario", id]], "", []).map((row) =>
    Object.fromEntries(
      ["id", "policy", "rollout_group", "form", "attempt", "outcome", "reward", "steps", "termination", "kept", "shown", "reason"].map(
        (key) => [key, list.at(row, key)],
      ),
    ),
  );
  return [
    heading(
      "scenario",
      id,
      quoted(of.request),
      dotted(
        fate(last(found)),
        of.polarity,
        `split ${of.split}`,
        ["in ", thing(of.environment, "its environment")],
        ["from ", thing(of.draft, "draft")],
        `clock ${of.clock}`,
      ),
    ),
    withdrawn(found),
    section(
      "user",
      "Who asks",
      null,
      facts([
        ["opening", of.user.opening !== of.request && quoted(of.user.opening)],
        ["persona", of.user.persona && quoted(of.user.persona)],
        [
          "wants",
          of.user.goals &&
            h(
              "ul",
              { class: "plain" },
              of.user.goals.map((goal) => h("li", {}, quoted(goal))),
            ),
        ],
        [
          "knows",
          Object.keys(of.user.facts || {}).length > 0 &&
            h(
              "ul",
              { class: "plain" },
              Object.entries(of.user.facts).map(([key, value]) =>
                h("li", {}, `${key}: `, quoted(toText(value)), (of.user.hidden || []).includes(key) && " (told only when asked)"),
              ),
            ),
        ],
      ]),
    ),
    section(
      "oracle",
      "Reference path",
      `Earns ${rate(of.oracle_reward)}; doing nothing earns ${rate(of.do_nothing_reward)}.`,
      h(
        "ol",
        {},
        of.oracle.map((call) => h("li", {}, callText(call))),
      ),
      of.say && h("p", {}, "Then says: ", quoted(of.say)),
    ),
    section(
      "verifier",
      "Verifier",
      verifier.partial ? "Goals and facts pay in part." : "All of it, or nothing.",
      [
        ["Goals: false at the start, true at the end", verifier.goals],
        ["Guards: true at the start, and still", verifier.guards],
        ["Procedure: how it must be done", verifier.procedure],
        ["Facts: what the user must be told", verifier.facts],
        ["Harm: what must never happen", verifier.harm],
      ].map(
        ([title, checks]) =>
          checks?.length > 0 && [
            h("h3", {}, title),
            h(
              "ul",
              {},
              checks.map((one) => h("li", {}, quoted(one.name), one.source && fold("generated check", () => code(one.source)))),
            ),
          ],
      ),
      h("h3", {}, "Frame: nothing else may change than"),
      verifier.frame.length
        ? h(
            "ul",
            { class: "plain" },
            verifier.frame.map((path) => h("li", {}, h("code", {}, path.join(".")))),
          )
        : h("p", {}, "Nothing may change."),
    ),
    section(
      "played",
      "Attempts",
      null,
      table(
        [
          column("attempt", (one) => (one.shown ? thing(one.id, short(one.id)) : short(one.id))),
          column("outcome", (one) => outcome(one.outcome)),
          column("kept", (one) => (one.kept ? "trajectory" : "–")),
          column("policy", (one) => quoted(one.policy)),
          column("why", (one) => one.rollout_group),
          column("form", (one) => one.form),
          figure("calls", (one) => count(one.steps)),
          column("ended", (one) => words(one.termination)),
          column("verdict", (one) => quoted(one.reason, "clamp"), { wide: true }),
        ],
        played,
        { caption: "Attempts", empty: "It was never played.", most: 40 },
      ),
    ),
    dossier(found),
    attacks(found),
    repairs(found),
    section(
      "start",
      "Initial state",
      null,
      Object.entries(of.initial_state).map(([key, held]) =>
        fold(`${key}${held && typeof held === "object" ? `, ${plural(Object.keys(held).length, "row")}` : ""}`, () => stateTable(held)),
      ),
    ),
    calls(found),
    others(found),
  ];
}

// Rows by key as a table; anything else as it is.
function stateTable(held) {
  const lines = held && typeof held === "object" && !Array.isArray(held) ? Object.entries(held) : [];
  if (!lines.length || !lines.every(([, one]) => one && typeof one === "object" && !Array.isArray(one))) return json(held);
  const keys = [...new Set(lines.flatMap(([, one]) => Object.keys(one)))];
  return table(
    [
      column("key", ([key]) => h("code", {}, key)),
      ...keys.map((key) => column(key, ([, one]) => (key in one ? quoted(toText(one[key])) : "–"))),
    ],
    lines,
    { most: 50 },
  );
}

function attacks(found) {
  return (
    found.attacks &&
    section(
      "attacks",
      "Attacks that were paid",
      null,
      h(
        "ul",
        {},
        found.attacks.map((one) =>
          h(
            "li",
            {},
            `${one.manner}, reward ${rate(one.reward)}, `,
            one.solves
              ? "solves the task: "
              : h("strong", { class: "error-text" }, one.solves === false ? "does not solve it: " : "no reference to compare with: "),
            one.calls.map((call) => [callText(call), " "]),
            one.said.map((text) => quoted(text)),
          ),
        ),
      ),
    )
  );
}
