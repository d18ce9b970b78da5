// One thing: an environment, a scenario, an attempt, or a candidate that became none of these, with all its evidence.
"use strict";

async function showThing(id) {
  const found = await loadThing(id);
  if (!found)
    return [
      h("header", { class: "top" }, h("h1", {}, short(id))),
      h(
        "p",
        { class: "empty" },
        "This report holds no record of that id. ",
        OVERVIEW.all ? "" : "If it is an attempt, its turns were left out: write the report with --all, or ask `envmill show ID`.",
      ),
    ];
  const first = (field) => found[field]?.[0];
  const view = found.rollout ? showAttempt : found.scenario ? showScenario : found.environment ? showEnvironment : showCandidate;
  return view(id, found, first);
}

const heading = (kind, id, title, ...meta) =>
  h(
    "header",
    { class: "top" },
    h("p", { class: "kind" }, kind, " ", h("code", {}, id)),
    h("h1", {}, title),
    h("p", { class: "meta" }, meta),
  );
const dotted = (...parts) =>
  parts.filter((part) => part != null && part !== "" && part !== false).flatMap((part, place) => (place ? [" · ", part] : [part]));

async function showEnvironment(id, found, first) {
  const of = first("environment"),
    list = await loadList("scenarios"),
    homes = await loadList("environments");
  const own = choose(list, [["environment", id]], "", []).map((row) => ({
    id: list.at(row, "id"),
    request: list.at(row, "request"),
    polarity: list.at(row, "polarity"),
    outcome: list.at(row, "outcome"),
    stage: list.at(row, "stage"),
    gate: list.at(row, "gate"),
    reason: list.at(row, "reason"),
    passes: list.at(row, "passes"),
    attempts: list.at(row, "attempts"),
  }));
  return [
    heading(
      "environment",
      id,
      quoted(of.name),
      dotted(fate(last(found)), words(of.brief?.theme), of.kind, `recipe ${of.origin.recipe}`, quoted(`licence ${of.licence}`), [
        "from ",
        thing(of.blueprint, "blueprint"),
      ]),
    ),
    h("p", { class: "lead" }, quoted(of.summary)),
    withdrawn(found),
    section(
      "rules",
      "Rules",
      null,
      h(
        "ol",
        {},
        of.rules.map((rule) => h("li", {}, quoted(rule))),
      ),
      of.policy_document && fold("Policy document", () => h("pre", { class: "prose" }, of.policy_document)),
    ),
    section(
      "tools",
      "Tools",
      null,
      table(
        [
          column("tool", (one) => h("code", {}, one.name)),
          column("effect", (one) => one.effect),
          column("what it does", (one) => quoted(one.description), { wide: true }),
          column("parameters", parameters, { wide: true }),
        ],
        of.tools,
        { caption: "Tools" },
      ),
    ),
    graphSection(found),
    section(
      "posed",
      "Scenarios",
      null,
      table(
        [
          column("request", (one) => thing(one.id, quoted(one.request, "clamp")), { wide: true }),
          column("means", (one) => one.polarity),
          column("outcome", fate),
          figure("probes passed", (one) => (one.attempts ? `${one.passes} of ${one.attempts}` : "–")),
        ],
        own,
        { caption: "Scenarios", empty: "None was posed in it.", most: 30 },
      ),
    ),
    dossier(found),
    repairs(found),
    section(
      "code",
      "Code",
      null,
      Object.entries(of.files).map(([path, text], place) =>
        fold(`${path}, ${plural(text.split("\n").length, "line")}`, () => code(text), place === 0 && Object.keys(of.files).length === 1),
      ),
    ),
    section(
      "tests",
      "Stored tests",
      null,
      table(
        [
          column("test", (one) => quoted(one.name), { wide: true }),
          column("call", (one) => callText(one.call), { wide: true }),
          column("expects", (one) => words(one.expect)),
        ],
        found.tests || [],
        { caption: "Stored tests", empty: "None is stored.", most: 12 },
      ),
    ),
    calls(found),
    neighbours(homes, id, await load("map")),
    others(found),
  ];
}

