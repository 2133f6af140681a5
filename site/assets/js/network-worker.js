/** The leader's network, computed in a worker of a frame that has no address, no network and no way to this page but messages. */

const MAX_MS = 5000;
const MAX_TEXT = 12_000_000;
/** What the frame may do: start one worker from text of ours. The worker inherits it. */
const POLICY = "default-src 'none'; script-src 'unsafe-inline' blob:; worker-src blob:";
const WORKER = `
let network = null;
onmessage = ({ data }) => {
  try {
    network ??= readNetwork(data.text);
    postMessage({ id: data.id, move: chosenMove(run(network, data.numbers, data.shape), data.actions, data.legal) });
  } catch {
    postMessage({ id: data.id, move: null });
  }
};`;
const FRAME = `
let worker = null;
onmessage = ({ data }) => {
  if (!worker) {
    worker = new Worker(URL.createObjectURL(new Blob([data.source], { type: "text/javascript" })));
    worker.onmessage = (answer) => parent.postMessage(answer.data, "*");
    worker.onerror = () => parent.postMessage({ id: null, move: null }, "*");
  } else worker.postMessage(data);
};
parent.postMessage("ready", "*");`;

export class NetworkWorker {
  constructor(frame, text) {
    this.frame = frame;
    this.text = text;
    this.asked = 0;
  }

  /**
   * Loads a network.
   *
   * @param {string} address
   * @returns {Promise<NetworkWorker|null>} null where it cannot be played
   */
  static async load(address) {
    const addresses = [address, new URL("network.js", import.meta.url)];
    const answers = await Promise.all(addresses.map((one) => fetch(one).catch(() => null)));
    if (!answers.every((answer) => answer?.ok)) return null;
    const [text, source] = await Promise.all(answers.map((answer) => answer.text()));
    if (text.length > MAX_TEXT) return null;
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "allow-scripts");
    frame.hidden = true;
    frame.title = "The leader’s network";
    frame.srcdoc = `<meta http-equiv="Content-Security-Policy" content="${POLICY}"><script>${FRAME}</script>`;
    const isReady = heard(frame, (data) => data === "ready");
    document.body.append(frame);
    if (!(await isReady)) {
      frame.remove();
      return null;
    }
    // A module of a frame without an origin would not load: the worker is a classic script.
    const script = source.replace(/^export /gm, "");
    frame.contentWindow.postMessage({ source: `"use strict";\n${script}${WORKER}` }, "*");
    return new NetworkWorker(frame, text);
  }

  /**
   * The network's move.
   *
   * @param {import("./game-rules.js").Position} position
   * @returns {Promise<number|null>} null, and never again a move, where it fails or takes too long; it may be illegal
   */
  async move(position) {
    this.asked += 1;
    const id = this.asked;
    const answer = heard(this.frame, (data) => data?.id === id || data?.id === null);
    const asked = { id, text: this.text, ...position.observation, actions: position.rules.actions, legal: position.legal };
    this.frame.contentWindow.postMessage(asked, "*");
    const move = (await answer)?.move;
    if (Number.isInteger(move)) return move;
    this.frame.remove();
    return null;
  }
}

/** The first message of a frame that fits; null after some seconds. */
function heard(frame, fits) {
  return new Promise((resolve) => {
    const listen = ({ source, data }) => {
      if (source === frame.contentWindow && fits(data)) end(data);
    };
    const timer = setTimeout(() => end(null), MAX_MS);
    const end = (data) => {
      clearTimeout(timer);
      window.removeEventListener("message", listen);
      resolve(data);
    };
    window.addEventListener("message", listen);
  });
}
