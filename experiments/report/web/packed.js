// Columns of numbers as map_json.h writes them.

function bytesOf(base64) {
  const text = atob(base64);
  const found = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) found[i] = text.charCodeAt(i);
  return found;
}

function unpacked(base64) {
  const source = bytesOf(base64);
  const numbers = [];
  let before = 0;
  for (let at = 0; at < source.length;) {
    let zigzag = 0;
    // Beyond 31 bits JavaScript's shifts lose digits; products do not.
    for (let factor = 1;; factor *= 128) {
      const byte = source[at++];
      zigzag += (byte & 127) * factor;
      if (byte < 128) break;
    }
    before += zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2;
    numbers.push(before);
  }
  return Float64Array.from(numbers);
}

function unpackedAll(columns) {
  return Object.fromEntries(Object.entries(columns).map(([name, text]) => [name, unpacked(text)]));
}
