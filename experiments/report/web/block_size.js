// Which block size: every criterion as a picture and a number, the recommendation and its price.

const CRITERIA = [
  { title: "Held empty, of the pool", text: (v) => percent(v) + " %", better: "less",
    value: (m) => m.reserved + m.internal + m.overhead,
    note: "reserved, internal and overhead slots" },
  { title: "Prefix hits, of prompt tokens", text: (v) => percent(v) + " %", better: "more",
    value: (m) => m.prefix_hit, note: "found cached at admission" },
  { title: "Block tables", text: bytes, better: "less", value: (m) => m.table_bytes,
    note: "4 bytes an entry, mean" },
  { title: "Copied on write", text: bytes, better: "less", value: (m) => m.copied_bytes,
    note: "over the whole run" },
  { title: "Time per output token", text: span, better: "less",
    value: (m) => m.normalized_mean_s, note: "end to end, mean over requests" },
  { title: "Attention kernels, a decode step", text: (v) => v === null ? "not measured" : span(v),
    better: "less", value: (m) => m.kernel_s ?? null, basis: (m) => m.kernel_basis,
    note: "all layers, of as many tokens as the pool holds" },
  { title: "Output tokens per second", text: short, better: "more",
    value: (m) => m.output_tokens_per_s, note: "over the makespan" },
];

// With how a figure follows from what was measured, where it was not measured itself.
function cell(criterion, metrics) {
  const basis = criterion.basis ? criterion.basis(metrics) : null;
  return criterion.text(criterion.value(metrics)) +
      (basis && basis !== "measured" ? " (" + basis + ")" : "");
}

function criterionChart(host, rows, criterion, recommended) {
  const values = rows.map((row) => criterion.value(row.metrics));
  if (values.every((value) => value === null)) {
    host.replaceWith(element("p", {}, criterion.text(null)));
    return;
  }
  const at = rows.findIndex((row) => row.block_size === recommended);
  const options = () => ({
    height: 150,
    legend: { show: false },
    cursor: { show: false },
    scales: { x: { time: false, range: [-0.4, rows.length - 0.6] },
              y: { range: (u, low, high) => [0, high > 0 ? high * 1.18 : 1] } },
    axes: [axis({ splits: () => rows.map((row, i) => i), grid: { show: false },
                  values: () => rows.map((row) => String(row.block_size)) }),
           axis({ size: 76, space: 34, values: (u, splits) => splits.map(criterion.text) })],
    series: [{}, { stroke: colour(COMPARED[0]), width: 2,
                   points: { show: true, size: 7, fill: cssVariable("--panel") } }],
    hooks: {
      drawClear: [(u) => {
        const width = u.bbox.width / (rows.length - 0.2) * 0.62;
        u.ctx.fillStyle = cssVariable("--chosen");
        u.ctx.fillRect(u.valToPos(at, "x", true) - width / 2, u.bbox.top, width, u.bbox.height);
      }],
      draw: [(u) => {
        u.ctx.fillStyle = cssVariable("--accent");
        u.ctx.font = "bold " + 15 * devicePixelRatio + "px system-ui, sans-serif";
        u.ctx.textAlign = "center";
        u.ctx.fillText("★", u.valToPos(at, "x", true), u.bbox.top + 15 * devicePixelRatio);
      }],
    },
  });
  chart(host, options, () => [rows.map((row, i) => i), values]);
}

function verdictTable(rows, advice) {
  const heads = [{ text: "block", class: "words" }, { text: "", class: "mark" },
                 ...CRITERIA.map((criterion) => ({ text: criterion.title })),
                 { text: "against it", class: "words" }];
  return table(heads, rows.map((row, i) => {
    const verdict = advice.verdicts[i];
    const against = [...verdict.drawbacks];
    if (verdict.beaten_by !== null) {
      against.push("block " + verdict.beaten_by + " is no worse in anything");
    }
    return [String(row.block_size), row.block_size === advice.recommended ? "★" : "",
            ...CRITERIA.map((criterion) => cell(criterion, row.metrics)),
            against.join("; ") || (verdict.is_good ? "nothing: within one percent" : "")];
  }), rows.map((row) => row.block_size === advice.recommended ? "best" : ""));
}

function familyPanel(data, panel) {
  const rows = panel.rows.map((row) => data.rows[row]);
  const made = element("div");
  made.append(element("div", { class: "advice" },
      element("p", {}, element("strong", {}, "★ " + panel.advice.reason)),
      element("ul", {}, ...panel.advice.trade_offs.map((text) => element("li", {}, text)))));
  const grid = element("div", { class: "three" });
  made.append(grid);
  for (const criterion of CRITERIA) {
    const host = element("div", { class: "plot" });
    grid.append(figure(criterion.title + " (" + criterion.better + " is better)",
                       element("span", { class: "small" }, criterion.note), host));
    queueMicrotask(() => criterionChart(host, rows, criterion, panel.advice.recommended));
  }
  made.append(verdictTable(rows, panel.advice));
  return made;
}

// Which measurements these are, if any: the other times have them in them.
function kernelTimeNote() {
  const manifest = JSON.parse(document.getElementById("manifest").textContent);
  const measured = (manifest.time_models || [])
      .filter((model) => model.name.startsWith("measured:"))
      .map((model) => model.name + ", " + model.provenance);
  return "Kernel time per block size: " + (measured.length
      ? measured.join("; ") + "; it is part of the other times. Each block size has its own " +
        "cases. Between two of them time is interpolated by the bytes of K and V, beyond the " +
        "largest it goes on at that one's speed, below the smallest it stays as it was there."
      : "not measured; step times come from the time model that the foot of this page names.");
}

function blockSizeSection(data) {
  const made = section("block-size", "Which block size",
      "The largest size that is within one percentage point (of shares) and one percent (of " +
      "times and rates) of the best is recommended: fewer, larger blocks mean shorter tables " +
      "and fewer addresses for a kernel to follow." +
      (data.has_limits ? " Throughput is that of requests within the latency limits." : ""));
  if (!data.panels.length) {
    made.append(element("p", {}, "There are no two block sizes to compare: nothing is advised."));
    return made;
  }
  const host = element("div");
  const select = element("select", { id: "family", onchange: () => show() },
      ...data.panels.map((panel, i) => element("option", { value: i }, panel.family || "all")));
  const show = () => host.replaceChildren(familyPanel(data, data.panels[Number(select.value)]));
  if (data.panels.length > 1) {
    made.append(element("div", { class: "tools", style: "margin: 0 0 4px" },
                        element("label", { for: "family" }, "of"), select));
  }
  made.append(host, element("p", { class: "small" }, kernelTimeNote()));
  show();
  return made;
}
