// The summary table: sorted by any column, searched by name, some rows at a time.

const ROWS_AT_ONCE = 50;
const tableColumns = [
  {key: "name", head: "name", say: "name"},
  {key: "spark", head: "", say: "distribution", less: true},
  {key: "mean", head: "mean", say: "mean"}, {key: "sd", head: "sd", say: "standard deviation", less: true},
  {key: "q5", head: "5%", say: "5% quantile"}, {key: "q50", head: "50%", say: "median", less: true}, {key: "q95", head: "95%", say: "95% quantile"},
  {key: "mcse", head: "mcse", say: "Monte Carlo standard error of the mean", less: true, first: true},
  {key: "ess_bulk", head: "ess_bulk", say: "effective draws of the centre", less: true}, {key: "ess_tail", head: "ess_tail", say: "effective draws of the tails", less: true},
  {key: "rhat", head: "rhat", say: "R-hat"},
];

/** A small picture of a density, for a row. */
function spark(row) {
  if (!row.density) return "";
  const y = numbers(row.density.y).subarray(0, row.density.n);
  const top = Math.max(...y) || 1;
  let path = "M0 21";
  for (let i = 0; i < y.length; i += 2) path += `L${(91 * i / (y.length - 1)).toFixed(1)} ${(21 - 19 * y[i] / top).toFixed(1)}`;
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  svg.setAttribute("class", "spark");
  svg.setAttribute("viewBox", "0 0 92 22");
  svg.setAttribute("aria-hidden", "true");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "path");
  line.setAttribute("d", path + "L91 21");
  svg.append(line);
  return svg;
}

function addTable() {
  let sort = {key: null, up: true}, words = "", doubtful = false, levels = false, limit = ROWS_AT_ONCE;
  const body = make("tbody");
  const told = make("p", {class: "hint", role: "status", "aria-live": "polite", id: "shown"});
  const more = make("button", {type: "button", class: "more", click: () => { limit = Infinity; fill(); }}, "Show all");
  const isDoubtful = (row) => row.rhat > 1.01 || row.rhat === null || Math.min(row.ess_bulk, row.ess_tail) < 100 * theRun().chains;

  function fill() {
    const run = theRun();
    let rows = run.parameters.map((row, i) => ({row, i}));
    const ofLevels = rows.filter(({row}) => row.level).length;
    if (!levels && !words) rows = rows.filter(({row}) => !row.level);
    const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
    rows = rows.filter(({row}) => wanted.every((word) => row.name.toLowerCase().includes(word)) && (!doubtful || isDoubtful(row)));
    if (sort.key) {
      const value = ({row}) => row[sort.key];
      const collator = new Intl.Collator("en", {numeric: true});
      rows.sort((a, b) => {
        if (sort.key === "name") return (sort.up ? 1 : -1) * collator.compare(value(a), value(b));
        const x = value(a), y = value(b);
        if (!isNumber(x) || !isNumber(y)) return isNumber(y) - isNumber(x);  // what is no number comes last
        return sort.up ? x - y : y - x;
      });
    }
    const shown = rows.slice(0, limit);
    body.replaceChildren(...shown.map(({row, i}) => {
      const decimals = decimalsOf(row), limitOfEss = 100 * run.chains;
      const cells = tableColumns.slice(1).map(({key, less, first}) => {
        const text = key === "spark" ? spark(row) : key === "mcse" ? brief(row.mcse, 2) : key === "rhat" ? fixed(row.rhat, 3)
          : key.startsWith("ess") ? (isNumber(row[key]) ? Math.round(row[key]).toLocaleString("en") : "\u2013") : fixed(row[key], decimals);
        const warn = (key === "rhat" && row.rhat > 1.01) || (key.startsWith("ess") && row[key] < limitOfEss);
        return make("td", {class: [less ? "less" : "", first ? "first" : "", warn ? "warn" : ""].join(" ").trim() || null}, text);
      });
      const name = row.trace ? make("button", {type: "button", class: "name", title: `pictures of ${row.name}`, click: () => choose(i, true)}, row.name)
        : make("span", {}, row.name);
      return make("tr", {class: i === chosen ? "chosen" : null}, make("th", {scope: "row", class: "text"}, name), cells);
    }));
    const hidden = !levels && !words ? ofLevels : 0;
    told.textContent = `${shown.length === rows.length ? "" : `${shown.length} of `}${counted(rows.length, "parameter")}${words ? ` with \u201c${words}\u201d` : ""}${hidden ? `, and ${counted(hidden, "effect")} of groups` : ""}`;
    more.hidden = shown.length === rows.length;
  }

  const heads = tableColumns.map(({key, head, say, less, first}) => {
    const cell = make("th", {scope: "col", class: [less ? "less" : "", first ? "first" : "", key === "name" ? "text" : ""].join(" ").trim() || null});
    if (key === "spark") cell.append(make("span", {class: "hidden"}, say));
    else cell.append(make("button", {type: "button", title: `sort by ${say}`, "data-key": key, click: () => {
      sort = {key, up: sort.key === key ? !sort.up : key === "name" || key.startsWith("ess")};
      for (const other of heads) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", sort.up ? "ascending" : "descending");
      fill();
    }}, head));
    return cell;
  });
  const search = make("input", {type: "search", id: "search", placeholder: "part of a name", autocomplete: "off",
    input: (event) => { words = event.target.value.trim(); limit = ROWS_AT_ONCE; fill(); }});
  const only = make("input", {type: "checkbox", id: "doubtful", change: (event) => { doubtful = event.target.checked; fill(); }});
  const groups = make("input", {type: "checkbox", id: "levels", change: (event) => { levels = event.target.checked; fill(); }});
  const someLevels = report.runs.some((run) => run.shown !== undefined);
  main.append(section("table", "Summary", "What the draws say of each parameter, and how well they know it. A triangle marks an R-hat above 1.01 or fewer than 100 effective draws a chain. A name leads to its pictures.",
    make("div", {class: "controls"}, make("label", {for: "search"}, "Search"), search,
      make("label", {class: "check"}, only, "doubtful ones only"), someLevels ? make("label", {class: "check"}, groups, "effects of groups") : ""),
    make("div", {class: "wide", tabindex: "0", role: "region", "aria-label": "summary table"}, make("table", {id: "summary"}, make("caption", {class: "hidden"}, "Summary of the parameters"), make("thead", {}, make("tr", {}, heads)), body)),
    told, more));
  whenRunChanges.push(() => { limit = ROWS_AT_ONCE; fill(); });
  whenParameterChanges.push(fill);
  fill();
}

