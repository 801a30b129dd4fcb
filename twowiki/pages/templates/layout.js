"use strict";
(() => {
  // a table wider than its frame says so; the sizes are those of the last layout, none is forced
  const watch = new ResizeObserver((seen) => {
    const frames = new Set(seen.map((one) => one.target.closest(".scroll")));
    const wide = [...frames].map((frame) => [frame, frame.scrollWidth > frame.clientWidth + 1]);
    for (const [frame, is] of wide) frame.classList.toggle("wide", is);
  });
  for (const one of document.querySelectorAll(".scroll, .scroll > table")) watch.observe(one);
})();
