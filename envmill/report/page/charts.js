// Charts, drawn by Plotly once the page stands. Each says what a table beside it says too.
"use strict";

let plotly = null;
const loadPlotly = () => (plotly ||= fetchScript("plotly.min.js"));
const tone = (key) => getComputedStyle(document.documentElement).getPropertyValue(key).trim();

async function drawCharts(root) {
  const places = [...root.querySelectorAll("[data-chart]")];
  if (!places.length) return;
  await loadPlotly();
  for (const place of places) if (place.isConnected) await CHARTS[place.dataset.chart](place);
}

function draw(place, data, layout, onclick) {
  const font = { family: getComputedStyle(document.body).fontFamily, size: 12.5, color: tone("--ink") };
  const axis = { gridcolor: tone("--line"), zerolinecolor: tone("--line"), linecolor: tone("--line"), automargin: true, fixedrange: true };
  const full = {
    font,
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    margin: { l: 8, r: 8, t: 8, b: 8 },
    showlegend: false,
    dragmode: false,
    hoverlabel: { bgcolor: tone("--raised"), bordercolor: tone("--line"), font },
    ...layout,
  };
  for (const key of ["xaxis", "yaxis"]) if (layout[key]) full[key] = { ...axis, ...layout[key] };
  return Plotly.react(place, data, full, { displayModeBar: false, responsive: true }).then(() => {
    place.removeAllListeners?.("plotly_click");
    if (onclick) place.on("plotly_click", onclick);
  });
}

// Plotly reads a little markup in its labels; what a run says is spelled so that none is left.
const plain = (text) =>
  [...String(text)]
    .map((one) => (UNSEEN.test(one) ? codePoint(one) : one))
    .join("")
    .replace(/&/g, "&amp;")
    .replace(/</g, "&lt;")
    .replace(/>/g, "&gt;");
const none = (place, text) => place.replaceChildren(h("p", { class: "empty" }, text));

function fateLabel(one, stage, narrow) {
  const sign = one.outcome === "error" ? "! " : "",
    gate = one.gate && one.gate !== stage ? `${one.gate} ` : "";
  return `${sign}${gate}${narrow ? "" : `${plain(words(one.reason))}  `}${count(one.subjects)}`;
}

function flow(lap) {
  return (place) => {
    const steps = OVERVIEW.funnel.filter((one) => one.lap === lap && one.stage !== "export");
    if (!steps.length) return none(place, `No candidate has entered the ${lap} lap yet.`);
    const nodes = [],
      links = [],
      narrow = place.clientWidth < 620;
    const bar = tone(narrow ? "--accent-soft" : "--accent"); // on a narrow screen the labels stand on the bars
    const node = (label, color, to) => nodes.push({ label, color, to }) - 1;
    const join = (source, target, value, color) => value > 0 && links.push({ source, target, value, color });
    const at = steps.map((one) => node(`${one.stage}  ${count(one.entered)}`, bar, { lap, stage: one.stage }));
    steps.forEach((one, number) => {
      const by = { lap, stage: one.stage };
      const dead = OVERVIEW.failures.filter((each) => each.lap === lap && each.stage === one.stage),
        shown = dead.slice(0, 5),
        rest = sum(dead.slice(5), (each) => each.subjects);
      for (const each of shown)
        join(
          at[number],
          node(fateLabel(each, one.stage, narrow), tone(each.outcome === "error" ? "--error" : "--dropped"), {
            ...by,
            outcome: each.outcome,
            reason: each.reason,
          }),
          each.subjects,
          tone(each.outcome === "error" ? "--error-soft" : "--dropped-soft"),
        );
      if (rest)
        join(
          at[number],
          node(`${dead.length - 5} more reasons  ${count(rest)}`, tone("--dropped"), { ...by }),
          rest,
          tone("--dropped-soft"),
        );
      const next = steps[number + 1];
      if (!next) join(at[number], node(`kept  ${count(one.kept)}`, bar, { ...by, outcome: "kept" }), one.kept, tone("--accent-soft"));
      else {
        join(at[number], at[number + 1], Math.min(one.kept, next.entered), tone("--accent-soft"));
        if (one.kept > next.entered)
          join(
            at[number],
            node(`on its way  ${count(one.kept - next.entered)}`, tone("--faint"), { ...by, outcome: "kept" }),
            one.kept - next.entered,
            tone("--line"),
          );
      }
    });
    place.style.height = `${narrow ? 420 : 120 + 34 * (nodes.length - steps.length - 1)}px`;
    return draw(
      place,
      [
        {
          type: "sankey",
          orientation: narrow ? "v" : "h",
          arrangement: "snap",
          node: {
            label: nodes.map((one) => one.label),
            color: nodes.map((one) => one.color),
            pad: narrow ? 30 : 16,
            thickness: narrow ? 22 : 10,
            line: { width: 0 },
            hovertemplate: "%{label}<extra></extra>",
          },
          link: {
            source: links.map((one) => one.source),
            target: links.map((one) => one.target),
            value: links.map((one) => one.value),
            color: links.map((one) => one.color),
            hovertemplate: "%{value}<extra></extra>",
          },
        },
      ],
      {},
      ({ points: [point] }) => {
        const one =
          nodes[point.index ?? point.pointNumber] && point.source === undefined
            ? nodes[point.index ?? point.pointNumber]
            : nodes[point.target?.index ?? point.target];
        if (one) location.hash = `#/candidates?${new URLSearchParams(one.to)}`;
      },
    );
  };
}

