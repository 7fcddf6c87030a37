// What comes first: what was run, and whether it can be trusted.

const settingWords = {sampler: "sampler", warmup: "warm-up steps", thin: "steps from draw to draw", seed: "seed", metric: "metric",
  target_acceptance: "acceptance aimed at", directions: "directions", temperature: "temperature", until_ess: "until ESS",
  draws: "draws asked for", step_size: "step size", init: "start"};

function plainValue(value) {
  if (value === null || value === undefined) return "";
  if (typeof value === "number") return brief(value, 6);
  if (typeof value === "object") return JSON.stringify(value).replace(/[{}"]/g, "").replace(/:/g, " ").replace(/,/g, ", ");
  return String(value);
}

function modelFacts(run) {
  const facts = [];
  const model = run.run.model || {};
  for (const [field, value] of Object.entries(model)) {
    if (["name", "files", "derived", "state", "frame"].includes(field)) continue;
    const text = plainValue(value);
    if (text && text.length < 300) facts.push([field.replace(/_/g, " "), text]);
  }
  const priors = model.derived && model.derived.priors;
  if (priors && typeof priors === "object") {
    const text = Array.isArray(priors) ? priors.map(plainValue).join("; ") : plainValue(priors);
    if (text.length < 2000) facts.push(["priors", text]);
  }
  return facts;
}

function headline(run) {
  const model = run.run.model || {};
  if (model.formula) return `${model.formula}, ${model.family || "a regression"}`;
  return run.model;
}

function overview(run) {
  const summary = run.summary, settings = run.run.settings || {};
  const judged = run.parameters.slice(0, run.shown ?? run.parameters.length);
  const largest = Math.max(...judged.map((row) => row.rhat ?? NaN).filter(isNumber));
  const least = Math.min(...judged.flatMap((row) => [row.ess_bulk, row.ess_tail]).filter(isNumber));
  const seconds = summary.seconds || {};
  const tiles = [
    [run.parameters.length.toLocaleString("en"), "parameters"],
    [`${run.chains} \u00d7 ${run.draws.toLocaleString("en")}`, "chains \u00d7 draws"],
    [isNumber(largest) ? largest.toFixed(3) : "\u2013", "largest R-hat"],
    [isNumber(least) ? Math.round(least).toLocaleString("en") : "\u2013", "least effective draws"],
    [settings.sampler || summary.sampler || "\u2013", "sampler"],
    [isNumber(seconds.sampling) ? duration((seconds.warmup || 0) + seconds.sampling) : "\u2013", "time in all"],
  ];
  const facts = Object.entries(settingWords).filter(([field]) => settings[field] !== undefined && settings[field] !== null)
    .map(([field, words]) => [words, plainValue(settings[field])]);
  if (run.run.dimension) facts.unshift(["dimension", String(run.run.dimension)]);
  if (run.run.status) facts.push(["status", run.run.status]);
  if (run.run.choice && run.run.choice.pilots)
    facts.push(["pilots", run.run.choice.pilots.map((pilot) => `${pilot.sampler} ${brief(1000 * pilot.ess_per_evaluation, 3)}`).join(", ") + " effective draws per 1,000 evaluations"]);
  if (run.run.onward) facts.push(["version", `onward ${run.run.onward}`]);
  const list = (entries) => make("dl", {class: "facts"}, entries.flatMap(([term, text]) => [make("dt", {}, term), make("dd", {}, text)]));
  const ofModel = modelFacts(run);
  return {
    tiles: make("div", {class: "tiles"}, tiles.map(([value, words]) => make("div", {class: "tile"}, make("b", {}, value), make("span", {}, words)))),
    details: make("details", {}, make("summary", {}, "All settings"), list(facts), ofModel.length ? make("h3", {}, "The model") : "", ofModel.length ? list(ofModel) : ""),
  };
}

/** Options of the program stay whole at the end of a line. */
const withOptions = (text) => text.split(/(--[a-z][a-z-]*(?: (?:\d+|dense))?)/).map((part, i) => (i % 2 ? make("code", {}, part) : part));

function verdictCard(run, id) {
  const verdict = run.verdict;
  return make("section", {class: `card verdict ${verdict.level}`, id, "aria-labelledby": `${id}-heading`},
    make("p", {class: "question"}, "Can I trust this?"), make("h2", {id: `${id}-heading`}, verdict.headline),
    make("ul", {}, verdict.reasons.map((reason) => make("li", {}, withOptions(reason)))));
}

function addHeader() {
  const two = report.runs.length === 2;
  const run = report.runs[0];
  main.append(make("p", {class: "lead"}, two ? "Two runs of one model" : "A run"),
    make("h1", {}, two ? `${report.runs[0].name} and ${report.runs[1].name}` : headline(run)),
    make("p", {class: "lead"}, two ? headline(run) : `${run.name}: ${counted(run.chains, "chain")} of ${counted(run.draws, "draw")}`));
  report.runs.forEach((each, i) => {
    const id = i === 0 ? "verdict" : "verdict-2";
    if (two) main.append(make("h2", {}, each.name));
    main.append(verdictCard(each, id));
    const {tiles, details} = overview(each);
    main.append(tiles, details);
    for (const note of each.notes) main.append(make("p", {class: "note"}, note));
  });
  sections.unshift({id: "verdict", heading: "Verdict"});
  if (report.missing) main.append(make("p", {class: "note"}, `Charts are missing: ${report.missing}.`));
}
