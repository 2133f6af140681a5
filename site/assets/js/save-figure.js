/** Saves the figure of intervals as a file: the SVG as it looks now, with its colours and letters, or a PNG of it. */

import { el } from "./dom.js";
import { saveFile } from "./site.js";

/** What the stylesheet sets on the figure's parts. */
const STYLES = ["fill", "stroke", "stroke-width", "stroke-dasharray", "opacity", "font-family", "font-size", "font-weight", "text-anchor"];
/** Pixels of the PNG for each of the figure. */
const SCALE = 2;

for (const figure of document.querySelectorAll("figure.pr-plotted")) {
  const drawing = figure.querySelector("svg");
  const save = (form) => el("button", { type: "button", class: "pr-button", onclick: () => void saved(drawing, form, figure.dataset.name) },
    `Save as ${form.toUpperCase()}`);
  figure.append(el("div", { class: "pr-turners" }, save("svg"), save("png")));
}

async function saved(drawing, form, name) {
  const content = new Blob([new XMLSerializer().serializeToString(complete(drawing))], { type: "image/svg+xml" });
  saveFile(form === "svg" ? content : await painted(content, drawing.viewBox.baseVal), `${name}-intervals.${form}`);
}

/** A copy that needs no stylesheet. */
function complete(drawing) {
  const copy = drawing.cloneNode(true);
  const originals = [drawing, ...drawing.querySelectorAll("*")];
  const { width, height } = drawing.viewBox.baseVal;
  [copy, ...copy.querySelectorAll("*")].forEach((part, index) => {
    const style = getComputedStyle(originals[index]);
    for (const name of STYLES) part.setAttribute(name, style.getPropertyValue(name));
    part.removeAttribute("class");
  });
  copy.setAttribute("width", width);
  copy.setAttribute("height", height);
  copy.setAttribute("style", `background:${getComputedStyle(document.body).backgroundColor}`);
  return copy;
}

async function painted(content, { width, height }) {
  const address = URL.createObjectURL(content);
  const picture = new Image();
  picture.src = address;
  await picture.decode();
  const canvas = el("canvas", { width: SCALE * width, height: SCALE * height });
  canvas.getContext("2d").drawImage(picture, 0, 0, SCALE * width, SCALE * height);
  URL.revokeObjectURL(address);
  return new Promise((done) => canvas.toBlob(done, "image/png"));
}
