// Elements and texts. What comes from a run is text, never markup: nothing here or elsewhere parses HTML.
"use strict";

// Characters that reorder or hide what stands beside them are named instead of obeyed.
const UNSEEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\uffff]/;

function h(name, attributes, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes || {})) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else if (value === true) element.setAttribute(key, "");
    else if (value !== false && value != null) element.setAttribute(key, value);
  }
  add(element, children);
  return element;
}

function add(element, children) {
  for (const child of [children].flat(Infinity)) {
    if (child == null || child === false) continue;
    element.append(child instanceof Node ? child : said(String(child)));
  }
}

// A text as it is, with what cannot be seen made visible.
function said(text) {
  if (!UNSEEN.test(text)) return document.createTextNode(text);
  const whole = document.createDocumentFragment();
  for (const part of text.split(new RegExp(`(${UNSEEN.source})`))) {
    if (UNSEEN.test(part)) whole.append(h("span", { class: "unseen", title: "a character that cannot be seen" }, codePoint(part)));
    else if (part) whole.append(document.createTextNode(part));
  }
  return whole;
}

const codePoint = (character) => `U+${character.codePointAt(0).toString(16).toUpperCase().padStart(4, "0")}`;

// A text somebody or some model wrote: isolated, so that its direction stays its own.
const quoted = (text, kind = "") => h("span", { class: `quoted ${kind}`, dir: "auto" }, text);

const count = (value) => (value == null ? "–" : Number(value).toLocaleString("en", { maximumFractionDigits: 0 }));
const share = (part, whole) =>
  whole ? `${((100 * part) / whole).toLocaleString("en", { maximumFractionDigits: part && part / whole < 0.1 ? 1 : 0 })} %` : "–";
const rate = (value) => (value == null ? "–" : value.toFixed(2));
const words = (code) => String(code ?? "").replaceAll("_", " ");
const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

// Money is in the currency of the price file; a sum with an unknown part is unknown.
function money(cost, unpriced) {
  if (unpriced || cost == null) return "unknown";
  return cost === 0 ? "0" : cost >= 100 ? count(cost) : Number(cost.toPrecision(3)).toString();
}

function time(seconds) {
  if (seconds == null) return "–";
  if (seconds < 120) return `${seconds < 10 ? seconds.toFixed(1) : Math.round(seconds)} s`;
  return seconds < 7200 ? `${Math.round(seconds / 60)} min` : `${(seconds / 3600).toFixed(1)} h`;
}

const when = (iso) => (iso ? `${iso.slice(0, 10)} ${iso.slice(11, 16)} UTC` : "–");

// What became of something: a word and a sign, so that no colour has to be known.
const SIGNS = { kept: "✓", pass: "✓", dropped: "✕", fail: "✕", error: "!", not_measured: "?", suspected: "?", observed: "✕", cleared: "✓", corrected: "✓", not_applicable: "–" };
const SPOKEN = { not_measured: "not measured", not_applicable: "does not apply" };
function outcome(code) {
  if (!code) return h("span", { class: "outcome waiting" }, h("i", { "aria-hidden": "true" }, "…"), "on its way");
  return h(
    "span",
    { class: `outcome ${/^[a-z_]+$/.test(code) ? code : ""}` },
    h("i", { "aria-hidden": "true" }, SIGNS[code] || "·"),
    SPOKEN[code] || code,
  );
}

const link = (to, ...children) => h("a", { href: to }, ...children);
const thing = (id, ...children) => link(`#/thing/${encodeURIComponent(id)}`, ...(children.length ? children : [h("code", {}, id)]));

// A number, and the rows behind it.
function rows(number, list, query = {}) {
  if (!number) return h("span", { class: "none" }, number === 0 ? "0" : "–");
  const wanted = new URLSearchParams(Object.entries(query).filter(([, value]) => value !== undefined));
  return link(`#/${list}${wanted.size ? `?${wanted}` : ""}`, count(number));
}

function json(value) {
  return h("pre", { class: "json", tabindex: "0" }, JSON.stringify(value, null, 2));
}

// Short values on a line, long ones as they are.
function toText(value) {
  if (typeof value === "string") return value;
  return JSON.stringify(value) ?? "–";
}