/** Vectors and other parameters of like scale, each by its interval. */
function addIntervals() {
  const host = make("div");
  const most = 60;
  function groupsOf(run) {
    const groups = new Map();
    for (const [row] of pictured(run)) {
      if (!isNumber(row.q5) || !isNumber(row.q25)) continue;
      const base = row.level ? row.name.replace(/\[.*$/, "") : /[.\[]\d/.test(row.name) ? row.name.replace(/[.\[]\d.*$/, "") : "";
      if (!groups.has(base)) groups.set(base, []);
      groups.get(base).push(row);
    }
    return [...groups].flatMap(([base, rows]) => {
      if (rows.length < 2) return [];
      return base ? [[base, rows]] : byScale(rows).map((some, k) => [k === 0 ? "single parameters" : "on another scale", some]);
    });
  }
  /** Rows that can share an axis: none of them is lost in the room that all of them take. */
  function byScale(rows) {
    const scales = [], width = (row) => row.q95 - row.q5;
    for (const row of rows.filter((row) => width(row) > 0).sort((a, b) => width(a) - width(b))) {
      const fits = scales.find((scale) => Math.max(scale.high, row.q95) - Math.min(scale.low, row.q5) < 60 * scale.least);
      if (!fits) { scales.push({low: row.q5, high: row.q95, least: width(row), rows: new Set([row])}); continue; }
      fits.low = Math.min(fits.low, row.q5);
      fits.high = Math.max(fits.high, row.q95);
      fits.rows.add(row);
    }
    const inOrder = scales.map((scale) => rows.filter((row) => scale.rows.has(row)));
    return inOrder.sort((a, b) => rows.indexOf(a[0]) - rows.indexOf(b[0]));
  }
  function fill() {
    const run = theRun(), other = report.runs.length === 2 ? report.runs[1 - current] : null;
    const there = other ? new Map(other.parameters.map((row) => [row.name, row])) : null;
    host.replaceChildren(...groupsOf(run).flatMap(([base, rows]) => {
      const shown = rows.slice(0, most);
      const [low, high] = padded(rangeOf(shown.flatMap((row) => [row.q5, row.q95])), 0.03);
      const at = (x) => `${(100 * (x - low) / (high - low)).toFixed(2)}%`;
      const track = (row, kind) => {
        const make_ = (css, left, right) => {
          const bar = make("i", {class: css});
          bar.style.left = at(left);
          if (right !== undefined) bar.style.width = `${(100 * (right - left) / (high - low)).toFixed(2)}%`;
          return bar;
        };
        return make("div", {class: `track ${kind || ""}`, role: "img", "aria-label": `${row.name}: ${brief(row.mean)}, from ${brief(row.q5)} to ${brief(row.q95)}`},
          low < 0 && high > 0 ? make_("zero", 0) : "", make_("q90", row.q5, row.q95), make_("q50", row.q25, row.q75), make_("dot", row.mean));
      };
      const lines = shown.flatMap((row) => [make("div", {class: "label"}, row.name), track(row)].concat(
        there && there.get(row.name) && isNumber(there.get(row.name).q25) ? [make("div", {}), track(there.get(row.name), "other")] : []));
      const axis = make("div", {class: "axis", "aria-hidden": "true"}, niceTicks(low, high).map((tick) => {
        const label = make("span", {}, brief(tick, 6));
        label.style.left = at(tick);
        return label;
      }));
      return [make("h3", {}, base), make("div", {class: "forest"}, lines, make("div", {}), axis),
        shown.length < rows.length ? make("p", {class: "hint"}, `The first ${most} of ${rows.length}.`) : ""];
    }));
    element.hidden = host.children.length === 0;
  }
  const element = section("intervals", "Intervals", "Points are means, thick bars have half of the draws, thin ones nine in ten. Parameters that belong together share one scale.", host,
    report.runs.length === 2 ? legend([["the run that is shown", "c0"], ["the other run", "c1"]]) : "");
  main.append(element);
  whenRunChanges.push(fill);
  fill();
  if (element.hidden) sections.pop();
}
