"use strict";
// Browsers start no worker for a page that was opened as a file. Search runs in one, so
// there an invisible frame stands in for it, with the same messages in both directions.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = (data) => this.receive(data);
      this.ready = new Promise((resolve) => {
        const script = this.inner.document.createElement("script");
        script.src = url;
        script.onload = resolve;
        this.inner.document.body.append(script);
      });
    }
    receive(data) {
      const message = new MessageEvent("message", { data });
      this.dispatchEvent(message);
      this.onmessage?.(message);
    }
    postMessage(data) {
      this.ready.then(() =>
        this.inner.dispatchEvent(new this.inner.MessageEvent("message", { data })),
      );
    }
  };
}
