// A memory map as pixels. Segments are summed before drawing, so the work depends on the visible
// pixels and segments, not on the events of the run.

// Sums of partly covered pixels; zero between frames, so that no frame allocates them.
let partSums = new Float32Array(0);
let touched = new Int32Array(0);  // the indices of these pixels

// A pixel's colour is the mean of the colours that cover it; the uncovered part is `free`.
class Raster {
  constructor(image, free) {
    this.image = image;
    this.width = image.width;
    this.height = image.height;
    this.words = new Uint32Array(image.data.buffer).fill(word(free));
    this.touchedCount = 0;
    if (partSums.length < this.words.length * 4) {
      partSums = new Float32Array(this.words.length * 4);
      touched = new Int32Array(this.words.length);
    }
  }

  // Columns [left, right), in each the stretch [top, bottom) in pixels, also fractions of pixels.
  add(left, right, top, bottom, paint) {
    top = Math.max(top, 0);
    bottom = Math.min(bottom, this.height);
    if (!(top < bottom)) return;
    const first = Math.ceil(top);
    const last = Math.floor(bottom);
    if (first > last) {
      this.addPart(left, right, last, bottom - top, paint);
      return;
    }
    if (first > top) this.addPart(left, right, first - 1, first - top, paint);
    for (let y = first; y < last; ++y) {
      const tile = (y & 7) * 8;
      for (let at = y * this.width + left, x = left; x < right; ++at, ++x) {
        this.words[at] = paint.words[tile + (x & 7)];
      }
    }
    if (bottom > last) this.addPart(left, right, last, bottom - last, paint);
  }

  addPart(left, right, y, part, paint) {
    const tile = (y & 7) * 8;
    for (let at = y * this.width + left, x = left; x < right; ++at, ++x) {
      const from = (tile + (x & 7)) * 3;
      const sum = at * 4;
      if (partSums[sum + 3] === 0) touched[this.touchedCount++] = at;
      partSums[sum] += paint.channels[from] * part;
      partSums[sum + 1] += paint.channels[from + 1] * part;
      partSums[sum + 2] += paint.channels[from + 2] * part;
      partSums[sum + 3] += part;
    }
  }

  finish() {
    const data = this.image.data;
    for (let i = 0; i < this.touchedCount; ++i) {
      const sum = touched[i] * 4;
      const cover = partSums[sum + 3];
      const scale = cover > 1 ? 1 / cover : 1;
      const rest = 1 - Math.min(cover, 1);
      for (let c = 0; c < 3; ++c) {
        data[sum + c] = partSums[sum + c] * scale + data[sum + c] * rest;
      }
      partSums[sum] = partSums[sum + 1] = partSums[sum + 2] = partSums[sum + 3] = 0;
    }
  }

  // Leaves the columns from `left` on without any colour.
  clear(left) {
    for (let y = 0; y < this.height; ++y) {
      this.words.fill(0, y * this.width + left, (y + 1) * this.width);
    }
  }
}

const madePaints = {};  // by theme

function paints() {
  const owners = [];
  return madePaints[isDark()] ||= {
    ...Object.fromEntries(STATES.map((state) => [state.name, statePaint(state)])),
    owner: (number) => owners[number] ||= paintOf(ownerColour(number)),
  };
}

// Into `image`. view: {begin, end} in seconds, {low, high} in slots, `by`: "state" or "sequence".
function rasterise(map, view, image) {
  const free = channels(colour(STATES.find((state) => state.name === "free")));
  const raster = new Raster(image, free);
  const { width, height } = raster;
  const paint = paints();
  const toY = (slot) => height - (slot - view.low) / (view.high - view.low) * height;
  if (isDetailed(map, view.begin, view.end)) {
    rasteriseDetail(raster, map, view, paint, toY);
  } else {
    rasteriseOverview(raster, map, view, paint, toY);
  }
  const blocksEnd = map.blocks > 0 ? map.blocks * map.block_size : map.pool_slots;
  const end = Math.ceil((map.end_us / 1e6 - view.begin) / (view.end - view.begin) * width);
  const over = Math.min(Math.max(end, 0), width);  // from this pixel column on
  raster.add(0, over, toY(map.null_blocks * map.block_size), toY(0), paint.overhead);
  raster.add(0, over, toY(map.pool_slots), toY(blocksEnd), paint.overhead);
  raster.finish();
  raster.clear(over);
  return image;
}

