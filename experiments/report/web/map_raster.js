// A memory map as pixels. Everything is added up before it is drawn, so that the work follows the
// pixels and the segments in sight, not the events of the run.

// One pixel's colour is the mean of what covers it.
class Raster {
  constructor(width, height) {
    this.width = width;
    this.height = height;
    this.sums = new Float32Array(width * height * 3);
    this.cover = new Float32Array(width * height);
  }

  // Of column x, the stretch [top, bottom) in pixels, in part pixels too.
  add(x, top, bottom, paint) {
    top = Math.max(top, 0);
    bottom = Math.min(bottom, this.height);
    for (let y = Math.floor(top); y < bottom; ++y) {
      const part = Math.min(bottom, y + 1) - Math.max(top, y);
      const at = y * this.width + x;
      const rgb = onTexture(paint.texture, x, y) ? paint.line : paint.base;
      this.sums[at * 3] += rgb[0] * part;
      this.sums[at * 3 + 1] += rgb[1] * part;
      this.sums[at * 3 + 2] += rgb[2] * part;
      this.cover[at] += part;
    }
  }

  // What nothing covers is free.
  image(context, free) {
    const image = context.createImageData(this.width, this.height);
    for (let at = 0; at < this.cover.length; ++at) {
      const cover = Math.min(this.cover[at], 1);
      const scale = this.cover[at] > 1 ? 1 / this.cover[at] : 1;
      for (let c = 0; c < 3; ++c) {
        image.data[at * 4 + c] = this.sums[at * 3 + c] * scale + free[c] * (1 - cover);
      }
      image.data[at * 4 + 3] = 255;
    }
    return image;
  }
}

function statePaint(name) {
  const state = STATES.find((one) => one.name === name);
  return { base: channels(colour(state)), line: lineColour(state), texture: state.texture };
}

// Neighbouring numbers far apart on the circle; lightness differs too, for eyes without colour.
function ownerPaint(number) {
  const hue = (number * 137.508) % 360;
  const light = (isDark() ? 48 : 34) + (number * 7 % 5) * 8;
  const make = (lightness) => {
    const a = 0.52 * Math.min(lightness, 100 - lightness) / 100;
    const channel = (n) => {
      const k = (n + hue / 30) % 12;
      return Math.round(255 * (lightness / 100 - a * Math.max(-1, Math.min(k - 3, 9 - k, 1))));
    };
    return [channel(0), channel(8), channel(4)];
  };
  return { base: make(light), line: make(light) };
}

function paints() {
  const owners = [];
  return {
    used: statePaint("used"), reserved: statePaint("reserved"),
    internal: statePaint("internal"), cached: statePaint("cached"),
    overhead: statePaint("overhead"),
    owner: (number) => owners[number] || (owners[number] = ownerPaint(number)),
  };
}

// view: {begin, end} in seconds, {low, high} in slots, `by`: "state" or "sequence".
function rasterise(map, view, width, height) {
  const raster = new Raster(width, height);
  const paint = paints();
  const toY = (slot) => height - (slot - view.low) / (view.high - view.low) * height;
  if (isDetailed(map, view.begin, view.end)) {
    rasteriseDetail(raster, map, view, paint, toY);
  } else {
    rasteriseOverview(raster, map, view, paint, toY);
  }
  const blocksEnd = map.blocks > 0 ? map.blocks * map.block_size : map.pool_slots;
  for (let x = 0; x < width; ++x) {
    if (map.null_blocks > 0) {
      raster.add(x, toY(map.null_blocks * map.block_size), toY(0), paint.overhead);
    }
    if (blocksEnd < map.pool_slots) raster.add(x, toY(map.pool_slots), toY(blocksEnd),
                                               paint.overhead);
  }
  return raster;
}

function rasteriseOverview(raster, map, view, paint, toY) {
  const { at, cells } = map.overview;
  const step = (view.end - view.begin) * 1e6 / raster.width;
  const edge = (row) => Math.ceil(row * map.pool_slots / map.rows);
  for (let x = 0; x < raster.width; ++x) {
    const us = view.begin * 1e6 + (x + 0.5) * step;
    const column = columnAt(map, us);
    if (column < 0 || us > map.end_us) continue;
    for (let row = 0; row < map.rows; ++row) {
      const bottom = toY(edge(row));
      const top = toY(edge(row + 1));
      if (bottom < 0 || top > raster.height) continue;
      const cell = (column * map.rows + row) * 3;
      const level = (bottom - top) / 15;
      let y = bottom;
      const stack = (fifteenths, what) => {
        if (fifteenths === 0) return;
        raster.add(x, y - fifteenths * level, y, what);
        y -= fifteenths * level;
      };
      const [a, b, owner] = [cells[cell], cells[cell + 1], cells[cell + 2]];
      stack(a & 15, view.by === "sequence" && owner > 0 ? paint.owner(owner - 1) : paint.used);
      stack(a >> 4, paint.reserved);
      stack(b & 15, paint.internal);
      stack(b >> 4, paint.cached);
    }
  }
}

function rasteriseDetail(raster, map, view, paint, toY) {
  const { place, size, begin_us: begin, length_us: length, stay } = map.detail.segments;
  const first = view.begin * 1e6;
  const step = (view.end - view.begin) * 1e6 / raster.width;
  for (let i = 0; i < place.length; ++i) {
    if (begin[i] > first + step * raster.width) break;
    if (begin[i] + length[i] < first) continue;
    const low = place[i] * map.unit;
    const bottom = toY(low);
    if (bottom < 0 || toY(low + size[i] * map.unit) > raster.height) continue;
    const left = Math.max(Math.ceil((begin[i] - first) / step - 0.5), 0);
    const right = Math.min(Math.ceil((begin[i] + length[i] - first) / step - 0.5), raster.width);
    const used = view.by === "sequence" && stay[i] >= 0
        ? paint.owner(map.detail.stays.request[stay[i]] % 255) : paint.used;
    for (let x = left; x < right; ++x) {
      const fill = fillAt(map, i, first + (x + 0.5) * step);
      const kept = Math.max(fill.kept, fill.used);
      if (fill.cached) raster.add(x, toY(low + fill.slots), bottom, paint.cached);
      else {
        if (fill.used > 0) raster.add(x, toY(low + fill.used), bottom, used);
        if (kept > fill.used) raster.add(x, toY(low + kept), toY(low + fill.used), paint.reserved);
        if (fill.slots > kept) {
          raster.add(x, toY(low + fill.slots), toY(low + kept), paint.internal);
        }
      }
    }
  }
}
