// The origin of the page: enough to make it again.

function commonSettings(manifest) {
  const { base, axes } = manifest.grid || { base: {}, axes: {} };
  const all = manifest.configurations || [base];
  const names = Object.keys(all[0] || {});
  return names.map((name) => {
    const texts = [...new Set(all.map((one) => JSON.stringify(one[name])))];
    const varies = texts.length > 1 || name in axes;
    return [name, varies ? "varies" : texts[0]];
  }).filter(([, text]) => text !== "null" && text !== undefined);
}

function footRows(manifest, data) {
  const recto = manifest.recto;
  const settings = commonSettings(manifest);
  const seed = settings.find(([name]) => name === "seed");
  const seeds = manifest.seeds || (manifest.grid && manifest.grid.seeds) || 1;
  const models = data.time_models.map((model) => model.name + ": " + model.provenance);
  return [
    ["made by", "recto " + recto.version + ", recto " + manifest.command],
    ["commit", recto.commit],
    ["seed", (seed ? seed[1] : "1") + (seeds > 1 ? ", and " + (seeds - 1) + " after it; pictures " +
        "over time are of the first" : "")],
    ["step times", models.join("; ")],
    ["inputs", (manifest.inputs || []).map((input) =>
        input.path + " (" + count(input.bytes) + " bytes, xxh3_128 " + input.xxh3_128 + ")")
        .join("; ") || "none: the workload is made up from the seed"],
    ["axes", manifest.grid ? Object.entries(manifest.grid.axes).map(([name, values]) =>
        name + ": " + values.join(", ")).join("; ") : null],
    ["remarks", (manifest.remarks || []).join(" ")],
  ].filter(([, text]) => text);
}

function foot(manifest, data) {
  const settings = commonSettings(manifest).map(([name, text]) => name + " " + text).join(", ");
  const list = element("dl", {}, ...footRows(manifest, data).flatMap(
      ([name, text]) => [element("dt", {}, name), element("dd", {}, text)]));
  list.append(element("dt", {}, "settings"), element("dd", {}, settings));
  return [list, element("details", { class: "screen" },
      element("summary", {}, "The whole manifest"),
      element("pre", {}, JSON.stringify(manifest, null, 1)))];
}
