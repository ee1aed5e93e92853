// The timeline draws goroutines and streams as tracks on a canvas.

const rowHeight = 18, titleHeight = 18, axisHeight = 22;
const paperWidth = 660; // CSS pixels, within A4 and Letter with a browser's margins

function timeText(ns, step) {
  const units = [[1e9, "s"], [1e6, "ms"], [1e3, "µs"], [1, "ns"]];
  const size = Math.max(Math.abs(ns), step || 0);
  const [one, name] = units.find(([u]) => size >= u) || units[3];
  const digits = step ? Math.max(0, Math.ceil(Math.log10(one / step) - 1e-9)) : 3;
  return Number((ns / one).toFixed(Math.min(digits, 9))) + " " + name;
}

// prepare adds to each row the largest end up to each event, by which the first event
// that reaches into a part of the time is found even where events overlap.
function prepare(data) {
  let y = axisHeight;
  for (const track of data.tracks) {
    track.y = y;
    y += titleHeight;
    for (const row of track.rows) {
      row.y = y;
      y += rowHeight;
      let last = 0;
      row.reach = row.start.map((s, i) => (last = Math.max(last, s + row.duration[i])));
    }
    y += 6;
  }
  data.height = y;
}

// firstAbove is the first index of a sorted list whose value is above v.
function firstAbove(list, v) {
  let low = 0, high = list.length;
  while (low < high) {
    const mid = (low + high) >> 1;
    if (list[mid] > v) high = mid;
    else low = mid + 1;
  }
  return low;
}

class Timeline {
  constructor(canvas, data) {
    this.canvas = canvas;
    this.data = data;
    this.out = document.getElementById("event");
    this.from = 0;
    this.to = this.end = Math.max(data.end, 1);
    this.selected = null; // {track, row, i}
    prepare(data);
    canvas.style.height = data.height + "px";
    new ResizeObserver(() => this.draw()).observe(canvas);
    this.listen();
  }

  colours() {
    const style = getComputedStyle(this.canvas);
    const kinds = this.data.kinds.map((k) => getComputedStyle(document.querySelector("#legend ." + k)).backgroundColor);
    return { text: style.color, grid: style.borderTopColor, page: style.backgroundColor, kinds };
  }

  draw() {
    this.drawn = this.drawn || requestAnimationFrame(() => {
      this.drawn = 0;
      this.paint();
    });
  }

  paint() {
    const { canvas, data } = this;
    const width = canvas.clientWidth, ratio = window.devicePixelRatio || 1;
    if (!width) return;
    canvas.width = Math.round(width * ratio);
    canvas.height = Math.round(data.height * ratio);
    const g = canvas.getContext("2d");
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif";
    g.textBaseline = "middle";
    const colours = this.colours();
    this.axis(g, width, colours);
    for (const track of data.tracks) {
      g.fillStyle = colours.text;
      g.font = "bold 11px system-ui, sans-serif";
      g.fillText(track.name, 4, track.y + titleHeight / 2);
      g.font = "11px system-ui, sans-serif";
      for (const row of track.rows) this.row(g, width, row, colours);
    }
    this.outline(g, width, colours);
  }

  axis(g, width, colours) {
    const span = this.to - this.from;
    const rough = span / Math.max(2, width / 110);
    const power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    g.strokeStyle = colours.grid;
    g.fillStyle = colours.text;
    g.lineWidth = 1;
    g.beginPath();
    for (let t = Math.ceil(this.from / step) * step; t <= this.to; t += step) {
      const x = Math.round((t - this.from) / span * width) + 0.5;
      g.moveTo(x, axisHeight - 4);
      g.lineTo(x, this.data.height);
      const text = timeText(t, step);
      if (x + 4 + g.measureText(text).width < width) g.fillText(text, x + 3, axisHeight / 2 - 1);
    }
    g.stroke();
  }

