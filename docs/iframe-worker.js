// Search without a server: browsers start no Worker from a file: page, so its script runs in a frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      this.frame = frame;
      this.ready = new Promise((resolve) => {
        const begin = () => {
          document.body.append(frame);
          const inside = frame.contentWindow;
          inside.postMessage = (data) => {
            const event = new MessageEvent("message", { data });
            this.dispatchEvent(event);
            if (this.onmessage) this.onmessage(event);
          };
          inside.importScripts = () => {};  // word stems of other languages
          const script = inside.document.createElement("script");
          script.src = new URL(url, document.baseURI).href;
          script.onload = () => resolve(inside);
          inside.document.body.append(script);
        };
        if (document.body) begin();
        else addEventListener("DOMContentLoaded", begin);
      });
    }

    postMessage(data) {
      this.ready.then((inside) =>
        inside.dispatchEvent(new inside.MessageEvent("message", { data }))
      );
    }

    terminate() {
      this.frame.remove();
    }
  };
}
