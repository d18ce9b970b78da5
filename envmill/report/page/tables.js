// Tables, bars and notes that every view is made of.
"use strict";

// columns: [{ head, cell(row), number?, wide?, title? }]
function table(columns, data, { caption, empty = "Nothing of the kind.", most = Infinity } = {}) {
  if (!data.length) return h("p", { class: "empty" }, empty);
  const body = h("tbody");
  const fill = (from, to) =>
    add(
      body,
      data.slice(from, to).map((row) =>
        h(
          "tr",
          {},
          columns.map((one) => cell(one, row)),
        ),
      ),
    );
  fill(0, most);
  const whole = h(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption || "Table" },
    h("table", {}, caption && h("caption", {}, caption), h("thead", {}, h("tr", {}, columns.map(head))), body),
  );
  if (data.length <= most) return whole;
  const more = h(
    "button",
    {
      type: "button",
      onclick: () => {
        fill(most, Infinity);
        more.remove();
      },
    },
    `Show the other ${count(data.length - most)}`,
  );
  return h("div", {}, whole, more);
}

const kindOf = (one) => [one.number && "number", one.wide && "wide"].filter(Boolean).join(" ") || null;
const head = (one) => h("th", { scope: "col", class: kindOf(one), title: one.title }, one.head);
const cell = (one, row) => h("td", { class: kindOf(one) }, one.cell(row));

const column = (label, cellOf, more = {}) => ({ head: label, cell: cellOf, ...more });
const figure = (label, cellOf, more = {}) => ({ head: label, cell: cellOf, number: true, ...more });

// A part of a whole as a line one can compare, beside its number.
function bar(part, whole, kind = "") {
  const width = whole ? Math.max(part ? 1 : 0, (100 * part) / whole) : 0;
  const line = h("span", { class: "bar", "aria-hidden": "true" }, h("b", { class: kind }));
  line.firstChild.style.width = `${width}%`;
  return line;
}

function section(id, title, about, ...content) {
  return h(
    "section",
    { id, "aria-labelledby": `${id}-title` },
    h("h2", { id: `${id}-title`, tabindex: "-1" }, title),
    about && h("p", { class: "about" }, about),
    content,
  );
}

const fold = (title, content, open = false) => {
  const held = h("details", open ? { open: true } : {}, h("summary", {}, title));
  const fill = () => {
    if (!held.dataset.filled) {
      held.dataset.filled = "1";
      add(held, [content()]);
    }
  };
  if (open) fill();
  held.addEventListener("toggle", fill);
  return held;
};

function facts(pairs) {
  return h(
    "dl",
    { class: "facts" },
    pairs
      .filter(([, value]) => value != null && value !== "" && value !== false)
      .map(([term, value]) => [h("dt", {}, term), h("dd", {}, value)]),
  );
}
