// Data beside the page: scripts that call `receive`, each loaded once, when something of it is wanted.
"use strict";

const arrived = new Map();
const asked = new Map();

function receive(key, packed) {
  arrived.set(key, packed);
}

function load(key) {
  if (!asked.has(key))
    asked.set(
      key,
      fetchScript(`data/${key}.js`).then(() => unpack(key)),
    );
  return asked.get(key);
}

function fetchScript(path) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    script.src = path;
    script.onload = resolve;
    script.onerror = () => reject(new Error(`${path} is missing from the report's folder: write the report again.`));
    document.head.append(script);
  });
}

async function unpack(key) {
  const bytes = Uint8Array.from(atob(arrived.get(key)), (character) => character.charCodeAt(0));
  arrived.delete(key);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return JSON.parse(await new Response(stream).text());
}

// A list: `at(row, column)` without an object per row, since there may be a million.
async function loadList(key) {
  const packed = await load(key);
  const columns = {};
  for (const [column, held] of Object.entries(packed.columns)) {
    columns[column] = Array.isArray(held)
      ? { of: held, at: (row) => held[row] }
      : { of: held.of, is: held.is, at: (row) => held.of[held.is[row]] };
  }
  return { count: packed.count, columns, at: (row, column) => columns[column].at(row) };
}

async function loadThing(id) {
  const part = await load(`records-${crc32(new TextEncoder().encode(id)) % OVERVIEW.parts}`);
  return Object.hasOwn(part, id) ? part[id] : null;
}

const CRC = Uint32Array.from({ length: 256 }, (_, number) => {
  for (let bit = 0; bit < 8; bit += 1) number = number & 1 ? 0xedb88320 ^ (number >>> 1) : number >>> 1;
  return number >>> 0;
});

function crc32(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) sum = CRC[(sum ^ byte) & 255] ^ (sum >>> 8);
  return (sum ^ 0xffffffff) >>> 0;
}