const last = (found) => {
  const exits = (found.ledger || []).filter((one) => one.gate === "exit").sort((one, other) => place(one) - place(other));
  const end = exits.at(-1);
  return end
    ? {
        outcome: end.outcome,
        stage: end.stage,
        reason: end.reason,
        gate: (
          found.ledger.find(
            (one) => one.gate !== "exit" && one.stage === end.stage && one.outcome === end.outcome && end.outcome !== "kept",
          ) || {}
        ).gate,
      }
    : {};
};
const place = (one) => LAPS.indexOf(one.lap) * 1e6 + STAGES.indexOf(one.stage) * 1e4 + one.try_number;

function parameters(tool) {
  const held = Object.entries(tool.parameters?.properties || {}),
    needed = tool.parameters?.required || [];
  return held.length
    ? h(
        "ul",
        { class: "plain" },
        held.map(([key, one]) =>
          h(
            "li",
            {},
            h("code", {}, key),
            needed.includes(key) ? "" : "?",
            " ",
            h("small", {}, quoted(one.type ? toText(one.type) : ""), one.description && [": ", quoted(one.description)]),
          ),
        ),
      )
    : "–";
}

const code = (text) =>
  h(
    "pre",
    { class: "code", tabindex: "0" },
    text.split("\n").map((line) => h("span", { class: "line" }, line, "\n")),
  );

function callText(call) {
  return h(
    "code",
    { class: "call" },
    h("b", {}, call.name),
    "(",
    Object.entries(call.arguments || {}).map(([key, value], number) => [
      number ? ", " : "",
      `${key}=`,
      h("span", { class: "value" }, JSON.stringify(value)),
    ]),
    ")",
    call.actor && call.actor !== "agent" && ` as ${call.actor}`,
  );
}

function neighbours(list, id, map) {
  const at = map.findIndex((one) => one.id === id),
    near = at < 0 ? null : map[at].near;
  return (
    near != null &&
    section(
      "near",
      "Nearest other environment",
      null,
      h(
        "p",
        {},
        thing(map[near].id, quoted(list.at(choose(list, [["id", map[near].id]], "", [])[0], "name"))),
        ` shares ${share(map[at].alike, 1)} of its words (cosine).`,
      ),
    )
  );
}

async function showCandidate(id, found, first) {
  const idea = first("blueprint") || first("draft"),
    seed = first("seed"),
    end = last(found);
  const title = first("blueprint")?.name || first("draft")?.request || seed?.brief?.theme || id;
  return [
    heading(
      first("blueprint") ? "blueprint" : first("draft") ? "draft" : seed ? "seed" : "candidate",
      id,
      quoted(words(title)),
      dotted(fate(end), ...parents(found)),
    ),
    idea?.summary && h("p", { class: "lead" }, quoted(idea.summary)),
    why(found),
    repairs(found),
    dossier(found),
    first("draft") &&
      section(
        "oracle",
        "Reference path",
        null,
        h(
          "ol",
          {},
          first("draft").oracle.map((call) => h("li", {}, callText(call))),
        ),
        h("h3", {}, "What it changed"),
        changes(first("draft").changes),
      ),
    (idea || seed) &&
      section(
        "content",
        "As it was written",
        null,
        fold("everything", () => json(idea || seed)),
      ),
    calls(found),
    others(found),
  ];
}

const parents = (found) =>
  [...new Set((found.ledger || []).map((one) => one.parent).filter(Boolean))].map((parent) => ["from ", thing(parent)]);

function why(found) {
  const ends = (found.ledger || []).filter((one) => one.gate === "exit" && one.outcome !== "kept");
  return (
    ends.length > 0 &&
    section(
      "why",
      "What became of it",
      null,
      ends.map((one) =>
        h("p", {}, outcome(one.outcome), ` at ${one.lap} ${one.stage}: `, h("strong", {}, words(one.reason)), ". ", quoted(one.detail)),
      ),
    )
  );
}