  row(g, width, row, colours) {
    const scale = width / (this.to - this.from);
    const stop = firstAbove(row.start, this.to);
    let painted = -1; // pixels up to here are
    for (let i = firstAbove(row.reach, this.from); i < stop; i++) {
      const x = Math.max((row.start[i] - this.from) * scale, -1);
      const end = Math.min((row.start[i] + row.duration[i] - this.from) * scale, width + 1);
      if (end < 0 || end <= painted) continue;
      const w = Math.max(end - x, 1);
      const gap = w > 3 ? 0.5 : 0;
      g.fillStyle = colours.kinds[row.kind[i]];
      g.fillRect(x, row.y, w - gap, rowHeight - 2);
      painted = x + w - 0.01;
      if (w > 34) this.text(g, x, w, row, i);
    }
  }

  text(g, x, w, row, i) {
    const left = Math.max(x, 0) + 3;
    const room = Math.floor((x + w - left - 3) / 6);
    if (room < 4) return;
    const name = this.data.labels[row.label[i]].name;
    // Of the colours, black has less contrast than white only on that of operations.
    const kind = this.data.kinds[row.kind[i]];
    g.fillStyle = kind === "operation" ? "#fff" : kind === "span" ? this.spanText() : "#000";
    g.fillText(name.length > room ? name.slice(0, room - 1) + "…" : name, left, row.y + rowHeight / 2 - 1);
  }

  spanText() { return getComputedStyle(this.canvas).color; }

  outline(g, width, colours) {
    if (!this.selected) return;
    const { row, i } = this.selected;
    const scale = width / (this.to - this.from);
    g.strokeStyle = colours.text;
    g.lineWidth = 2;
    g.strokeRect((row.start[i] - this.from) * scale - 1, row.y - 1, Math.max(row.duration[i] * scale, 1) + 2, rowHeight);
  }

  // show moves the part that is shown, which stays within the run.
  show(from, to) {
    const span = Math.min(Math.max(to - from, 20), this.end);
    this.from = Math.min(Math.max(from, 0), this.end - span);
    this.to = this.from + span;
    this.draw();
  }

  zoom(factor, at = 0.5) {
    const span = this.to - this.from, t = this.from + span * at;
    this.show(t - span * factor * at, t + span * factor * (1 - at));
  }

  move(part) {
    const d = (this.to - this.from) * part;
    this.show(this.from + d, this.to + d);
  }

  // at is the event at a place of the canvas: the nearest within two pixels.
  at(x, y) {
    const t = this.from + x / this.canvas.clientWidth * (this.to - this.from);
    const slack = 2 * (this.to - this.from) / this.canvas.clientWidth;
    for (const track of this.data.tracks) {
      for (const row of track.rows) {
        if (y < row.y || y >= row.y + rowHeight) continue;
        let best = null, distance = slack;
        for (let i = firstAbove(row.reach, t - slack); i < row.start.length && row.start[i] <= t + slack; i++) {
          const d = Math.max(row.start[i] - t, t - row.start[i] - row.duration[i], 0);
          if (d <= distance) [best, distance] = [{ track, row, i }, d];
        }
        return best;
      }
    }
    return null;
  }

  select(found) {
    this.selected = found;
    this.draw();
    if (!found) return;
    const { track, row, i } = found, label = this.data.labels[row.label[i]];
    this.out.textContent = `${label.name}: ${timeText(row.duration[i])}, from ${timeText(row.start[i])}, ${track.name}` + (label.detail ? ` (${label.detail})` : "");
  }

