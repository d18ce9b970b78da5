// The graph of an environment's tools: which gives what another takes, drawn once and without a library.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 1000;
const HIGH = 620;
const MARGIN = 60;

function shape(name, attributes, ...children) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  add(element, children);
  return element;
}

// Nothing where an environment has fewer than two tools; words where there are too many.
function graphSection(found) {
  const of = found.graph && found.graph[0];
  if (!of || of.count < 2) return null;
  const told = of.tools.length
    ? `An arrow leads from a tool to one that takes what it gives: thick where nothing else gives it. ${plural(of.bound, "looser tie")} ` +
      "left out."
    : `${plural(of.count, "tool")}: too many to draw.`;
  return section("graph", "Graph of tools", told, of.tools.length ? drawGraph(of) : null);
}

function drawGraph(of) {
  const at = (one) => [MARGIN + one.x * (WIDE - 2 * MARGIN), MARGIN / 2 + one.y * (HIGH - MARGIN)];
  const arrow = shape(
    "marker",
    { id: "arrow", viewBox: "0 0 8 8", refX: 8, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto", markerUnits: "userSpaceOnUse" },
    shape("path", { d: "M0 0L8 4L0 8z", class: "tip" }),
  );
  const edges = of.edges.map(([first, then, label, given]) => {
    const [from, to] = [at(of.tools[first]), at(of.tools[then])];
    const length = Math.hypot(to[0] - from[0], to[1] - from[1]) || 1;
    const end = to.map((value, axis) => value - ((to[axis] - from[axis]) / length) * 9);
    const words = `${of.tools[first].name} → ${of.tools[then].name}${given ? `: ${given}` : ""}`;
    return shape(
      "line",
      { x1: from[0], y1: from[1], x2: end[0], y2: end[1], class: `edge ${label}`, "marker-end": "url(#arrow)" },
      shape("title", {}, words),
    );
  });
  const tools = of.tools.map((one) => {
    const [x, y] = at(one);
    return shape(
      "g",
      { class: `node ${one.effect === "change" ? "change" : "query"}` },
      shape("circle", { cx: x, cy: y, r: 7 }),
      shape("text", { x, y: y - 11, "text-anchor": "middle" }, one.name),
    );
  });
  const words = `${plural(of.tools.length, "tool")}, ${plural(of.edges.length, "arrow")}`;
  return h(
    "figure",
    { class: "graph-figure" },
    shape("svg", { class: "graph", viewBox: `0 0 ${WIDE} ${HIGH}`, role: "img", "aria-label": words }, shape("defs", {}, arrow), edges, tools),
    h("figcaption", {}, `${words}. Filled: changes something; hollow: only reads.`),
  );
}
