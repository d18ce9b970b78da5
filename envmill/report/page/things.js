// One thing: an environment, a scenario, an attempt, or a candidate that became none of these, with all its evidence.
"use strict";

async function showThing(id) {
  const found = await loadThing(id);
  if (!found) return [h("header", { class: "top" }, h("h1", {}, short(id))), h("p", { class: "empty" }, "This report holds no record of that id. ", OVERVIEW.all ? "" : "If it is an attempt, its turns were left out: write the report with --all, or ask `envmill show ID`.")];
  const first = (field) => found[field]?.[0];
  const view = found.rollout ? showAttempt : found.scenario ? showScenario : found.environment ? showEnvironment : showCandidate;
  return view(id, found, first);
}

const heading = (kind, id, title, ...meta) => h("header", { class: "top" }, h("p", { class: "kind" }, kind, " ", h("code", {}, id)), h("h1", {}, title), h("p", { class: "meta" }, meta));
const dotted = (...parts) => parts.filter((part) => part != null && part !== "" && part !== false).flatMap((part, place) => (place ? [" · ", part] : [part]));

async function showEnvironment(id, found, first) {
  const of = first("environment"), list = await loadList("scenarios"), homes = await loadList("environments");
  const own = choose(list, [["environment", id]], "", []).map((row) => ({ id: list.at(row, "id"), request: list.at(row, "request"), polarity: list.at(row, "polarity"), outcome: list.at(row, "outcome"), stage: list.at(row, "stage"), gate: list.at(row, "gate"), reason: list.at(row, "reason"), passes: list.at(row, "passes"), attempts: list.at(row, "attempts") }));
  return [
    heading("environment", id, quoted(of.name), dotted(fate(last(found)), words(of.brief?.theme), of.kind, `recipe ${of.origin.recipe}`, quoted(`licence ${of.licence}`), ["from ", thing(of.blueprint, "blueprint")])),
    h("p", { class: "lead" }, quoted(of.summary)),
    withdrawn(found),
    section("rules", "Rules", null, h("ol", {}, of.rules.map((rule) => h("li", {}, quoted(rule)))), of.policy_document && fold("Policy document", () => h("pre", { class: "prose" }, of.policy_document))),
    section("tools", "Tools", null, table([column("tool", (one) => h("code", {}, one.name)), column("effect", (one) => one.effect), column("what it does", (one) => quoted(one.description), { wide: true }), column("parameters", parameters, { wide: true })], of.tools, { caption: "Tools" })),
    section("posed", "Scenarios", null, table([column("request", (one) => thing(one.id, quoted(one.request, "clamp")), { wide: true }), column("means", (one) => one.polarity), column("outcome", fate), figure("probes passed", (one) => (one.attempts ? `${one.passes} of ${one.attempts}` : "–"))], own, { caption: "Scenarios", empty: "None was posed in it.", most: 30 })),
    dossier(found), repairs(found),
    section("code", "Code", null, Object.entries(of.files).map(([path, text], place) => fold(`${path}, ${plural(text.split("\n").length, "line")}`, () => code(text), place === 0 && Object.keys(of.files).length === 1))),
    section("tests", "Stored tests", null, table([column("test", (one) => quoted(one.name), { wide: true }), column("call", (one) => callText(one.call), { wide: true }), column("expects", (one) => words(one.expect))], found.tests || [], { caption: "Stored tests", empty: "None is stored.", most: 12 })),
    calls(found), neighbours(homes, id, await load("map")), others(found),
  ];
}

const last = (found) => { const exits = (found.ledger || []).filter((one) => one.gate === "exit").sort((one, other) => place(one) - place(other)); const end = exits.at(-1); return end ? { outcome: end.outcome, stage: end.stage, reason: end.reason, gate: (found.ledger.find((one) => one.gate !== "exit" && one.stage === end.stage && one.outcome === end.outcome && end.outcome !== "kept") || {}).gate } : {}; };
const place = (one) => LAPS.indexOf(one.lap) * 1e6 + STAGES.indexOf(one.stage) * 1e4 + one.try_number;

function parameters(tool) {
  const held = Object.entries(tool.parameters?.properties || {}), needed = tool.parameters?.required || [];
  return held.length ? h("ul", { class: "plain" }, held.map(([key, one]) => h("li", {}, h("code", {}, key), needed.includes(key) ? "" : "?", " ", h("small", {}, quoted(one.type ? spell(one.type) : ""), one.description && [": ", quoted(one.description)])))) : "–";
}