function passThemes(place) {
  const found = OVERVIEW.pass_rate.filter((one) => one.rollout_group === "probe");
  const themes = [...new Set(found.map((one) => one.theme))];
  if (!themes.length) return none(place, "No scenario was probed.");
  const lines = themes
    .map((theme) => {
      const own = found.filter((one) => one.theme === theme),
        judged = sum(own, (one) => one.attempts - one.errors),
        passed = sum(own, (one) => one.passed);
      return { theme, judged, passed, ...wilson(passed, judged) };
    })
    .filter((one) => one.judged)
    .sort((one, other) => other.mean - one.mean)
    .slice(0, 40);
  place.style.height = `${60 + 22 * lines.length}px`;
  return draw(
    place,
    [
      {
        type: "scatter",
        mode: "markers",
        y: lines.map((one) => plain(words(one.theme))),
        x: lines.map((one) => one.mean),
        error_x: {
          type: "data",
          symmetric: false,
          array: lines.map((one) => one.high - one.mean),
          arrayminus: lines.map((one) => one.mean - one.low),
          color: tone("--faint"),
          thickness: 1.2,
          width: 0,
        },
        marker: { color: tone("--accent"), size: 8 },
        customdata: lines.map((one) => [one.passed, one.judged]),
        hovertemplate: "%{y}: %{customdata[0]} of %{customdata[1]} pass<extra></extra>",
      },
    ],
    { xaxis: { range: [-0.02, 1.02], tickformat: ".1f" }, yaxis: { autorange: "reversed" } },
    ({ points: [point] }) => {
      location.hash = `#/attempts?${new URLSearchParams({ rollout_group: "probe", theme: lines[point.pointNumber].theme })}`;
    },
  );
}

function wilson(passed, judged) {
  if (!judged) return { mean: null, low: null, high: null };
  const z = 1.959964,
    mean = passed / judged,
    middle = (mean + (z * z) / (2 * judged)) / (1 + (z * z) / judged),
    half = (z * Math.sqrt((mean * (1 - mean)) / judged + (z * z) / (4 * judged * judged))) / (1 + (z * z) / judged);
  return { mean, low: Math.min(mean, middle - half), high: Math.max(mean, middle + half) };
}

