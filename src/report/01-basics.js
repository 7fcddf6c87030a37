// What everything else uses: the data, elements, numbers in words, colours.

const report = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("page");

/** A base64 text of 32-bit floats as numbers. */
function numbers(text) {
  if (!text) return new Float32Array(0);
  const binary = atob(text);
  const bytes = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; ++i) bytes[i] = binary.charCodeAt(i);
  return new Float32Array(bytes.buffer);
}

/** An element: make("p", {class: "hint"}, "text", child, ...). Functions among the attributes are listeners. */
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (typeof value === "function") element.addEventListener(name, value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat()) if (child !== null && child !== undefined && child !== "") element.append(child);
  return element;
}

const isNumber = (x) => typeof x === "number" && isFinite(x);

/** Few digits, as a person would write them. */
function brief(x, digits = 4) {
  if (!isNumber(x)) return "\u2013";
  if (x === 0) return "0";
  const size = Math.abs(x);
  const text = size >= 1e6 || size < 1e-4 ? x.toExponential(Math.max(0, digits - 2)) : String(Number(x.toPrecision(digits)));
  return text.replace("-", "\u2212");
}

function fixed(x, decimals) {
  if (!isNumber(x)) return "\u2013";
  if (Math.abs(x) >= 1e7 || decimals > 8) return brief(x);
  const text = x.toFixed(Math.max(0, decimals));
  return /[1-9]/.test(text) ? text.replace("-", "\u2212") : text.replace("-", "");  // no minus before 0
}

/** Decimals that a row's Monte Carlo error leaves certain, but two digits of its sd at least. */
function decimalsOf(row) {
  const place = (x) => -Math.floor(Math.log10(x));
  const spread = row.sd > 0 ? row.sd : Math.abs(row.mean);
  if (!(spread > 0)) return 2;
  return row.mcse > 0 ? Math.max(place(spread) + 1, place(row.mcse)) : place(spread) + 2;
}

const counted = (n, word) => `${n.toLocaleString("en")} ${word}${n === 1 ? "" : "s"}`;

function duration(seconds) {
  if (!isNumber(seconds)) return "\u2013";
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 100) return `${brief(seconds, 2)} s`;
  const minutes = Math.floor(seconds / 60);
  return minutes < 100 ? `${minutes} min ${Math.round(seconds % 60)} s` : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** A colour of the page's palette as it is now, perhaps seen through. */
function colour(name, opacity = 1) {
  const text = getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
  if (opacity === 1 || !text.startsWith("#")) return text;
  const part = (i) => parseInt(text.slice(i, i + 2), 16);
  return `rgba(${part(1)}, ${part(3)}, ${part(5)}, ${opacity})`;
}
const chainColour = (i, opacity) => colour(`c${i % 8}`, opacity);

/** A section with its heading, known to the navigation. */
const sections = [];
function section(id, heading, hint, ...children) {
  const element = make("section", {class: "card", id, "aria-labelledby": `${id}-heading`},
    make("h2", {id: `${id}-heading`}, heading), hint ? make("p", {class: "hint"}, hint) : "", ...children);
  sections.push({id, heading, element});
  return element;
}

function legend(entries) {
  return make("ul", {class: "legend"}, entries.map(([name, style]) => {
    const chip = make("i", {"aria-hidden": "true"});
    chip.style.background = `var(--${style})`;
    return make("li", {}, chip, name);
  }));
}
const chainLegend = (run) =>
  run.chains > 1 && run.chains <= 8 ? legend(Array.from({length: run.chains}, (_, c) => [`chain ${c + 1}`, `c${c}`])) : "";

/** Four to eight round numbers between two others. */
function niceTicks(low, high) {
  const raw = (high - low) / 5, power = 10 ** Math.floor(Math.log10(raw));
  const step = power * [1, 2, 5, 10].find((factor) => factor * power >= raw);
  const ticks = [];
  for (let i = Math.ceil(low / step); i * step <= high; ++i) ticks.push(Number((i * step).toPrecision(12)));
  return ticks;
}

const dataTable = (caption, heads, rows, narrow) => make("div", {class: "wide"}, make("table", {class: narrow ? "narrow" : null},
  caption ? make("caption", {}, caption) : "",
  make("thead", {}, make("tr", {}, heads.map((head, i) => make("th", {scope: "col", class: i === 0 ? "text" : null}, head)))),
  make("tbody", {}, rows.map((row) => make("tr", {}, row.map((cell, i) =>
    i === 0 ? make("th", {scope: "row", class: "text"}, cell) : make("td", {class: typeof cell === "string" && cell.length > 24 ? "text" : null}, cell)))))));

/** The run whose pictures are shown; the page has one or two. */
let current = 0;
const theRun = () => report.runs[current];
const whenRunChanges = [];
const whenParameterChanges = [];
let chosen = 0;
function choose(index, scroll) {
  chosen = index;
  for (const listener of whenParameterChanges) listener();
  if (scroll) document.getElementById("parameter").scrollIntoView();
}
/** Those parameters that have pictures. */
const pictured = (run) => run.parameters.map((row, i) => [row, i]).filter(([row]) => row.trace);