const code = (text) => h("pre", { class: "code", tabindex: "0" }, text.split("\n").map((line) => h("span", { class: "line" }, line, "\n")));

function callText(call) {
  return h("code", { class: "call" }, h("b", {}, call.name), "(", Object.entries(call.arguments || {}).map(([key, value], number) => [number ? ", " : "", `${key}=`, h("span", { class: "value" }, JSON.stringify(value))]), ")", call.actor && call.actor !== "agent" && ` as ${call.actor}`);
}

function neighbours(list, id, map) {
  const at = map.findIndex((one) => one.id === id), near = at < 0 ? null : map[at].near;
  return near != null && section("near", "Nearest other environment", null, h("p", {}, thing(map[near].id, quoted(list.at(choose(list, [["id", map[near].id]], "", [])[0], "name"))), ` shares ${share(map[at].alike, 1)} of its words (cosine).`));
}

async function showScenario(id, found, first) {
  const of = first("scenario"), list = await loadList("attempts"), verifier = of.verifier;
  const played = choose(list, [["scenario", id]], "", []).map((row) => Object.fromEntries(["id", "policy", "rollout_group", "form", "attempt", "outcome", "reward", "steps", "termination", "kept", "shown", "reason"].map((key) => [key, list.at(row, key)])));
  return [
    heading("scenario", id, quoted(of.request), dotted(fate(last(found)), of.polarity, `split ${of.split}`, ["in ", thing(of.environment, "its environment")], ["from ", thing(of.draft, "draft")], `clock ${of.clock}`)),
    withdrawn(found),
    section("user", "Who asks", null, facts([["opening", of.user.opening !== of.request && quoted(of.user.opening)], ["persona", of.user.persona && quoted(of.user.persona)], ["wants", of.user.goals && h("ul", { class: "plain" }, of.user.goals.map((goal) => h("li", {}, quoted(goal))))], ["knows", Object.keys(of.user.facts || {}).length > 0 && h("ul", { class: "plain" }, Object.entries(of.user.facts).map(([key, value]) => h("li", {}, `${key}: `, quoted(spell(value)), (of.user.hidden || []).includes(key) && " (told only when asked)")))]])),
    section("oracle", "Reference path", `Earns ${rate(of.oracle_reward)}; doing nothing earns ${rate(of.do_nothing_reward)}.`, h("ol", {}, of.oracle.map((call) => h("li", {}, callText(call)))), of.say && h("p", {}, "Then says: ", quoted(of.say))),
    section("verifier", "Verifier", verifier.partial ? "Goals and facts pay in part." : "All of it, or nothing.", [["Goals: false at the start, true at the end", verifier.goals], ["Guards: true at the start, and still", verifier.guards], ["Procedure: how it must be done", verifier.procedure], ["Facts: what the user must be told", verifier.facts], ["Harm: what must never happen", verifier.harm]].map(([title, checks]) => checks?.length > 0 && [h("h3", {}, title), h("ul", {}, checks.map((one) => h("li", {}, quoted(one.name), one.source && fold("generated check", () => code(one.source)))))]), h("h3", {}, "Frame: nothing else may change than"), verifier.frame.length ? h("ul", { class: "plain" }, verifier.frame.map((path) => h("li", {}, h("code", {}, path.join("."))))) : h("p", {}, "Nothing may change.")),
    section("played", "Attempts", null, table([column("attempt", (one) => (one.shown ? thing(one.id, short(one.id)) : short(one.id))), column("outcome", (one) => outcome(one.outcome)), column("kept", (one) => (one.kept ? "trajectory" : "–")), column("policy", (one) => quoted(one.policy)), column("why", (one) => one.rollout_group), column("form", (one) => one.form), figure("calls", (one) => count(one.steps)), column("ended", (one) => words(one.termination)), column("verdict", (one) => quoted(one.reason, "clamp"), { wide: true })], played, { caption: "Attempts", empty: "It was never played.", most: 40 })),
    dossier(found), attacks(found), repairs(found),
    section("start", "Initial state", null, Object.entries(of.initial_state).map(([key, held]) => fold(`${key}${held && typeof held === "object" ? `, ${plural(Object.keys(held).length, "row")}` : ""}`, () => stateTable(held)))),
    calls(found), others(found),
  ];
}