  // step selects the next or previous event, in the order of tracks, rows and starts.
  step(by) {
    const rows = this.data.tracks.flatMap((track) => track.rows.map((row) => ({ track, row })));
    let at = this.selected ? rows.findIndex((r) => r.row === this.selected.row) : by > 0 ? 0 : rows.length - 1;
    let i = this.selected ? this.selected.i + by : by > 0 ? 0 : rows[at].row.start.length - 1;
    if (i < 0 || i >= rows[at].row.start.length) {
      at = (at + by + rows.length) % rows.length;
      i = by > 0 ? 0 : rows[at].row.start.length - 1;
    }
    const { track, row } = rows[at];
    const span = this.to - this.from, middle = row.start[i] + row.duration[i] / 2;
    if (middle < this.from || middle > this.to) this.show(middle - span / 2, middle + span / 2);
    this.select({ track, row, i });
  }

  listen() {
    const { canvas } = this;
    const place = (e) => [e.offsetX, e.offsetY];
    canvas.addEventListener("wheel", (e) => {
      if (!e.ctrlKey && document.activeElement !== canvas) return; // the page scrolls
      e.preventDefault();
      if (Math.abs(e.deltaX) > Math.abs(e.deltaY)) this.move(e.deltaX / canvas.clientWidth);
      else this.zoom(1.0015 ** e.deltaY, e.offsetX / canvas.clientWidth);
    }, { passive: false });
    let drag = null;
    canvas.addEventListener("pointerdown", (e) => {
      drag = { x: e.offsetX, from: this.from, to: this.to };
      canvas.setPointerCapture(e.pointerId);
    });
    canvas.addEventListener("pointermove", (e) => {
      if (!drag) return this.select(this.at(...place(e)));
      const d = (drag.x - e.offsetX) / canvas.clientWidth * (drag.to - drag.from);
      this.show(drag.from + d, drag.to + d);
    });
    for (const name of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(name, (e) => {
        if (drag && Math.abs(drag.x - e.offsetX) < 3) this.select(this.at(...place(e)));
        drag = null;
      });
    }
    canvas.addEventListener("dblclick", (e) => {
      const found = this.at(...place(e));
      if (!found) return;
      const start = found.row.start[found.i], d = found.row.duration[found.i];
      this.show(start - d / 4, start + d * 1.25);
    });
    const keys = {
      ArrowLeft: () => this.move(-0.2), ArrowRight: () => this.move(0.2),
      ArrowUp: () => this.zoom(0.6), ArrowDown: () => this.zoom(1 / 0.6),
      "+": () => this.zoom(0.6), "=": () => this.zoom(0.6), "-": () => this.zoom(1 / 0.6),
      Home: () => this.show(0, this.end), "0": () => this.show(0, this.end),
      n: () => this.step(1), p: () => this.step(-1),
    };
    canvas.addEventListener("keydown", (e) => {
      const act = keys[e.key.length === 1 ? e.key.toLowerCase() : e.key];
      if (!act || e.ctrlKey || e.metaKey || e.altKey) return;
      e.preventDefault();
      act();
    });
    for (const [id, act] of [["zoom-in", () => this.zoom(0.6)], ["zoom-out", () => this.zoom(1 / 0.6)], ["whole", () => this.show(0, this.end)]]) {
      document.getElementById(id).addEventListener("click", act);
    }
  }
}

(function start() {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("tracks");
  const timeline = canvas ? new Timeline(canvas, data) : null;
  const root = document.documentElement;
  themeSwitch(() => timeline && timeline.draw());
  tables();
  if (timeline) {
    // Paper is light: the canvas is painted before and after in its colours.
    let theme;
    addEventListener("beforeprint", () => {
      theme = root.dataset.theme;
      root.dataset.theme = "light";
      canvas.style.width = paperWidth + "px"; // the page has still the window's width
      timeline.paint();
    });
    addEventListener("afterprint", () => {
      if (theme) root.dataset.theme = theme;
      else delete root.dataset.theme;
      canvas.style.width = "";
      timeline.paint();
    });
    const begun = performance.now();
    timeline.paint();
    root.dataset.paintMs = (performance.now() - begun).toFixed(1);
  }
  root.dataset.tracks = data.tracks.length;
  root.dataset.events = data.events;
  root.dataset.ready = "true";
})();
