// Draws the ternary view: any three sources or groups, the walk's phases among them and each stage's exact reach.
"use strict";
(() => {
  const blob = document.getElementById("ternary-data");
  if (!blob) return;
  const data = JSON.parse(blob.textContent);
  const count = data.sources.length;
  const unpacked = (text) => new Float32Array(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  const weights = unpacked(data.weights);
  const before = unpacked(data.before);  // the phase just before each one, which a thinned walk does not show
  const figure = document.getElementById("ternary-figure");
  const preset = document.getElementById("ternary-preset");
  const selects = [0, 1, 2].map((i) => document.getElementById(`corner-${i}`));
  const boxes = [...document.querySelectorAll("input[data-corner]")];
  const groupNames = Object.keys(data.groups);
  let members = [[], [], []];
  let names = ["", "", ""];

  const option = (value, label) => {
    const made = document.createElement("option");
    made.value = value;
    made.textContent = label;
    return made;
  };
  const safe = (text) => text.replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");
  const keyOf = (corner) => (corner === "rest" ? "rest" : typeof corner === "number" ? `s${corner}` : `g${corner}`);

  // A corner's key says what it holds: s3 a source, gNAME a group, rest, or own for what was ticked in the table.
  const explicit = (key, i) =>
    key[0] === "s" ? [Number(key.slice(1))] : key[0] === "g" ? data.groups[key.slice(1)] : key === "own" ? members[i] : null;
  const labelOf = (key, held) =>
    key[0] === "s" ? data.sources[Number(key.slice(1))] : key[0] === "g" ? key.slice(1)
      : key === "rest" ? "the rest" : held.length ? held.map((k) => data.sources[k]).join(" + ") : "nothing";

  function resolve(latest) {
    const keys = selects.map((s) => s.value);
    const order = [latest, ...[0, 1, 2].filter((i) => i !== latest)];
    const taken = new Set();
    const held = [[], [], []];
    for (const i of order) {
      if (keys[i] === "rest") continue;
      held[i] = explicit(keys[i], i).filter((k) => !taken.has(k));
      held[i].forEach((k) => taken.add(k));
    }
    for (const i of order) {
      if (keys[i] !== "rest") continue;
      held[i] = [...Array(count).keys()].filter((k) => !taken.has(k));
      held[i].forEach((k) => taken.add(k));
    }
    members = held;
    names = keys.map((key, i) => labelOf(key, held[i]));
    boxes.forEach((b) => (b.checked = held[Number(b.dataset.corner)].includes(Number(b.dataset.source))));
  }

  const { place, sumOf } = globalThis.andreaReach;
  const reach = (stage) => (stage.lower ? globalThis.andreaReach.reach(stage.lower, stage.upper, members) : []);

  const faded = (hex, alpha) => {
    const part = (i) => parseInt(hex.slice(i, i + 2), 16);
    return `rgba(${part(1)},${part(3)},${part(5)},${alpha})`;
  };
  const symbolOf = (policy) => {
    const others = data.policies.filter((p) => p !== "random");
    const marks = ["arrow", "diamond", "square", "triangle-up", "cross", "star-triangle-down"];
    return policy === "random" ? "circle-open" : marks[others.indexOf(policy) % marks.length];
  };
  const trace = (points, more) => ({
    type: "scatterternary", a: points.map((p) => p && p[0]), b: points.map((p) => p && p[1]),
    c: points.map((p) => p && p[2]), cliponaxis: false, hoverinfo: "skip", showlegend: false, ...more,
  });

  function traces() {
    const rows = data.phase.length;
    const grouped = (from) => Array.from({ length: rows }, (_, i) => members.map((held) => sumOf(from, i * count, held)));
    const shares = (s) => { const t = s[0] + s[1] + s[2]; return t > 1e-9 ? s.map((v) => v / t) : null; };
    const sums = grouped(weights);
    const points = sums.map(shares);
    const earlier = grouped(before).map(shares);
    const mean = sums.reduce((t, s) => t + s[0] + s[1] + s[2], 0) / rows;
    document.getElementById("ternary-note").textContent =
      mean > 0.9995 ? "The three corners hold all the weight."
        : `The three corners hold ${(100 * mean).toFixed(1)} % of the weight, averaged over phases; places show their proportions.`;
    const heading = (i) => {
      if (!points[i] || !earlier[i]) return 0;
      const [x, y] = place(points[i]), [u, v] = place(earlier[i]);
      return (Math.atan2(x - u, y - v) * 180) / Math.PI;
    };
    const text = (i) => [`phase ${data.phase[i]}, from step ${data.step[i]}, ${safe(data.policies[data.policy[i]])}`,
      ...names.map((n, j) => `${safe(n)} ${sums[i][j].toFixed(3)}`)].join("<br>");
    const made = [];
    data.stages.forEach((stage, s) => {
      const group = { legendgroup: stage.name };
      made.push(trace(reach(stage), { ...group, mode: "lines", fill: "toself", fillcolor: faded(stage.colour, 0.1),
        line: { color: faded(stage.colour, 0.75), width: 1.5 } }));
    });
    data.stages.forEach((stage, s) => {
      const group = { legendgroup: stage.name };
      const mine = [...points.keys()].filter((i) => data.stage[i] === s);
      const pale = mine.length < 300 ? 0.4 : 0.16;
      const path = mine.flatMap((i, j) => (j && i - mine[j - 1] > 1 ? [null, points[i]] : [points[i]]));
      made.push(trace(path, { ...group, mode: "lines", line: { color: faded(stage.colour, pale), width: 1 } }));
      data.policies.forEach((policy, p) => {
        const spots = mine.filter((i) => data.policy[i] === p);
        if (!spots.length) return;
        const symbol = symbolOf(policy);
        const size = (symbol === "arrow" ? 10 : 7) * (rows < 400 ? 1 : 0.7);
        const angle = symbol === "arrow" ? spots.map(heading) : 0;
        made.push(trace(spots.map((i) => points[i]), { ...group, mode: "markers", hoverinfo: "text", text: spots.map(text),
          marker: { symbol, size, angle, color: faded(stage.colour, 0.85), line: { width: symbol === "arrow" ? 0.5 : 1.3,
            color: symbol === "arrow" ? "white" : faded(stage.colour, 0.85) } } }));
      });
      made.push(trace([null], { ...group, mode: "markers", showlegend: true, name: safe(stage.name),
        marker: { symbol: "square", size: 11, color: stage.colour } }));
    });
    data.policies.forEach((policy) => made.push(trace([null], { mode: "markers", showlegend: true, name: safe(`${policy} phase`),
      legendgroup: "marks", marker: { symbol: symbolOf(policy), size: 10, color: "#667085", line: { width: 1.3, color: "#667085" } } })));
    return made;
  }

  const shortened = (text) => safe(text.length > 30 ? `${text.slice(0, 29)}…` : text);
  function draw() {
    const axis = (i) => ({ title: { text: shortened(names[i]), font: { size: 13 } }, min: 0, gridcolor: "#e7eaf0",
      linecolor: "#98a2b3", tickformat: ".0%", tickfont: { size: 10, color: "#667085" }, tickvals: [0.2, 0.4, 0.6, 0.8], ticks: "" });
    const narrow = figure.clientWidth < 640;
    const height = Math.min(640, figure.clientWidth + 120);
    figure.style.height = `${height}px`;
    const layout = { ...window.andreaLook, height, margin: { l: 60, r: 60, t: 60, b: 60 },
      legend: narrow ? { orientation: "h", x: 0, y: -0.12, yanchor: "top" } : { x: 1, xanchor: "right", y: 1 },
      ternary: { sum: 1, bgcolor: "white", aaxis: axis(0), baxis: axis(1), caxis: axis(2) } };
    window.Plotly.react(figure, traces(), layout, window.andreaConfig);
  }

  function choose(corners) {
    corners.forEach((corner, i) => (selects[i].value = keyOf(corner)));
    resolve(0);
    draw();
  }

  for (const label of Object.keys(data.presets)) preset.append(option(label, label));
  preset.append(option("", "my own choice"));
  selects.forEach((select, i) => {
    data.sources.forEach((name, k) => select.append(option(`s${k}`, name)));
    groupNames.forEach((name) => select.append(option(`g${name}`, name)));
    select.append(option("rest", "the rest"), option("own", "ticked below"));
    select.addEventListener("change", () => { preset.value = ""; resolve(i); draw(); });
  });
  boxes.forEach((box) => box.addEventListener("change", () => {
    const corner = Number(box.dataset.corner), source = Number(box.dataset.source);
    members = members.map((held, i) => held.filter((k) => k !== source).concat(i === corner && box.checked ? [source] : []));
    selects.forEach((select) => (select.value = "own"));
    preset.value = "";
    resolve(corner);
    draw();
  }));
  preset.addEventListener("change", () => preset.value && choose(data.presets[preset.value]));
  window.andreaWhenSeen(figure, () => choose(Object.values(data.presets)[0]));
  document.querySelector("details.grid").addEventListener("toggle", () => window.dispatchEvent(new Event("resize")));
})();
