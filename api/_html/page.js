"use strict";
// Switches: one at a time, each shows the kernel's source with another value of a toggle.
for (const data of document.querySelectorAll("script.ow-views")) {
  const article = data.closest("article");
  const code = article.querySelector(".ow-source .ow-code");
  const says = article.querySelector("[aria-live]");
  const switches = [...article.querySelectorAll(".ow-switch input, .ow-switch select")];
  let known = null; // it is parsed when it is first asked for
  const show = (number) => {
    known = known || JSON.parse(data.textContent);
    const view = known.views[number];
    code.innerHTML = view.rows.map((line) => known.lines[line]).join("");
    says.textContent = view.says;
  };
  const reset = (one) => {
    if (one.options) one.selectedIndex = [...one.options].findIndex((o) => o.defaultSelected);
    else one.checked = one.defaultChecked;
  };
  article.querySelector(".ow-switches").hidden = false;
  for (const one of switches) {
    one.addEventListener("change", () => {
      for (const other of switches) if (other !== one) reset(other);
      if (one.options) show(Number(one.value));
      else show(one.checked === one.defaultChecked ? 0 : Number(one.dataset.flips));
    });
  }
}
// Lines of the function: arrow keys go from one to the next, Enter to its first line of a kernel.
const lines = [...document.querySelectorAll(".ow-beside [data-l][tabindex]")];
const inKernels = (line) => document.querySelectorAll(`main [data-l="${line.dataset.l}"]`);
const go = (line) => line && line.focus();
lines.forEach((line, at) => {
  line.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const first = inKernels(line)[0];
    if (step) go(lines[at + step]);
    else if (event.key === "Enter" && first) first.scrollIntoView({ block: "center" });
    else return;
    event.preventDefault();
  });
});
// A line of a kernel: a click gives the focus to the line of the function that it is made of.
for (const main of document.querySelectorAll("main")) {
  main.addEventListener("click", (event) => {
    const linked = event.target.closest("[data-l]");
    if (linked && String(getSelection()) === "")
      go(lines.find((line) => line.dataset.l === linked.dataset.l));
  });
}