function difficulty(place) {
  const probes = new Set(OVERVIEW.pass_rate.filter((one) => one.rollout_group === "probe").map((one) => one.policy)),
    found = OVERVIEW.difficulty.filter((one) => probes.has(one.policy));
  if (!found.length) return none(place, "No scenario was probed and judged.");
  const tenths = [...Array(10).keys()],
    number = (tenth) =>
      sum(
        found.filter((one) => one.tenth === tenth),
        (one) => one.scenarios,
      );
  place.style.height = "280px";
  return draw(
    place,
    [
      {
        type: "bar",
        x: tenths.map((tenth) => `${tenth / 10}–${(tenth + 1) / 10}`),
        y: tenths.map(number),
        marker: { color: tone("--accent") },
        text: tenths.map((tenth) => number(tenth) || ""),
        textposition: "outside",
        cliponaxis: false,
        hovertemplate: "p̂ %{x}: %{y} scenarios<extra></extra>",
      },
    ],
    { margin: { l: 8, r: 8, t: 22, b: 8 }, xaxis: { title: { text: "p̂" } }, yaxis: { title: { text: "scenarios" } }, bargap: 0.15 },
  );
}

function lengths(place) {
  const found = OVERVIEW.lengths.filter((one) => one.calls != null);
  if (!found.length) return none(place, "No scenario was kept.");
  place.style.height = "320px";
  return draw(
    place,
    [
      {
        type: "bar",
        x: found.map((one) => one.calls),
        y: found.map((one) => one.scenarios),
        marker: { color: tone("--accent") },
        hovertemplate: "%{x} calls: %{y} scenarios<extra></extra>",
      },
    ],
    { xaxis: { title: { text: "tool calls" }, dtick: 2 }, yaxis: { title: { text: "scenarios" } }, bargap: 0.15 },
  );
}

async function map(place) {
  const [points, list] = [await load("map"), await loadList("environments")];
  if (!points.length) return none(place, "No environment was built.");
  const lines = points.map((one, row) => ({
    ...one,
    name: list.at(row, "name"),
    theme: list.at(row, "theme"),
    kept: list.at(row, "kept"),
    outcome: list.at(row, "outcome"),
  }));
  const tell = (one) =>
    `${plain(one.name)}<br>${plain(words(one.theme))}, ${one.kept ? "kept" : one.outcome || "on its way"}${one.near == null ? "" : `<br>nearest: ${plain(lines[one.near].name)}, ${share(one.alike, 1)} alike`}`;
  const trace = (part, color, symbol, label) => ({
    type: "scatter",
    mode: lines.length <= 24 ? "markers+text" : "markers",
    name: label,
    x: part.map((one) => one.x),
    y: part.map((one) => one.y),
    text: part.map((one) => plain(words(one.theme))),
    textposition: "top center",
    textfont: { size: 10.5, color: tone("--soft") },
    hovertext: part.map(tell),
    hoverinfo: "text",
    marker: { color, symbol, size: lines.length > 500 ? 5 : 9, opacity: 0.85 },
    customdata: part.map((one) => one.id),
    cliponaxis: false,
  });
  place.style.height = "320px";
  return draw(
    place,
    [
      trace(
        lines.filter((one) => one.kept),
        tone("--accent"),
        "circle",
        "kept",
      ),
      trace(
        lines.filter((one) => !one.kept),
        tone("--dropped"),
        "x-thin-open",
        "not kept",
      ),
    ],
    {
      showlegend: true,
      legend: { orientation: "h", y: -0.05 },
      xaxis: { showticklabels: false, zeroline: false, showgrid: false },
      yaxis: { showticklabels: false, zeroline: false, showgrid: false },
      margin: { l: 30, r: 30, t: 24, b: 8 },
    },
    ({ points: [point] }) => {
      location.hash = `#/thing/${encodeURIComponent(point.customdata)}`;
    },
  );
}

const CHARTS = {
  "flow-environments": flow("environments"),
  "flow-scenarios": flow("scenarios"),
  "pass-themes": passThemes,
  difficulty,
  lengths,
  map,
};
