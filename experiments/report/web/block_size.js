// The block-size panel: every criterion as a chart and a number, the recommendation and its costs.

const kernelSpan = (seconds, most) => (seconds === null ? "not measured" : span(seconds, most));

const CRITERIA = [
  { title: "Held empty, of the pool", text: (v) => percent(v) + " %", better: "less",
    names: ["reserved", "internal", "overhead"], note: "reserved, internal and overhead slots" },
  { title: "Prefix hits, of prompt tokens", text: (v) => percent(v) + " %", better: "more",
    names: ["prefix_hit"], note: "found cached when first admitted" },
  { title: "Block tables", text: bytes, better: "less", names: ["table_bytes"],
    note: "4 bytes an entry, mean" },
  { title: "Copied on write", text: bytes, better: "less", names: ["copied_bytes"],
    note: "over the whole run" },
  { title: "Output tokens per second", text: short, better: "more",
    names: ["output_tokens_per_s"], note: "over the makespan" },
  { title: "Requests per second within the limits", text: short, better: "more", ofLimits: true,
    names: ["goodput_per_s"], note: "answered within the latency limits, over the makespan" },
  { title: "Time per output token", text: span, better: "less", names: ["normalized_mean_s"],
    note: "end to end, mean over requests" },
  { title: "Time to first token, median", text: span, better: "less", names: ["ttft_p50_s"],
    note: "half of the requests wait no longer" },
  { title: "Time to first token, p99", text: span, better: "less", names: ["ttft_p99_s"],
    note: "one request of a hundred waits longer" },
  { title: "Time per further token, p99", text: span, better: "less", names: ["tpot_p99_s"],
    note: "of a request, mean over its tokens" },
  { title: "End to end, p99", text: span, better: "less", names: ["latency_p99_s"],
    note: "to a request's last token" },
  { title: "Attention kernels, a decode step", text: kernelSpan,
    better: "less", names: ["kernel_s"], basis: (m) => m.kernel_basis,
    note: "all layers, of as many tokens as the pool holds" },
];

const criteriaOf = (data) => CRITERIA.filter((one) => !one.ofLimits || data.has_limits);

// Null if a part is unknown.
function sumOf(metrics, names) {
  const values = names.map((name) => metrics[name]);
  return values.every(isNumber) ? values.reduce((sum, value) => sum + value, 0) : null;
}

const criterionValue = (criterion, metrics) => sumOf(metrics, criterion.names);
// The interval of a sum is at most as wide as its parts' intervals together.
const criterionHalfWidth = (criterion, metrics) =>
    sumOf(metrics, criterion.names.map((name) => name + "_ci95"));

// The figure, with its derivation if it was not measured itself.
function criterionCell(criterion, metrics) {
  const basis = criterion.basis ? criterion.basis(metrics) : null;
  const halfWidth = criterionHalfWidth(criterion, metrics);
  return element("span", {}, criterion.text(criterionValue(criterion, metrics)) +
      (basis && basis !== "measured" ? " (" + basis + ")" : ""), halfWidth === null ? null
      : element("span", { class: "interval" }, " ± " + criterion.text(halfWidth)));
}

// Confidence intervals over several seeds.
function drawWhiskers(u, values, halfWidths) {
  const cap = 4 * devicePixelRatio;
  u.ctx.strokeStyle = colour(COMPARED[0]);
  u.ctx.lineWidth = 1.5 * devicePixelRatio;
  u.ctx.beginPath();
  values.forEach((value, i) => {
    if (value === null || halfWidths[i] === null) return;
    const x = u.valToPos(i, "x", true);
    const ends = [value - halfWidths[i], value + halfWidths[i]].map(
        (end) => u.valToPos(Math.max(end, 0), "y", true));
    u.ctx.moveTo(x, ends[0]);
    u.ctx.lineTo(x, ends[1]);
    for (const y of ends) {
      u.ctx.moveTo(x - cap, y);
      u.ctx.lineTo(x + cap, y);
    }
  });
  u.ctx.stroke();
}

// The permitted distances between marks of an axis, if these are not decimal numbers.
const STEPS = new Map([[bytes, Array.from({ length: 50 }, (_, i) => 2 ** i)], [span, TIME_STEPS],
                       [kernelSpan, TIME_STEPS]]);

// Marks the recommended size without colour, too.
const sizeLabel = (size, recommended) => size + (size === recommended ? "\n★" : "");

function criterionChart(host, rows, criterion, recommended) {
  const values = rows.map((row) => criterionValue(criterion, row.metrics));
  const halfWidths = rows.map((row) => criterionHalfWidth(criterion, row.metrics));
  if (values.every((value) => value === null)) {
    host.replaceWith(element("p", {}, criterion.text(null)));
    return;
  }
  const at = rows.findIndex((row) => row.block_size === recommended);
  const highest = Math.max(...values.map((value, i) => (value || 0) + (halfWidths[i] || 0)));
  const options = () => ({
    height: 150,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [-0.4, rows.length - 0.6] },
              y: { range: () => [0, highest > 0 ? highest * 1.18 : 1] } },
    axes: [axis({ splits: () => rows.map((row, i) => i), grid: { show: false }, size: 44,
                  values: () => rows.map((row) => sizeLabel(row.block_size, recommended)) }),
           valuesAxis(criterion.text,
                      { space: 34, incrs: STEPS.get(criterion.text) || null }, 76)],
    series: [{}, { stroke: colour(COMPARED[0]), width: 2,
                   points: { show: true, size: 7, fill: cssVariable("--panel") } }],
    hooks: {
      drawClear: [(u) => {
        if (at < 0) return;
        const width = u.bbox.width / (rows.length - 0.2) * 0.62;
        u.ctx.fillStyle = cssVariable("--chosen");
        u.ctx.fillRect(u.valToPos(at, "x", true) - width / 2, u.bbox.top, width, u.bbox.height);
      }],
      draw: [(u) => drawWhiskers(u, values, halfWidths)],
    },
  });
  chart(host, options, () => [rows.map((row, i) => i), values]);
}

