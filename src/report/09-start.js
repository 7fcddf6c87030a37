// Puts the page together.

document.documentElement.dataset.theme = darkNow() ? "dark" : "light";
const hasDraws = report.runs.every((run) => run.parameters.length > 0);
if (hasDraws) chosen = worst(theRun());
addHeader();
addComparison();
if (hasDraws) { addTable(); addIntervals(); }
addModel();
if (hasDraws) { addParameter(); addPairs(); }
addSampler();
addRunSwitch();

const themeButton = make("button", {type: "button", id: "theme", click: () => {
  theme = darkNow() ? "light" : "dark";
  applyTheme();
  sayTheme();
}});
function sayTheme() {
  themeButton.textContent = darkNow() ? "Light" : "Dark";
  themeButton.setAttribute("aria-label", `switch to ${darkNow() ? "light" : "dark"} colours`);
}
sayTheme();
document.getElementById("tools").append(themeButton);
document.getElementById("sections").append(...sections.map(({id, heading}) => make("a", {href: `#${id}`}, heading)));
document.getElementById("foot").append(
  make("p", {}, `Made by onward ${report.onward}. ${hasDraws ? `Traces are thinned to what a screen can show and pairs to ${counted(theRun().joint * theRun().chains, "draw")}; figures and tables come from all draws.` : ""}${hasCharts ? " Charts are drawn by uPlot." : ""}`));

// The part that is being read is marked in the navigation.
if (typeof IntersectionObserver !== "undefined") {
  const links = new Map([...document.querySelectorAll("#sections a")].map((link) => [link.getAttribute("href").slice(1), link]));
  const reading = new IntersectionObserver((entries) => {
    for (const entry of entries) if (entry.isIntersecting) {
      for (const link of links.values()) link.removeAttribute("aria-current");
      links.get(entry.target.id).setAttribute("aria-current", "true");
    }
  }, {rootMargin: "-20% 0px -70% 0px"});
  for (const id of links.keys()) if (document.getElementById(id)) reading.observe(document.getElementById(id));
}
document.documentElement.dataset.ready = "true";
