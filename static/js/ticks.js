// Ticking rows. The form works without this; here come the counts, ranges and the
// box that ticks them all.
"use strict";
(() => {
  let last = null;

  const boxes = () => [...document.querySelectorAll("[data-tick]")];

  // data-count: the number ticked; data-needs-ticks: only there when something is.
  const count = () => {
    const all = boxes(), ticked = all.filter((box) => box.checked).length;
    for (const place of document.querySelectorAll("[data-count]")) place.textContent = ticked.toLocaleString("en");
    for (const part of document.querySelectorAll("[data-needs-ticks]")) part.hidden = ticked === 0;
    for (const head of document.querySelectorAll("[data-tick-all]")) {
      head.checked = ticked > 0 && ticked === all.length;
      head.indeterminate = ticked > 0 && ticked < all.length;
    }
  };

  // changed tells everybody else, who listen for changes of form controls.
  const changed = () => document.dispatchEvent(new Event("change"));

  const range = (box) => {
    const all = boxes(), from = all.indexOf(last), to = all.indexOf(box);
    if (from < 0 || to < 0) return;
    for (const other of all.slice(Math.min(from, to), Math.max(from, to) + 1)) other.checked = box.checked;
  };

  document.addEventListener("click", (event) => {
    if (!(event.target instanceof Element)) return;
    const box = event.target.closest("[data-tick]");
    if (box) {
      if (event.shiftKey) range(box);
      last = box;
      changed();
    }
    const head = event.target.closest("[data-tick-all]");
    if (head) {
      for (const other of boxes()) other.checked = head.checked;
      changed();
    }
    if (event.target.closest("[data-untick]")) {
      event.preventDefault();
      for (const other of boxes()) other.checked = false;
      changed();
    }
  });
  document.addEventListener("change", count);
  document.addEventListener("htmx:after:swap", count);
  window.addEventListener("pageshow", count); // the browser may have restored ticks

  // tick is what the keyboard does with a row.
  window.parkade.tick = (row, shift) => {
    const box = row?.querySelector("[data-tick]");
    if (!box) return;
    box.checked = shift ? true : !box.checked;
    if (shift) range(box);
    last = box;
    changed();
  };
  count();
})();
