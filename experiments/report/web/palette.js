// The six states of a slot. They differ by lightness and texture as well as by colour, so neither
// colour vision nor a colour printer is needed.

const STATES = [
  { name: "used", means: "holds a token", light: "#1b4f8a", dark: "#8cc4ff" },
  { name: "reserved", means: "held, will hold a token", light: "#6fb1dd", dark: "#3c79ad",
    texture: "rising" },
  { name: "internal", means: "held, never will", light: "#d9661f", dark: "#f08a4b",
    texture: "falling" },
  { name: "cached", means: "no holder, a prefix to be found again", light: "#f0d264",
    dark: "#8d7a1f", texture: "dots" },
  { name: "free", means: "no holder, no content", light: "#f1f2f4", dark: "#22262e" },
  { name: "overhead", means: "can never hold a token", light: "#7d828c", dark: "#737a86",
    texture: "level" },
];

// The compared rows, and the rest; each with its own dash.
const COMPARED = [
  { light: "#0b62a8", dark: "#7cc0ff", dash: [], name: "A" },
  { light: "#c2541a", dark: "#ffa264", dash: [7, 4], name: "B" },
];

const isDark = () => document.documentElement.dataset.theme === "dark";

const colour = (of) => (isDark() ? of.dark : of.light);
const cssVariable = (name) =>
    getComputedStyle(document.documentElement).getPropertyValue(name).trim();

// Whether the pixel is on the texture's lines. Period 8, in device pixels.
function onTexture(texture, x, y) {
  if (texture === "rising") return ((x + y) & 7) < 2;
  if (texture === "falling") return ((x - y) & 7) < 2;
  if (texture === "dots") {
    return (x & 7) < 2 && (y & 7) < 2 || ((x + 4) & 7) < 2 && ((y + 4) & 7) < 2;
  }
  if (texture === "level") return (y & 3) < 1;
  return false;
}

function channels(hex) {
  return [1, 3, 5].map((at) => parseInt(hex.slice(at, at + 2), 16));
}

// Lines of a texture are its colour, moved towards black or white.
function lineColour(state) {
  const towards = isDark() ? 0 : 255;
  return channels(colour(state)).map((c) => Math.round(c + (towards - c) * 0.42));
}

const OWNER_COLOURS = 255;  // the range of MapCell::owner

// The colour of sequence `number`, below OWNER_COLOURS. Neighbours are far apart on the circle, and
// at least two steps of lightness, for dichromats. In Oklab, where equal steps look equal.
function ownerColour(number) {
  const hue = number * 137.508 * Math.PI / 180;
  const lightness = (isDark() ? 0.48 : 0.36) + (number * 2 % 5) * 0.1;
  const [a, b] = [0.09 * Math.cos(hue), 0.09 * Math.sin(hue)];
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.2914855480 * b) ** 3;
  const linear = [4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s,
                  -1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s,
                  -0.0041960863 * l - 0.7034186147 * m + 1.7076147010 * s];
  return linear.map((part) => {
    const light = Math.min(Math.max(part, 0), 1);
    return Math.round(255 * (light <= 0.0031308 ? 12.92 * light
                                                : 1.055 * light ** (1 / 2.4) - 0.055));
  });
}

// Red, green and blue as a pixel of image data; every browser's machine has the lowest byte first.
const word = (rgb) => (255 << 24 | rgb[2] << 16 | rgb[1] << 8 | rgb[0]) >>> 0;

// A tile of eight by eight pixels: as words, and as their channels.
function paintOf(base, line, texture) {
  const made = { words: new Uint32Array(64), channels: new Float32Array(64 * 3) };
  for (let i = 0; i < 64; ++i) {
    const rgb = onTexture(texture, i & 7, i >> 3) ? line : base;
    made.words[i] = word(rgb);
    made.channels.set(rgb, i * 3);
  }
  return made;
}

const statePaint = (state) => paintOf(channels(colour(state)), lineColour(state), state.texture);

const tiles = new Map();

function tile(state) {
  const key = state.name + isDark();
  if (tiles.has(key)) return tiles.get(key);
  const canvas = element("canvas", { width: 8, height: 8 });
  const image = new ImageData(new Uint8ClampedArray(statePaint(state).words.buffer), 8, 8);
  canvas.getContext("2d").putImageData(image, 0, 0);
  tiles.set(key, canvas);
  return canvas;
}

function statePattern(context, state) {
  return context.createPattern(tile(state), "repeat");
}

const stateBackground = (state) => "url(" + tile(state).toDataURL() + ")";

function statesLegend() {
  return element("div", { class: "legend" }, ...STATES.map((state) => {
    const swatch = element("i", { class: "swatch" });
    onTheme(() => { swatch.style.background = stateBackground(state); });
    return element("span", { title: state.means }, swatch, state.name,
                   element("span", { class: "small" }, state.means));
  }));
}

// A background with a compared row's line as charts draw it, and the area below the line.
function lineMark(compared, isFilled) {
  const canvas = element("canvas", { width: 44, height: 22 });  // twice the size shown
  const context = canvas.getContext("2d");
  context.strokeStyle = colour(compared);
  context.lineWidth = 5;
  context.setLineDash(compared.dash.map((part) => part * 2));
  context.beginPath();
  context.moveTo(0, 11);
  context.lineTo(44, 11);
  context.stroke();
  if (isFilled) {
    context.fillStyle = areaColour(compared);
    context.fillRect(0, 11, 44, 11);
  }
  return "url(" + canvas.toDataURL() + ") center / 22px 11px no-repeat";
}

function lineKey(compared) {
  const key = element("i", { class: "key" });
  onTheme(() => { key.style.background = lineMark(compared, false); });
  return key;
}

const areaColour = (compared) => colour(compared) + "30";

const themed = [];

// Called now, and again whenever colours change.
function onTheme(paint) {
  themed.push(paint);
  paint();
}

function repaint() {
  for (const paint of themed) paint();
}

function chooseTheme(theme) {
  document.documentElement.dataset.theme = theme;
  repaint();
}

function followTheme() {
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  document.documentElement.dataset.theme = wanted.matches ? "dark" : "light";
  wanted.addEventListener("change", () => chooseTheme(wanted.matches ? "dark" : "light"));
  // Paper is white.
  let before = "light";
  addEventListener("beforeprint", () => {
    before = document.documentElement.dataset.theme;
    chooseTheme("light");
  });
  addEventListener("afterprint", () => chooseTheme(before));
}
