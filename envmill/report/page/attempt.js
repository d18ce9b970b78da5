// An attempt: its verdict, and turn by turn what was said, called, answered and changed.
"use strict";

async function showAttempt(id, found, first) {
  const of = first("rollout"),
    trajectory = first("trajectory"),
    moves = first("moves");
  return [
    heading(
      "attempt",
      id,
      trajectory ? "Trajectory" : "Attempt",
      dotted(
        outcome(of.outcome),
        `reward ${rate(of.reward)}`,
        quoted(of.policy),
        of.checkpoint && quoted(of.checkpoint),
        `${of.rollout_group} ${of.attempt}`,
        of.form,
        plural(of.steps, "call"),
        words(of.termination),
        ["of ", thing(of.scenario, "its scenario")],
        ["in ", thing(of.environment, "its environment")],
      ),
    ),
    trajectory &&
      h(
        "p",
        { class: "lead" },
        "Kept as ",
        h("code", {}, trajectory.id),
        `, split ${trajectory.split}. Messages with the mark `,
        h("span", { class: "trained" }, "trained on"),
        " are learnt from.",
      ),
    section(
      "verdict",
      "Verdict",
      null,
      of.reason && h("p", {}, quoted(of.reason)),
      of.detail && h("p", {}, quoted(of.detail)),
      of.misstep && h("p", {}, `The simulated user ${words(of.misstep)}: nothing is known about the policy.`),
      Object.keys(of.components).length > 0 &&
        table(
          [column("component", ([key]) => key), figure("value", ([, value]) => rate(value)), column("", ([, value]) => bar(value, 1))],
          Object.entries(of.components),
          { caption: "Components" },
        ),
      of.evidence.length > 0 &&
        table(
          [
            column("component", (one) => one.component),
            column("asks for", (one) => quoted(one.name || ""), { wide: true }),
            column("found", (one) => quoted(JSON.stringify(one.found) ?? "nothing"), { wide: true }),
          ],
          of.evidence,
          { caption: "What failed" },
        ),
    ),
    section(
      "turns",
      "Turn by turn",
      moves
        ? moves.same
          ? "State changes are from playing it again in the jail; every state hash was the same."
          : "Played again, it went another way, so changes are not told call by call."
        : "A call that changed the state is marked; what it changed was not played again.",
      turns(of, trajectory?.loss, moves?.same ? moves.changes : null),
    ),
    section(
      "changes",
      "What it changed in all",
      of.changes == null ? "Not known: it ended in error." : null,
      of.changes != null && changes(of.changes),
    ),
    (of.weather || of.met.length > 0) &&
      section(
        "weather",
        "Weather",
        null,
        facts([
          ["profile", of.weather && json(of.weather)],
          ["met", of.met.map(words).join(", ")],
        ]),
      ),
    fold("Usage and limits", () =>
      facts(
        [
          ...Object.entries(of.usage),
          ...Object.entries(of.limits).map(([key, value]) => [`limit of ${key}`, value]),
          ["seed", of.seed],
          ["final state", h("code", {}, of.final_state_hash || "unknown")],
        ].map(([key, value]) => [words(key), typeof value === "number" ? count(value) : value]),
      ),
    ),
    dossier(found),
    others(found),
  ];
}

function turns(of, loss, played) {
  const replies = new Map();
  let hash = "",
    at = 0;
  const list = h("ol", { class: "turns" });
  of.transcript.forEach((entry) => {
    if (entry.role === "tool") {
      const held = replies.get(entry.tool_call_id) || [];
      held.push(entry);
      replies.set(entry.tool_call_id, held);
    }
  });
  of.transcript.forEach((entry, place) => {
    const trained = loss?.[place] && h("span", { class: "trained" }, "trained on");
    if (entry.role === "tool") return;
    const turn = h(
      "li",
      { class: `turn ${/^[a-z]+$/.test(entry.role) ? entry.role : ""}` },
      h("p", { class: "who" }, entry.role === "assistant" ? "agent" : entry.role, trained && " ", trained),
    );
    if (entry.reasoning) add(turn, [fold("reasoning", () => h("pre", { class: "prose" }, toText(entry.reasoning)))]);
    if (entry.role === "system") add(turn, [fold("instructions", () => h("pre", { class: "prose" }, toText(entry.content)))]);
    else if (entry.role === "wait")
      add(turn, [
        h("p", {}, `${entry.seconds} s went by`),
        json(entry.notifications ?? null),
        played?.[at]?.length > 0 && changes(played[at]),
      ]);
    else if (entry.content)
      add(turn, [h("p", { class: "words", dir: "auto" }, typeof entry.content === "string" ? entry.content : toText(entry.content))]);
    if (entry.role === "wait") {
      at += 1;
      hash = entry.state_hash || hash;
    }
    for (const call of entry.tool_calls || []) {
      const reply = replies.get(call.id)?.shift();
      if ("raw" in call) {
        add(turn, [toolCall(call, reply, false)]);
        continue;
      }
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
  const content = reply?.content,
    failed = content && content.ok === false;
  const body = failed
    ? h("p", { class: "refused" }, h("strong", {}, words(content.error?.code)), " ", quoted(content.error?.message || ""))
    : reply
      ? replyParts(content)
      : h(
          "p",
          { class: "empty" },
          call.raw ? ["Could not be read, so it was never made: ", quoted(toText(call.raw))] : "No reply was recorded.",
        );
  return h(
    "div",
    { class: `tool ${failed ? "failed" : ""}` },
    h(
      "p",
      {},
      callText(call),
      " ",
      failed && h("span", { class: "moved" }, "refused"),
      moved && h("span", { class: "moved" }, "state changed"),
    ),
    change?.length > 0 && changes(change),
    body,
  );
}

function replyParts(content) {
  const parts = Array.isArray(content?.parts) ? content.parts : [{ type: "json", value: content }];
  return parts.map((part) =>
    part.type === "text" ? h("pre", { class: "json", tabindex: "0" }, part.text) : value("value" in part ? part.value : part),
  );
}

const flat = (one) =>
  one && typeof one === "object" && !Array.isArray(one) && Object.values(one).every((each) => each === null || typeof each !== "object");

// Rows as a table, one row as a line, anything else as it is.
function value(one) {
  if (Array.isArray(one) && one.length && one.every(flat)) {
    const keys = [...new Set(one.flatMap((row) => Object.keys(row)))];
    return h(
      "div",
      { class: "reply" },
      table(
        keys.map((key) => column(key, (row) => (key in row ? quoted(toText(row[key])) : "–"))),
        one,
        { most: 20 },
      ),
    );
  }
  const text = JSON.stringify(one, null, flat(one) || JSON.stringify(one).length < 110 ? 0 : 1);
  return h("pre", { class: "json", tabindex: "0" }, flat(one) ? text.replaceAll('":', '": ').replaceAll(',"', ', "') : text);
}

function changes(list) {
  if (!list.length) return h("p", { class: "empty" }, "Nothing changed.");
  const sign = { add: "+", remove: "−", set: "~" };
  return h(
    "ul",
    { class: "changes" },
    list.map((one) =>
      h(
        "li",
        { class: sign[one.op] ? one.op : "" },
        h("b", { "aria-label": one.op }, sign[one.op] || "?"),
        " ",
        h("code", {}, one.path.join(".")),
        " ",
        one.op !== "add" && h("del", {}, JSON.stringify(one.before)),
        one.op === "set" && " → ",
        one.op !== "remove" && h("ins", {}, JSON.stringify(one.after)),
      ),
    ),
  );
}