// Rows by key as a table; anything else as it is.
function stateTable(held) {
  const lines = held && typeof held === "object" && !Array.isArray(held) ? Object.entries(held) : [];
  if (!lines.length || !lines.every(([, one]) => one && typeof one === "object" && !Array.isArray(one))) return json(held);
  const keys = [...new Set(lines.flatMap(([, one]) => Object.keys(one)))];
  return table([column("key", ([key]) => h("code", {}, key)), ...keys.map((key) => column(key, ([, one]) => (key in one ? quoted(spell(one[key])) : "–")))], lines, { most: 50 });
}

function attacks(found) {
  return found.attacks && section("attacks", "Attacks that were paid", null, h("ul", {}, found.attacks.map((one) => h("li", {}, `${one.manner}, reward ${rate(one.reward)}, `, one.solves ? "solves the task: " : h("strong", { class: "error-text" }, one.solves === false ? "does not solve it: " : "no reference to compare with: "), one.calls.map((call) => [callText(call), " "]), one.said.map((text) => quoted(text))))));
}

async function showAttempt(id, found, first) {
  const of = first("rollout"), trajectory = first("trajectory"), moves = first("moves");
  return [
    heading("attempt", id, trajectory ? "Trajectory" : "Attempt", dotted(outcome(of.outcome), `reward ${rate(of.reward)}`, quoted(of.policy), of.checkpoint && quoted(of.checkpoint), `${of.rollout_group} ${of.attempt}`, of.form, plural(of.steps, "call"), words(of.termination), ["of ", thing(of.scenario, "its scenario")], ["in ", thing(of.environment, "its environment")])),
    trajectory && h("p", { class: "lead" }, "Kept as ", h("code", {}, trajectory.id), `, split ${trajectory.split}. Messages with the mark `, h("span", { class: "trained" }, "trained on"), " are learnt from."),
    section("verdict", "Verdict", null, of.reason && h("p", {}, quoted(of.reason)), of.detail && h("p", {}, quoted(of.detail)), of.misstep && h("p", {}, `The simulated user ${words(of.misstep)}: nothing is known about the policy.`),
      Object.keys(of.components).length > 0 && table([column("component", ([key]) => key), figure("value", ([, value]) => rate(value)), column("", ([, value]) => bar(value, 1))], Object.entries(of.components), { caption: "Components" }),
      of.evidence.length > 0 && table([column("component", (one) => one.component), column("asks for", (one) => quoted(one.name || ""), { wide: true }), column("found", (one) => quoted(JSON.stringify(one.found) ?? "nothing"), { wide: true })], of.evidence, { caption: "What failed" })),
    section("turns", "Turn by turn", moves ? moves.same ? "State changes are from playing it again in the jail; every state hash was the same." : "Played again, it went another way, so changes are not told call by call." : "A call that changed the state is marked; what it changed was not played again.", turns(of, trajectory?.loss, moves?.same ? moves.changes : null)),
    section("changes", "What it changed in all", of.changes == null ? "Not known: it ended in error." : null, of.changes != null && changes(of.changes)),
    (of.weather || of.met.length > 0) && section("weather", "Weather", null, facts([["profile", of.weather && json(of.weather)], ["met", of.met.map(words).join(", ")]])),
    fold("Usage and limits", () => facts([...Object.entries(of.usage), ...Object.entries(of.limits).map(([key, value]) => [`limit of ${key}`, value]), ["seed", of.seed], ["final state", h("code", {}, of.final_state_hash || "unknown")]].map(([key, value]) => [words(key), typeof value === "number" ? count(value) : value]))),
    dossier(found), others(found),
  ];
}

