// Builds the page from its embedded data.

// The main result of the page.
function finding(data) {
  if (data.kind !== "fragmentation") return null;
  const [worst, best] = data.headline.compared.map((row) => data.rows[row]);
  const serves = (row) => row.metrics.requests_finished > 0;
  if (!serves(best)) return "No row with a map served any request." + rejections([best, worst]);
  const mean = (text, row, name) => text(row.metrics[name]) +
      (data.seeds > 1 ? " ± " + text(row.metrics[name + "_ci95"]) : "");
  const rest = covered(data, [best, worst]) + rejections([best, worst]) + recommendation(data);
  const used = (row) => mean(percent, row, "used") + " %";
  const [rate, unit] = data.has_limits
      ? ["goodput_per_s", " requests per second within the latency limits."]
      : ["output_tokens_per_s", " output tokens per second."];
  const speed = (row) => mean(short, row, rate);
  if (data.has_limits && ![best, worst].some((row) => row.metrics.goodput_per_s > 0)) {
    return [...new Set([best, worst])].map((row) => row.label + " keeps " + used(row) +
        " of the pool in use").join(", ") + "; no request met the latency limits." + rest;
  }
  const one = best.label + " keeps " + used(best) + " of the pool in use";
  return (best === worst || !serves(worst) ? one + " and gives " + speed(best)
             : one + ", " + worst.label + " " + used(worst) + "; " + speed(best) + " against " +
               speed(worst)) + unit + rest;
}

// Names the rows whose means of the pool cover less than half of the run, as for a burst.
function covered(data, rows) {
  const short = [...new Set(rows)].filter((row) =>
      isNumber(row.covered_share) && row.covered_share < 0.5);
  if (!short.length) return "";
  return " What is in use is a mean up to the last arrival: the first " + short.map((row) =>
      percent(row.covered_share) + " % of the run of " + row.label).join(", ") +
      (data.seeds > 1 ? ", under the first seed." : ".");
}

// Names the rows with rejected requests, which no figure counts.
function rejections(rows) {
  return [...new Set(rows)].filter((row) => row.metrics.requests_rejected > 0).map((row) =>
      " " + row.label + " rejects " + countOfMean(row.metrics.requests_rejected) + " of " +
      countOfMean(row.metrics.requests_rejected + row.metrics.requests_finished) +
      " requests, which can never fit.").join("");
}

function recommendation(data) {
  if (data.headline.recommended === null) return "";
  const label = (row) => data.rows[row].label;
  const others = data.headline.not_told_apart.map(label);
  return " " + label(data.headline.recommended) + " is recommended" + (others.length
      ? ", from which " + others.join(", ") + (others.length > 1 ? " are" : " is") +
        " not distinguished by speed." : ".");
}

function head(data) {
  const titles = { fragmentation: "Where every KV slot went", sweep: "A sweep over settings" };
  document.title = titles[data.kind] + " – recto";
  return [
    element("h1", {}, titles[data.kind]),
    element("p", { class: "setting" }, data.setting),
    ...data.notes.map((text) => element("p", { class: "notice" }, text)),
    finding(data) ? element("p", { class: "finding" }, finding(data)) : null,
    element("div", { class: "tools" },
            element("button", { id: "theme", onclick: () => chooseTheme(
                document.documentElement.dataset.theme === "dark" ? "light" : "dark") },
                "dark / light"),
            element("button", { onclick: () => print() }, "print")),
  ].filter((part) => part);
}

function setWholeRun(data) {
  timeRange.last = Math.max(...data.series.map((series) => series.end_s || 0), 1e-9);
  timeRange.end = timeRange.last;
}

function sectionsOf(data) {
  if (data.kind === "sweep") return [blockSizeSection(data), pointsSection(data)];
  compared.rows = [...data.headline.compared];
  setWholeRun(data);
  return [glanceSection(data), compareBar(data), mapSection(data), statesSection(data),
          linesSection(data), latencySection(data), blockSizeSection(data), perfettoSection(data)];
}

function start() {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  followTheme();
  document.getElementById("sections").replaceChildren(...sectionsOf(data));
  document.getElementById("head").append(...head(data));
  document.getElementById("foot").append(...foot(read("manifest"), data));
}

start();
