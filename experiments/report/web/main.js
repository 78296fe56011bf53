// Puts the page together from what is embedded in it.

// What a reader should take home, if nothing else.
function finding(data) {
  if (data.kind !== "fragmentation") return null;
  const [worst, best] = compared.rows.map((row) => data.rows[row]);
  const mean = (text, row, name) => text(row.metrics[name]) +
      (data.seeds > 1 ? " ± " + text(row.metrics[name + "_ci95"]) : "");
  const used = (row) => mean(percent, row, "used") + " %";
  const speed = (row) => mean(short, row, "output_tokens_per_s");
  const advice = data.panels.length ? data.panels[0].advice : null;
  const one = best.label + " keeps " + used(best) + " of the pool in use";
  return (best === worst ? one + " and gives " + speed(best)
                         : one + ", " + worst.label + " " + used(worst) + "; " + speed(best) +
                               " against " + speed(worst)) + " output tokens per second." +
      (advice ? " Block size " + advice.recommended + " is recommended." : "");
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
  chooseCompared(data);
  setWholeRun(data);
  return [glanceSection(data), compareBar(data), mapSection(data), statesSection(data),
          linesSection(data), latencySection(data), blockSizeSection(data), perfettoSection()];
}

function start() {
  const read = (id) => JSON.parse(document.getElementById(id).textContent);
  const data = read("data");
  followTheme();
  document.getElementById("sections").replaceChildren(...sectionsOf(data));
  document.getElementById("head").append(...head(data));
  document.getElementById("foot").append(...foot(read("manifest")));
}

start();
