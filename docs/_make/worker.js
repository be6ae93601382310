// Search runs in a worker, and browsers allow none to a page that was opened as a file. Then an invisible frame takes its place.
if (location.protocol === "file:") {
  window.IFrameWorker = window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.srcdoc = "<!doctype html><title>search</title>";
      this.ready = new Promise((resolve, reject) => {
        frame.addEventListener("load", () => {
          const inner = frame.contentWindow;
          const load = (source) =>
            new Promise((done, failed) => {
              const script = inner.document.createElement("script");
              Object.assign(script, { src: source, onload: done, onerror: failed });
              inner.document.head.append(script);
            });
          inner.postMessage = (data) => this.dispatchEvent(new MessageEvent("message", { data }));
          inner.importScripts = (...sources) => sources.reduce((before, one) => before.then(() => load(one)), Promise.resolve());
          load(url).then(() => resolve(inner), reject);
        });
      });
      document.body.append(frame);
    }
    postMessage(data) {
      this.ready.then((inner) => inner.dispatchEvent(new inner.MessageEvent("message", { data })));
    }
  };
}
