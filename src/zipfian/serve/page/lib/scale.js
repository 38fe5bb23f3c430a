// From numbers to pixels, and round numbers to write beside an axis.

export function scale({ from, to, log = false }, start, end) {
  const f = log ? Math.log10 : (value) => value;
  const [a, b] = [f(from), f(to)];
  const span = b - a || 1;
  return (value) => start + ((f(log ? Math.max(value, from) : value) - a) / span) * (end - start);
}

export function ticks({ from, to, log = false }, about = 5) {
  if (log) {
    const out = [];
    for (let power = Math.ceil(Math.log10(from) - 1e-9); power <= Math.log10(to) + 1e-9; power++) out.push(10 ** power);
    return out;
  }
  const raw = (to - from) / about || 1;
  const size = 10 ** Math.floor(Math.log10(raw));
  const step = [1, 2, 2.5, 5, 10].map((n) => n * size).find((one) => one >= raw * 0.999) ?? size;
  const out = [];
  for (let at = Math.ceil(from / step - 1e-9) * step; at <= to + step * 1e-6; at += step) out.push(Math.abs(at) < step * 1e-9 ? 0 : at);
  return out;
}

/** A number beside an axis. */
export function tick(value) {
  const size = Math.abs(value);
  if (size >= 10000) return `${+(value / 1000).toFixed(1)}k`.replace("-", "−");
  return String(+value.toPrecision(size >= 1000 ? 4 : 3)).replace("-", "−");
}