// Every gate's finding with its evidence: the dossier.
function dossier(found) {
  const held = new Map((found.evidence || []).map((one) => [one.id, one.finding]));
  const lines = (found.ledger || [])
    .slice()
    .sort(
      (one, other) =>
        place(one) - place(other) || (one.gate === "exit") - (other.gate === "exit") || gateOrder(one).localeCompare(gateOrder(other)),
    );
  return (
    lines.length > 0 &&
    section(
      "dossier",
      "Dossier",
      "What every gate saw, in the order of the line.",
      table(
        [
          column("step", (one) => `${one.lap} ${one.stage}${one.try_number > 1 ? `, attempt ${one.try_number}` : ""}`),
          column(
            "gate",
            (one) =>
              one.gate === "exit"
                ? h("em", {}, "the step")
                : [h("strong", {}, one.gate), h("small", { class: "under" }, OVERVIEW.titles[one.gate] || "")],
            { wide: true },
          ),
          column("finding", (one) => outcome(one.outcome)),
          column("reason", (one) => [h("strong", {}, words(one.reason)), one.reason && " ", quoted(one.detail)], { wide: true }),
          column(
            "evidence",
            (one) =>
              held.has(one.evidence) && held.get(one.evidence) != null
                ? fold("open", () => json(held.get(one.evidence)), one.outcome === "dropped" || one.outcome === "error")
                : "–",
            { wide: true },
          ),
          figure("work", (one) => time(one.seconds)),
          figure("cost", (one) => money(one.cost)),
        ],
        lines,
        { caption: "Findings about it" },
      ),
    )
  );
}

function repairs(found) {
  return (
    found.builds &&
    section(
      "repairs",
      "Versions",
      null,
      table(
        [
          figure("repair", (one) => count(one.repair)),
          column("outcome", (one) => (one.outcome === "built" ? outcome("kept") : outcome("fail"))),
          column("fault", (one) => (one.fault === "none" ? "–" : one.fault)),
          column("what failed, as it was sent back", (one) => quoted(one.failure), { wide: true }),
          column("version", (one) => h("code", {}, one.content_hash.slice(0, 8))),
        ],
        [...found.builds].sort((one, other) => one.repair - other.repair),
        { caption: "Versions" },
      ),
    )
  );
}

function calls(found) {
  return (
    found.calls &&
    section(
      "calls",
      "Asked of models",
      null,
      table(
        [
          column("prompt", (one) => one.prompt),
          column("role", (one) => one.role),
          column("model", (one) => quoted(one.model)),
          column("outcome", (one) =>
            one.outcome === "reply"
              ? outcome("kept")
              : [outcome(one.outcome === "outage" ? "error" : "fail"), " ", one.outcome, " ", quoted(one.error)],
          ),
          figure("tokens in", (one) => count(one.tokens_in)),
          figure("out", (one) => count(one.tokens_out)),
          figure("cost", (one) => money(one.cost)),
          column("when", (one) => when(one.asked_at)),
        ],
        [...found.calls].sort((one, other) => one.asked_at.localeCompare(other.asked_at)),
        { caption: "Model calls", most: 12 },
      ),
    )
  );
}

const withdrawn = (found) =>
  found.withdrawals?.map((one) =>
    h("p", { class: "notice error" }, h("strong", {}, "Recalled "), when(one.withdrawn_at), ": ", quoted(one.reason)),
  );

function others(found) {
  return [
    found.verdicts &&
      section(
        "verdicts",
        "Judged again",
        null,
        table(
          [
            column("by", (one) => one.gate),
            column("before", (one) => (one.outcome_before ? outcome(one.outcome_before) : "–")),
            column("now", (one) => outcome(one.outcome)),
            column("reason", (one) => quoted(one.reason), { wide: true }),
            column("when", (one) => when(one.judged_at)),
          ],
          found.verdicts,
        ),
      ),
    found.reviews &&
      section(
        "reviews",
        "Reviews",
        null,
        table(
          [
            column("who", (one) => quoted(one.reviewer)),
            column("judgement", (one) => one.judgement),
            column("note", (one) => quoted(one.note), { wide: true }),
            column("when", (one) => when(one.reviewed_at)),
          ],
          found.reviews,
        ),
      ),
    found.quarantine &&
      section(
        "aside",
        "Set aside",
        null,
        found.quarantine.map((one) => [
          h("p", {}, h("strong", {}, words(one.promise)), ` of ${one.table_name}: `, quoted(one.detail)),
          fold("the row as it was found", () => json(one.content)),
        ]),
      ),
  ];
}
