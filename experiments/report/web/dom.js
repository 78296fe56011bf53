// Page elements, and formatted numbers.

function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) {
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "class") made.className = value;
    else if (value !== null && value !== undefined && value !== false) {
      made.setAttribute(name, value === true ? "" : value);
    }
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

function section(id, title, note) {
  return element("section", { id }, element("h2", {}, title),
                 note ? element("p", { class: "note" }, note) : null);
}

// A figure that `draw` draws once the page contains it.
function figure(caption, place, draw, note) {
  queueMicrotask(() => draw(place));
  return element("figure", {}, element("figcaption", {}, ...[caption].flat()),
                 note ? element("span", { class: "small" }, note) : null, place);
}

const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

function short(value) {
  if (!isNumber(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size >= 1e6) return value.toExponential(2);
  if (size >= 999.5) return Math.round(value).toLocaleString("en");
  if (size >= 99.95) return value.toFixed(1);
  if (size >= 0.9995) return value.toFixed(2);
  return String(Number(value.toPrecision(3)));
}

const percent = (share) => (isNumber(share) ? (share * 100).toFixed(1) : "–");
const count = (value) => (isNumber(value) ? Math.round(value).toLocaleString("en") : "–");
// The text of a count, or of a mean of counts; a small mean must not look like 0.
const countOfMean = (value) => (Number.isInteger(value) ? count(value) : short(value));

// Units of time: used below so many seconds, units per second, name.
const TIME_UNITS = [[1e-3, 1e6, "µs"], [1, 1e3, "ms"], [600, 1, "s"], [7200, 1 / 60, "min"],
                    [Infinity, 1 / 3600, "h"]];

// In the unit of `most`, the longest of the times shown beside it.
function span(seconds, most = seconds) {
  if (!isNumber(seconds)) return "–";
  if (seconds === 0) return "0";
  const [, perSecond, name] = TIME_UNITS.find(([below]) => most < below);
  return short(seconds * perSecond) + " " + name;
}

function bytes(value) {
  if (!isNumber(value)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  while (value >= 1024 && unit + 1 < units.length) {
    value /= 1024;
    ++unit;
  }
  return short(value) + " " + units[unit];
}

// A metric; below a mean over several seeds is the half-width of its 95 % confidence interval.
function estimate(text, metrics, name) {
  const halfWidth = metrics[name + "_ci95"];
  if (!isNumber(halfWidth)) return text(metrics[name]);
  return element("span", {}, text(metrics[name]),
                 element("span", { class: "interval" }, " ± " + text(halfWidth)));
}

const overSeeds = (data) => (data.seeds > 1
    ? " Means over " + data.seeds + " seeds, ± the half-width of their 95 % confidence interval."
    : "");

// A number on an axis: "20.00 ms" becomes "20 ms".
const rounded = (text) => text.replace(/(\.\d*?)0+(?!\d)/, "$1").replace(/\.(?!\d)/, "");

// A point of time on an axis, with the precision of `step`, the distance to its neighbours.
function clock(seconds, step) {
  const digits = step >= 1 ? 0 : step < 1e-3 ? 6 : step < 0.1 ? 3 : 1;
  if (digits > 0 && seconds < 60) return seconds.toFixed(digits) + " s";
  const least = Math.round(seconds * 10 ** digits);  // in the last digit's unit
  const whole = Math.floor(least / 10 ** digits);
  const pad = (part, length) => String(part).padStart(length, "0");
  const text = pad(Math.floor(whole / 60) % 60, 2) + ":" + pad(whole % 60, 2) +
      (digits > 0 ? "." + pad(least % 10 ** digits, digits) : "");
  return whole >= 3600 ? Math.floor(whole / 3600) + ":" + text : text;
}

// rows: arrays of texts or elements; `marks` names the class of a row.
function table(heads, rows, marks) {
  const cell = (tag, content, i) =>
      element(tag, { class: (heads[i] || {}).class || null }, content === null ? "" : content);
  return element("div", { class: "scroll" }, element("table", {},
      element("thead", {}, element("tr", {}, ...heads.map((head, i) => cell("th", head.text, i)))),
      element("tbody", {}, ...rows.map((row, r) =>
          element("tr", { class: (marks && marks[r]) || null },
                  ...row.map((content, i) => cell("td", content, i)))))));
}
