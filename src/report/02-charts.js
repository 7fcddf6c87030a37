// Charts: a thin layer over uPlot that knows the page's colours, draws what comes into view, and redraws when the
// palette or the width changes. Without uPlot a figure keeps its words.

const charts = [];
const hasCharts = typeof uPlot !== "undefined";

const seen = typeof IntersectionObserver === "undefined" ? null : new IntersectionObserver((entries) => {
  for (const entry of entries) if (entry.isIntersecting) entry.target.chart.draw();
}, {rootMargin: "500px"});
const sized = typeof ResizeObserver === "undefined" ? null : new ResizeObserver((entries) => {
  for (const entry of entries) entry.target.chart.fit();
});

/**
 * A figure with a heading, a caption that says how to read it, and a chart that `describe` gives anew each time it is
 * drawn: {x, series: [{label, y, colour, width, dash, fill, points, only, paths}], bands, xLabel, yLabel, xRange, yRange,
 * log, marks: (u) => ..., under: (u) => ..., xValues, label}. `label` is what a screen reader says of it.
 */
function figure(heading, caption, describe, options = {}) {
  const host = make("div", {class: "plot", role: "img"});
  const readout = make("output", {"aria-hidden": "true"});
  const captionElement = make("figcaption", {}, caption || "");
  const element = make("figure", {class: options.full ? "full" : null},
    make("div", {class: "head"}, make("h3", {}, heading), readout), host, captionElement);
  const height = options.height || 220;
  const chart = {
    plot: null,
    drawn: false,
    draw() {
      if (chart.drawn) return;
      chart.drawn = true;
      const what = describe();
      if (what && what.caption) captionElement.textContent = what.caption;
      host.setAttribute("aria-label", (what && what.label) || heading);
      host.replaceChildren();
      host.style.minHeight = hasCharts && what && !what.words ? `${height}px` : "0";
      if (!what || what.words) host.append(make("p", {class: "nochart"}, (what && what.words) || "There is nothing to draw here."));
      else if (!hasCharts) host.append(make("p", {class: "nochart"}, `${heading}: charts need uPlot, which this page was made without.`));
      else chart.plot = plot(host, what, height, readout);
    },
    redraw() {
      if (chart.plot) chart.plot.destroy();
      chart.plot = null;
      const was = chart.drawn;
      chart.drawn = false;
      if (was) chart.draw();
    },
    fit(width) {
      if (!chart.plot) return;
      const now = width || host.clientWidth;
      if (now > 0 && Math.abs(now - chart.plot.width) > 1) chart.plot.setSize({width: now, height});
    },
  };
  host.chart = chart;
  host.style.minHeight = `${height}px`;
  charts.push(chart);
  if (seen) { seen.observe(host); if (sized) sized.observe(host); } else setTimeout(chart.draw);
  chart.element = element;
  return chart;
}

const font = (size) => `${size}px system-ui, "Segoe UI", Roboto, "DejaVu Sans", sans-serif`;

function plot(host, what, height, readout) {
  const axis = (label, more) => ({
    stroke: colour("muted"), font: font(11.5), labelFont: font(12), label, labelSize: label ? 18 : 0, labelGap: 0, gap: 4,
    grid: {stroke: colour("grid"), width: 1}, ticks: {stroke: colour("grid"), width: 1, size: 4},
    values: (u, ticks) => ticks.map((tick) => (tick === null ? "" : brief(tick, 6))), ...more,
  });
  const yWidth = (u, values) => Math.max(34, 12 + 7 * Math.max(0, ...(values || []).map((value) => value.length)));
  const series = [{}].concat(what.series.map((s) => ({
    label: s.label || "", stroke: s.colour, width: s.width ?? 1.4, dash: s.dash, fill: s.fill, spanGaps: false,
    scale: "y", points: {show: Boolean(s.points || s.only), size: s.points || 4, fill: s.pointFill || s.colour, stroke: s.colour, width: s.pointWidth ?? 0},
    paths: s.only ? () => null : s.paths || undefined,
  })));
  const range = (wanted) => (wanted ? () => wanted : undefined);
  const plotted = new uPlot({
    width: Math.max(host.clientWidth, 200), height, series, bands: what.bands, legend: {show: false},
    cursor: {points: {show: false}, drag: {x: true, y: false}, y: false},
    scales: {x: {time: false, range: range(what.xRange)}, y: {distr: what.log ? 3 : 1, range: range(what.yRange)}},
    axes: [axis(what.xLabel, {size: 30, space: 60, ...(what.xSplits ? {splits: () => what.xSplits} : {}),
      ...(what.xValues ? {values: (u, ticks) => ticks.map(what.xValues)} : {})}),
      axis(what.yLabel, {size: yWidth, space: 34, ...(what.yHidden ? {values: (u, t) => t.map(() => ""), size: 12} : {})})],
    hooks: {
      drawClear: what.under ? [what.under] : [],
      draw: what.marks ? [what.marks] : [],
      setCursor: [(u) => {
        const i = u.cursor.idx;
        if (i === null || i === undefined || !(u.cursor.left >= 0)) { readout.textContent = ""; return; }
        const x = u.data[0][i];
        const values = what.series.map((s, k) => [s, u.data[k + 1][i]]).filter(([s, y]) => s.label && isNumber(y)).slice(0, 4);
        readout.textContent = [what.xValues ? what.xValues(x) : brief(x)].concat(values.map(([s, y]) => `${s.label} ${brief(y, 3)}`)).join(" \u00b7 ");
      }],
    },
  }, [what.x, ...what.series.map((s) => s.y)], host);
  for (const canvas of host.querySelectorAll("canvas")) canvas.setAttribute("aria-hidden", "true");
  return plotted;
}

