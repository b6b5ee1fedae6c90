// Draws each figure when it comes near the window, fits legends to narrow screens, and marks the section in view.
"use strict";
(() => {
  window.andreaConfig = { responsive: true, displayModeBar: "hover", displaylogo: false, modeBarButtonsToRemove: ["lasso2d", "select2d", "sendChartToCloud"],
    plotlyServerURL: "" };
  window.andreaLook = {
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: "#1f2733" },
    paper_bgcolor: "white", hoverlabel: { bgcolor: "#ffffff", bordercolor: "#cfd6e1", font: { size: 12, color: "#1f2733" } },
  };
  const waiting = new Map();
  const drawNow = (element) => {
    const draw = waiting.get(element);
    waiting.delete(element);
    if (draw) draw();
  };
  const watcher = new IntersectionObserver(
    (entries) => entries.filter((entry) => entry.isIntersecting).forEach((entry) => {
      watcher.unobserve(entry.target);
      drawNow(entry.target);
    }),
    { rootMargin: "1500px 0px" },
  );
  window.andreaWhenSeen = (element, draw) => {
    waiting.set(element, draw);
    watcher.observe(element);
  };
  window.addEventListener("beforeprint", () => [...waiting.keys()].forEach(drawNow));

  // A stage's name stands above its band (its part of the axis is in the annotation's own name) if there is room for it.
  const roomy = (layout, width) => (layout.annotations || []).filter((note) => {
    const part = /^stage ([\d.]+)$/.exec(note.name || "");
    return !part || Number(part[1]) * (width - 110) > 6.5 * note.text.length;
  });

  // On a narrow screen a legend beside the figure would leave the figure no room: it goes below, and the figure grows.
  function fitted(layout, traces, width) {
    const listed = traces.filter((t) => t.showlegend !== false && t.name).length;
    if (width >= 700 || layout.showlegend === false || listed < 2 || layout.legend.orientation === "h") return layout;
    const rows = Math.ceil(listed / Math.max(1, Math.floor(width / 170)));
    const room = 20 * rows + 50;
    const body = layout.height - 80;
    const legend = { ...layout.legend, orientation: "h", x: 0, xanchor: "left", y: -52 / body, yanchor: "top" };
    return { ...layout, height: layout.height + room, legend, margin: { ...layout.margin, b: room + 40 } };
  }

  for (const element of document.querySelectorAll("div.figure[data-spec]")) {
    window.andreaWhenSeen(element, () => {
      const spec = JSON.parse(document.getElementById(element.dataset.spec).textContent);
      const narrowed = fitted(spec.layout, spec.data, element.clientWidth);
      const layout = { ...narrowed, annotations: roomy(narrowed, element.clientWidth) };
      if ((layout.yaxis || {}).scaleanchor) {
        layout.height = Math.min(layout.height, element.clientWidth + 40);
        if (element.clientWidth < 480) spec.data.filter((t) => t.textfont).forEach((t) => { t.textfont.size = 9; });
      }
      element.style.height = `${layout.height}px`;
      window.Plotly.newPlot(element, spec.data, layout, window.andreaConfig);
    });
  }

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const sections = [...document.querySelectorAll("main > section")];
  const mark = () => {
    const current = sections.filter((s) => s.getBoundingClientRect().top < 140).pop() || sections[0];
    links.forEach((link, id) => link.classList.toggle("here", current && id === current.id));
  };
  document.addEventListener("scroll", mark, { passive: true });
  mark();
})();