function turns(of, loss, played) {
  const replies = new Map();
  let hash = "", at = 0;
  const list = h("ol", { class: "turns" });
  of.transcript.forEach((entry) => { if (entry.role === "tool") { const held = replies.get(entry.tool_call_id) || []; held.push(entry); replies.set(entry.tool_call_id, held); } });
  of.transcript.forEach((entry, place) => {
    const trained = loss?.[place] && h("span", { class: "trained" }, "trained on");
    if (entry.role === "tool") return;
    const turn = h("li", { class: `turn ${/^[a-z]+$/.test(entry.role) ? entry.role : ""}` }, h("p", { class: "who" }, entry.role === "assistant" ? "agent" : entry.role, trained && " ", trained));
    if (entry.reasoning) add(turn, [fold("reasoning", () => h("pre", { class: "prose" }, spell(entry.reasoning)))]);
    if (entry.role === "system") add(turn, [fold("instructions", () => h("pre", { class: "prose" }, spell(entry.content)))]);
    else if (entry.role === "wait") add(turn, [h("p", {}, `${entry.seconds} s went by`), json(entry.notifications ?? null), played?.[at]?.length > 0 && changes(played[at])]);
    else if (entry.content) add(turn, [h("p", { class: "words", dir: "auto" }, typeof entry.content === "string" ? entry.content : spell(entry.content))]);
    if (entry.role === "wait") { at += 1; hash = entry.state_hash || hash; }
    for (const call of entry.tool_calls || []) {
      const reply = replies.get(call.id)?.shift();
      if ("raw" in call) { add(turn, [toolCall(call, reply, false)]); continue; }
      const moved = Boolean(reply?.state_hash && reply.state_hash !== hash && (hash !== "" || played?.[at]?.length));
      add(turn, [toolCall(call, reply, moved, played?.[at])]);
      if (reply?.state_hash) hash = reply.state_hash;
      at += 1;
    }
    list.append(turn);
  });
  return list;
}

function toolCall(call, reply, moved, change) {
  const content = reply?.content, failed = content && content.ok === false;
  const body = failed ? h("p", { class: "refused" }, h("strong", {}, words(content.error?.code)), " ", quoted(content.error?.message || "")) : reply ? replyParts(content) : h("p", { class: "empty" }, call.raw ? ["Could not be read, so it was never made: ", quoted(spell(call.raw))] : "No reply was recorded.");
  return h("div", { class: `tool ${failed ? "failed" : ""}` }, h("p", {}, callText(call), " ", failed && h("span", { class: "moved" }, "refused"), moved && h("span", { class: "moved" }, "state changed")), change?.length > 0 && changes(change), body);
}

function replyParts(content) {
  const parts = Array.isArray(content?.parts) ? content.parts : [{ type: "json", value: content }];
  return parts.map((part) => (part.type === "text" ? h("pre", { class: "json", tabindex: "0" }, part.text) : value("value" in part ? part.value : part)));
}

const flat = (one) => one && typeof one === "object" && !Array.isArray(one) && Object.values(one).every((each) => each === null || typeof each !== "object");

// Rows as a table, one row as a line, anything else as it is.
function value(one) {
  if (Array.isArray(one) && one.length && one.every(flat)) {
    const keys = [...new Set(one.flatMap((row) => Object.keys(row)))];
    return h("div", { class: "reply" }, table(keys.map((key) => column(key, (row) => (key in row ? quoted(spell(row[key])) : "–"))), one, { most: 20 }));
  }
  const text = JSON.stringify(one, null, flat(one) || JSON.stringify(one).length < 110 ? 0 : 1);
  return h("pre", { class: "json", tabindex: "0" }, flat(one) ? text.replaceAll('":', '": ').replaceAll(',"', ', "') : text);
}

function changes(list) {
  if (!list.length) return h("p", { class: "empty" }, "Nothing changed.");
  const sign = { add: "+", remove: "−", set: "~" };
  return h("ul", { class: "changes" }, list.map((one) => h("li", { class: sign[one.op] ? one.op : "" }, h("b", { "aria-label": one.op }, sign[one.op] || "?"), " ", h("code", {}, one.path.join(".")), " ", one.op !== "add" && h("del", {}, JSON.stringify(one.before)), one.op === "set" && " → ", one.op !== "remove" && h("ins", {}, JSON.stringify(one.after)))));
}

async function showCandidate(id, found, first) {
  const idea = first("blueprint") || first("draft"), seed = first("seed"), end = last(found);
  const title = first("blueprint")?.name || first("draft")?.request || seed?.brief?.theme || id;
  return [
    heading(first("blueprint") ? "blueprint" : first("draft") ? "draft" : seed ? "seed" : "candidate", id, quoted(words(title)), dotted(fate(end), ...parents(found))),
    idea?.summary && h("p", { class: "lead" }, quoted(idea.summary)),
    why(found), repairs(found), dossier(found),
    first("draft") && section("oracle", "Reference path", null, h("ol", {}, first("draft").oracle.map((call) => h("li", {}, callText(call)))), h("h3", {}, "What it changed"), changes(first("draft").changes)),
    (idea || seed) && section("content", "As it was written", null, fold("everything", () => json(idea || seed))),
    calls(found), others(found),
  ];
}

