"use strict";
(() => {
  // a table wider than its frame says so
  const measure = () => {
    for (const frame of document.querySelectorAll(".scroll")) {
      frame.classList.toggle("wide", frame.scrollWidth > frame.clientWidth + 1);
    }
  };
  addEventListener("resize", measure);
  measure();
})();