/** Lines across a chart, for `marks` and `under`: at x, or at y. */
function lineAt(u, {x, y, colour: ink, width = 1.5, dash = []}) {
  const {ctx, bbox} = u;
  ctx.save();
  ctx.beginPath();
  ctx.strokeStyle = ink;
  ctx.lineWidth = width * devicePixelRatio;
  ctx.setLineDash(dash.map((d) => d * devicePixelRatio));
  if (x !== undefined) {
    const at = u.valToPos(x, "x", true);
    if (at >= bbox.left - 1 && at <= bbox.left + bbox.width + 1) { ctx.moveTo(at, bbox.top); ctx.lineTo(at, bbox.top + bbox.height); }
  } else {
    const at = u.valToPos(y, "y", true);
    if (at >= bbox.top - 1 && at <= bbox.top + bbox.height + 1) { ctx.moveTo(bbox.left, at); ctx.lineTo(bbox.left + bbox.width, at); }
  }
  ctx.stroke();
  ctx.restore();
}

/** A vertical bar from one value to another, at x: intervals of points. */
function stem(u, x, low, high, ink, width = 2) {
  const {ctx} = u;
  ctx.save();
  ctx.beginPath();
  ctx.strokeStyle = ink;
  ctx.lineWidth = width * devicePixelRatio;
  const at = u.valToPos(x, "x", true);
  ctx.moveTo(at, u.valToPos(low, "y", true));
  ctx.lineTo(at, u.valToPos(high, "y", true));
  ctx.stroke();
  ctx.restore();
}

/** Small triangles at places, over what is drawn there. */
function triangles(u, xs, ys, ink) {
  const {ctx} = u, size = 4.5 * devicePixelRatio;
  ctx.save();
  ctx.fillStyle = ink;
  xs.forEach((x, i) => {
    if (!isNumber(x) || !isNumber(ys[i])) return;
    const at = u.valToPos(x, "x", true), from = u.valToPos(ys[i], "y", true);
    ctx.beginPath();
    ctx.moveTo(at, from - size);
    ctx.lineTo(at + size, from + 0.8 * size);
    ctx.lineTo(at - size, from + 0.8 * size);
    ctx.fill();
  });
  ctx.restore();
}

const rangeOf = (...lists) => {
  let low = Infinity, high = -Infinity;
  for (const list of lists) for (const value of list) if (isNumber(value)) { low = Math.min(low, value); high = Math.max(high, value); }
  return low <= high ? [low, high] : [0, 1];
};
const padded = ([low, high], share = 0.05) => {
  const room = (high - low || Math.abs(high) || 1) * share;
  return [low - room, high + room];
};
const count = (n, begin = 0, step = 1) => Array.from({length: n}, (_, i) => begin + i * step);
const bars = (size = 0.9) => (hasCharts ? uPlot.paths.bars({size: [size, 100], align: 0}) : undefined);
const stepped = () => (hasCharts ? uPlot.paths.stepped({align: 1}) : undefined);

/** The palette: the system's unless the reader has chosen. Charts are drawn anew in it. */
const systemDark = typeof matchMedia === "undefined" ? {matches: false} : matchMedia("(prefers-color-scheme: dark)");
let theme = "system";
const darkNow = () => (theme === "system" ? systemDark.matches : theme === "dark");
function applyTheme(dark = darkNow()) {
  const word = dark ? "dark" : "light";
  if (document.documentElement.dataset.theme === word) return;
  document.documentElement.dataset.theme = word;
  for (const chart of charts) chart.redraw();
}
if (systemDark.addEventListener) systemDark.addEventListener("change", () => applyTheme());

// On paper everything is there, in light colours and as wide as a page.
window.addEventListener("beforeprint", () => {
  applyTheme(false);
  for (const chart of charts) {
    chart.draw();
    const half = !chart.element.classList.contains("full"), third = chart.element.parentNode.classList.contains("three");
    chart.fit(third ? 230 : half ? 345 : 710);
  }
});
window.addEventListener("afterprint", () => { applyTheme(); for (const chart of charts) chart.fit(); });
