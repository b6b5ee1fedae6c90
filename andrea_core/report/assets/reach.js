// Geometry of the ternary view, without a page: where a point lies, and what bounds let three groups reach.
"use strict";
(() => {
  const sumOf = (vector, offset, held) => held.reduce((total, k) => total + vector[offset + k], 0);
  const place = (p) => {
    const total = p[0] + p[1] + p[2];
    return [(p[2] + p[0] / 2) / total, (Math.sqrt(0.75) * p[0]) / total];
  };

  function hull(points) {
    const sorted = points.map((p) => ({ p, at: place(p) })).sort((u, v) => u.at[0] - v.at[0] || u.at[1] - v.at[1]);
    const cross = (o, u, v) => (u.at[0] - o.at[0]) * (v.at[1] - o.at[1]) - (u.at[1] - o.at[1]) * (v.at[0] - o.at[0]);
    const half = (list) => {
      const kept = [];
      for (const q of list) {
        while (kept.length > 1 && cross(kept[kept.length - 2], kept[kept.length - 1], q) <= 1e-12) kept.pop();
        kept.push(q);
      }
      return kept.slice(0, -1);
    };
    const outline = sorted.length < 3 ? sorted : [...half(sorted), ...half([...sorted].reverse())];
    return [...outline, outline[0]].map((q) => q.p);
  }

  // The sums of disjoint groups under box bounds fill exactly { lower <= s <= upper, sum = 1 }: all its vertices have
  // every coordinate but one at a bound.
  function reach(lower, upper, members) {
    const used = new Set(members.flat());
    const others = [...lower.keys()].filter((k) => !used.has(k));
    const groups = others.length ? [...members, others] : members;
    const low = groups.map((g) => sumOf(lower, 0, g));
    const high = groups.map((g) => Math.min(1, sumOf(upper, 0, g)));
    const corners = [];
    for (let free = 0; free < groups.length; free += 1) {
      for (let bits = 0; bits < 1 << groups.length; bits += 1) {
        if (bits & (1 << free)) continue;
        const point = groups.map((_, j) => (bits & (1 << j) ? high[j] : low[j]));
        point[free] = 1 - point.reduce((t, v, j) => (j === free ? t : t + v), 0);
        const fits = point[free] >= low[free] - 1e-9 && point[free] <= high[free] + 1e-9;
        const shown = point[0] + point[1] + point[2];
        if (fits && shown > 1e-9) corners.push([0, 1, 2].map((j) => Math.max(0, point[j]) / shown));
      }
    }
    return corners.length ? hull(corners) : [];
  }

  globalThis.andreaReach = { place, hull, reach, sumOf };
})();