// Pixel columns that show the same picture of the pool are drawn at once.
function rasteriseOverview(raster, map, view, paint, toY) {
  const step = (view.end - view.begin) * 1e6 / raster.width;
  const columnOf = (x) => {
    const us = view.begin * 1e6 + (x + 0.5) * step;
    return us > map.end_us ? -1 : columnAt(map, us);
  };
  const edges = Float64Array.from({ length: map.rows + 1 },
      (_, row) => toY(Math.ceil(row * map.pool_slots / map.rows)));
  for (let left = 0, right = 0; left < raster.width; left = right) {
    const column = columnOf(left);
    while (right < raster.width && columnOf(right) === column) ++right;
    if (column >= 0) addColumn(raster, map, view, { left, right, column, edges, paint });
  }
}

// From the lowest row up; neighbouring rows in one state are one stretch.
function addColumn(raster, map, view, { left, right, column, edges, paint }) {
  const cells = map.overview.cells;
  let what = null;
  let bottom = 0;
  let y = 0;
  const end = () => { if (what) raster.add(left, right, y, bottom, what); };
  for (let row = 0; row < map.rows; ++row) {
    const low = edges[row];
    const high = edges[row + 1];
    if (low < 0 || high > raster.height) continue;
    const cell = (column * map.rows + row) * 3;
    const [a, b, owner] = [cells[cell], cells[cell + 1], cells[cell + 2]];
    const level = (low - high) / 15;
    let at = low;
    for (let part = 0; part < 4; ++part) {
      const fifteenths = part === 0 ? a & 15 : part === 1 ? a >> 4 : part === 2 ? b & 15 : b >> 4;
      if (fifteenths === 0) continue;
      const next = part === 0 ? (view.by === "sequence" && owner > 0 ? paint.owner(owner - 1)
                                                                     : paint.used)
          : part === 1 ? paint.reserved : part === 2 ? paint.internal : paint.cached;
      if (next !== what || at < y - 1e-6) {
        end();
        what = next;
        bottom = at;
      }
      at -= fifteenths * level;
      y = at;
    }
  }
  end();
}

function rasteriseDetail(raster, map, view, paint, toY) {
  const { place, size, begin_us: begin, length_us: length, stay } = map.detail.segments;
  const first = view.begin * 1e6;
  const step = (view.end - view.begin) * 1e6 / raster.width;
  for (let i = 0; i < place.length; ++i) {
    if (begin[i] > first + step * raster.width) break;
    if (begin[i] + length[i] < first) continue;
    const low = place[i] * map.unit;
    const slots = size[i] * map.unit;
    if (toY(low) < 0 || toY(low + slots) > raster.height) continue;
    const left = Math.max(Math.ceil((begin[i] - first) / step - 0.5), 0);
    const right = Math.min(Math.ceil((begin[i] + length[i] - first) / step - 0.5), raster.width);
    const used = view.by === "sequence" && stay[i] >= 0
        ? paint.owner(map.detail.stays.request[stay[i]] % OWNER_COLOURS) : paint.used;
    const fillOf = (x) => fillAt(map, i, first + (x + 0.5) * step);
    for (let x = left, until = left; x < right; x = until) {
      const fill = fillOf(x);
      until = steadyUntil(map, fill, x, right, fillOf);
      const add = (from, to, what) => raster.add(x, until, toY(low + to), toY(low + from), what);
      if (fill.cached) {
        add(0, slots, paint.cached);
        continue;
      }
      add(0, fill.out, paint.internal);
      add(fill.out, fill.used, used);
      add(fill.used, fill.kept, paint.reserved);
      add(fill.kept, slots, paint.internal);
    }
  }
}

// The pixel column up to which a segment looks as it does at `x`. A full segment stays full until
// its first token falls out of the window; tokens outside the window stay outside.
function steadyUntil(map, fill, x, right, fillOf) {
  if (fill.cached || fill.out >= fill.slots) return right;
  if (fill.used < fill.slots || fill.out > 0) return x + 1;
  if (!map.window) return right;
  let low = x + 1;
  let high = right;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (fillOf(middle).out > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}