const parents = (found) => [...new Set((found.ledger || []).map((one) => one.parent).filter(Boolean))].map((parent) => ["from ", thing(parent)]);

function why(found) {
  const ends = (found.ledger || []).filter((one) => one.gate === "exit" && one.outcome !== "kept");
  return ends.length > 0 && section("why", "What became of it", null, ends.map((one) => h("p", {}, outcome(one.outcome), ` at ${one.lap} ${one.stage}: `, h("strong", {}, words(one.reason)), ". ", quoted(one.detail))));
}

// Every gate's finding with its evidence: the dossier.
function dossier(found) {
  const held = new Map((found.evidence || []).map((one) => [one.id, one.finding]));
  const lines = (found.ledger || []).slice().sort((one, other) => place(one) - place(other) || (one.gate === "exit") - (other.gate === "exit") || gateOrder(one).localeCompare(gateOrder(other)));
  return lines.length > 0 && section("dossier", "Dossier", "What every gate saw, in the order of the line.", table([
    column("step", (one) => `${one.lap} ${one.stage}${one.try_number > 1 ? `, attempt ${one.try_number}` : ""}`),
    column("gate", (one) => (one.gate === "exit" ? h("em", {}, "the step") : [h("strong", {}, one.gate), h("small", { class: "under" }, OVERVIEW.titles[one.gate] || "")]), { wide: true }),
    column("finding", (one) => outcome(one.outcome)), column("reason", (one) => [h("strong", {}, words(one.reason)), one.reason && " ", quoted(one.detail)], { wide: true }),
    column("evidence", (one) => (held.has(one.evidence) && held.get(one.evidence) != null ? fold("open", () => json(held.get(one.evidence)), one.outcome === "dropped" || one.outcome === "error") : "–"), { wide: true }),
    figure("work", (one) => time(one.seconds)), figure("cost", (one) => money(one.cost)),
  ], lines, { caption: "Findings about it" }));
}

function repairs(found) {
  return found.builds && section("repairs", "Versions", null, table([figure("repair", (one) => count(one.repair)), column("outcome", (one) => (one.outcome === "built" ? outcome("kept") : outcome("fail"))), column("fault", (one) => (one.fault === "none" ? "–" : one.fault)), column("what failed, as it was sent back", (one) => quoted(one.failure), { wide: true }), column("version", (one) => h("code", {}, one.content_hash.slice(0, 8)))], [...found.builds].sort((one, other) => one.repair - other.repair), { caption: "Versions" }));
}

function calls(found) {
  return found.calls && section("calls", "Asked of models", null, table([column("prompt", (one) => one.prompt), column("role", (one) => one.role), column("model", (one) => quoted(one.model)), column("outcome", (one) => (one.outcome === "reply" ? outcome("kept") : [outcome(one.outcome === "outage" ? "error" : "fail"), " ", one.outcome, " ", quoted(one.error)])), figure("tokens in", (one) => count(one.tokens_in)), figure("out", (one) => count(one.tokens_out)), figure("cost", (one) => money(one.cost)), column("when", (one) => when(one.asked_at))], [...found.calls].sort((one, other) => one.asked_at.localeCompare(other.asked_at)), { caption: "Model calls", most: 12 }));
}

const withdrawn = (found) => found.withdrawals?.map((one) => h("p", { class: "notice error" }, h("strong", {}, "Recalled "), when(one.withdrawn_at), ": ", quoted(one.reason)));

function others(found) {
  return [
    found.verdicts && section("verdicts", "Judged again", null, table([column("by", (one) => one.gate), column("before", (one) => (one.outcome_before ? outcome(one.outcome_before) : "–")), column("now", (one) => outcome(one.outcome)), column("reason", (one) => quoted(one.reason), { wide: true }), column("when", (one) => when(one.judged_at))], found.verdicts)),
    found.reviews && section("reviews", "Reviews", null, table([column("who", (one) => quoted(one.reviewer)), column("judgement", (one) => one.judgement), column("note", (one) => quoted(one.note), { wide: true }), column("when", (one) => when(one.reviewed_at))], found.reviews)),
    found.quarantine && section("aside", "Set aside", null, found.quarantine.map((one) => [h("p", {}, h("strong", {}, words(one.promise)), ` of ${one.table_name}: `, quoted(one.detail)), fold("the row as it was found", () => json(one.content))])),
  ];
}