// The drawbacks of a size, and differences that the seeds do not separate.
function againstText(verdict, seeds) {
  const against = [...verdict.drawbacks];
  if (verdict.beaten_by !== null) {
    against.push("block " + verdict.beaten_by + " is no worse in anything");
  }
  if (verdict.not_told_apart.length) {
    against.push("not distinguished from the best by " + seeds + " seeds: " +
                 verdict.not_told_apart.join(", "));
  }
  return against.join("; ") || (verdict.is_good ? "nothing" : "");
}

function verdictTable(data, rows, advice) {
  const isKnown = (criterion) =>
      rows.some((row) => criterionValue(criterion, row.metrics) !== null);
  const criteria = criteriaOf(data).filter(isKnown);
  const heads = [{ text: "block", class: "words" }, { text: "", class: "mark" },
                 ...criteria.map((criterion) => ({ text: criterion.title })),
                 { text: "against it", class: "words against" }];
  return table(heads, rows.map((row, i) => [
    String(row.block_size), row.block_size === advice.recommended ? "★" : "",
    ...criteria.map((criterion) => criterionCell(criterion, row.metrics)),
    againstText(advice.verdicts[i], data.seeds)]),
  rows.map((row) => row.block_size === advice.recommended ? "best" : ""));
}

function familyPanel(data, panel) {
  const rows = panel.rows.map((row) => data.rows[row]);
  const made = element("div");
  made.append(element("div", { class: "advice" },
      element("p", {}, element("strong", {},
          (panel.advice.recommended === null ? "" : "★ ") + panel.advice.reason)),
      element("ul", {}, ...panel.advice.trade_offs.map((text) => element("li", {}, text)))));
  made.append(element("div", { class: "three" }, ...criteriaOf(data).map((criterion) => figure(
      criterion.title + " (" + criterion.better + " is better)",
      element("div", { class: "plot" }),
      (host) => criterionChart(host, rows, criterion, panel.advice.recommended),
      criterion.note))));
  made.append(verdictTable(data, rows, panel.advice));
  return made;
}

// The source of measured kernel times, if any; the other times include them.
function kernelTimeNote(data) {
  const measured = data.time_models
      .filter((model) => model.name.startsWith("measured:"))
      .map((model) => model.name + ", " + model.provenance);
  return "Kernel time per block size: " + (measured.length
      ? measured.join("; ") + "; it is part of the other times. Each block size has its own " +
        "cases. Between two of them, time is interpolated by the bytes of K and V; " +
        "beyond the largest, that case's speed is used, below the smallest, its time."
      : "not measured; step times come from the time model that the foot of this page names.");
}

function blockSizeSection(data) {
  const made = section("block-size", "Which block size",
      "Of the sizes that reject the fewest requests the largest that is within one percentage " +
      "point (of shares) and one percent (of times and rates) of the best is recommended, " +
      "unless another of them is no worse in anything: fewer, larger blocks mean shorter tables " +
      "and fewer addresses for a kernel to follow. " +
      (data.seeds > 1
          ? "Percentiles count as equal within a tenth. Sizes got the same requests under a " +
            "seed and are compared seed by seed: where seeds disagree, the sizes are not " +
            "ranked, and if none can be ranked, none is recommended." + overSeeds(data)
          : "Percentiles that differ by more than a tenth are shown, but do not decide: one run " +
            "does not show how much of that is chance; --seeds does.") +
      (data.has_limits ? " Throughput is that of requests within the latency limits." : "") +
      " Held empty and block tables are means " + coverage(data));
  if (!data.panels.length) {
    made.append(element("p", {}, "There are no two block sizes to compare: no advice."));
    return made;
  }
  const host = element("div");
  const families = data.panels.map((panel) => panel.family || "all");
  const select = element("select", { id: "family", onchange: () => show() },
      ...families.map((family, i) => element("option", { value: i }, family)));
  select.value = Math.max(data.panels.findIndex((panel) =>
      data.headline && panel.rows.includes(data.headline.recommended)), 0);
  const show = () => host.replaceChildren(familyPanel(data, data.panels[Number(select.value)]));
  if (families.length === 1 && data.panels[0].family) {
    made.append(element("h3", {}, "Of " + families[0]));
  } else if (families.length > 1) {
    made.append(element("div", { class: "tools", style: "margin: 0 0 4px" },
                        element("label", { for: "family" }, "of"), select));
    // A printed page has no menu: it names the panel's subject, and those of the other panels.
    const shown = element("h3", { class: "paper" });
    const name = () => shown.replaceChildren(
        "Of " + families[select.value] + "; the page also has " +
        families.filter((family, i) => i !== Number(select.value)).join(", "));
    select.addEventListener("change", name);
    name();
    made.append(shown);
  }
  made.append(host, element("p", { class: "small" }, kernelTimeNote(data)));
  show();
  return made;
}
