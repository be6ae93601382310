// discreet-client: randomise a text in the browser, so that nobody else ever sees it.
// One file, no dependencies; the same reports as Python's discreet.local, byte for byte, from the same random numbers.
// Works as <script> (global `discreetClient`), CommonJS (`require`) and from modules (globalThis.discreetClient).
//
//   const channel = {p: 3139872686, q: 1155094610, limit: 0};   // 2^32 p, 2^32 q, words to keep; 0: all
//   const client = await discreetClient.create({channel, vocabulary: ["fever", "cough"]});
//   await fetch("/reports", {method: "POST", body: await client.report(text)});
(function (root, make) {
  "use strict";
  const client = make();
  if (typeof module === "object" && module.exports) module.exports = client;
  root.discreetClient = client;
})(typeof globalThis === "object" ? globalThis : this, function () {
  "use strict";

  const HEADER = 72, ONE = 4294967296;

  function fail(message) { throw new RangeError("discreet: " + message); }

  function checkChannel(channel) {
    const {p, q, limit = 0} = channel || {};
    const whole = (x) => Number.isInteger(x);
    if (!whole(p) || !whole(q) || !(0 < q && q < p && p < ONE)) {
      fail("a channel needs whole numbers 0 < q < p < 2^32, but has p = " + p + ", q = " + q + ".");
    }
    if (!whole(limit) || limit < 0 || limit >= 2147483648) fail("limit must be 0 or a number of words.");
    return {p, q, limit};
  }

  // Random bytes come from the browser's secure source, in calls of at most 65,536 bytes.
  function secureBytes(n) {
    const bytes = new Uint8Array(n);
    for (let i = 0; i < n; i += 65536) crypto.getRandomValues(bytes.subarray(i, Math.min(n, i + 65536)));
    return bytes;
  }

  // Uniform 32-bit numbers, little-endian, in order from a source of bytes.
  function numbersFrom(read) {
    return function (n) {
      const bytes = read(4 * n), out = new Uint32Array(n);
      for (let i = 0; i < n; i++) {
        out[i] = (bytes[4 * i] | (bytes[4 * i + 1] << 8) | (bytes[4 * i + 2] << 16) | (bytes[4 * i + 3] << 24)) >>> 0;
      }
      return out;
    };
  }

  function hex(bytes) { return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join(""); }

  function below(n, numbers) {
    const last = ONE - (ONE % n);
    for (;;) {
      const number = numbers(1)[0];
      if (number < last) return number % n;
    }
  }

  // Zeros and ones, one for each word: first words are chosen where there are too many, then each bit is tossed.
  function randomise(channel, words, nWords, numbers) {
    const present = Array.from(new Set(words)).sort((a, b) => a - b);
    let kept = present;
    if (channel.limit && present.length > channel.limit) {
      for (let i = 0; i < channel.limit; i++) {
        const j = i + below(present.length - i, numbers);
        [present[i], present[j]] = [present[j], present[i]];
      }
      kept = present.slice(0, channel.limit);
    }
    const here = new Set(kept), drawn = numbers(nWords), bits = new Uint8Array(nWords);
    for (let t = 0; t < nWords; t++) bits[t] = drawn[t] < (here.has(t) ? channel.p : channel.q) ? 1 : 0;
    return bits;
  }

  // Words as discreet.corpus.Tokenizer has them by default: lower case, runs of two or more letters, digits or _.
  function tokens(text) {
    return text.toLowerCase().match(/[\p{L}\p{N}_]{2,}/gu) || [];
  }

  async function digest(vocabulary) {
    const text = vocabulary.map((word) => word + "\n").join("");
    return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  }

  function pack(channel, vocabularyDigest, number, bits) {
    const raw = new Uint8Array(HEADER + Math.ceil(bits.length / 8)), view = new DataView(raw.buffer);
    raw.set([0x44, 0x53, 0x43, 0x52, 1]);
    view.setUint32(8, bits.length, true);
    view.setUint32(12, channel.limit, true);
    view.setUint32(16, channel.p, true);
    view.setUint32(20, channel.q, true);
    raw.set(vocabularyDigest, 24);
    raw.set(number, 56);
    for (let t = 0; t < bits.length; t++) raw[HEADER + (t >> 3)] |= bits[t] << (t & 7);
    return raw;
  }

  // The four losses of one report; they are always told together.
  function guarantees(channel, nWords) {
    const {p, q, limit} = checkChannel(channel);
    const present = Math.log(p) - Math.log(q), absent = Math.log(ONE - q) - Math.log(ONE - p);
    const one = Math.max(present, absent), replaced = present + absent;
    return {
      wordAddedOrRemoved: one,
      wordReplaced: replaced,
      document: limit ? Math.min(limit * replaced, nWords * one) : null,
      documentWithoutLimit: nWords * one,
    };
  }

  // storage: localStorage or anything with getItem and setItem; a document asked for twice gets the same report.
  async function create({channel, vocabulary, storage = null, prefix = "discreet:", randomBytes = secureBytes}) {
    const checked = checkChannel(channel), about = await digest(vocabulary);
    const columns = new Map(vocabulary.map((word, t) => [word, t]));
    if (columns.size !== vocabulary.length) fail("the vocabulary repeats a word.");
    const memory = new Map(), place = storage || {
      getItem: (key) => memory.get(key) || null, setItem: (key, value) => { memory.set(key, value); },
    };
    // Kept under a digest with a secret of this device, so that the store does not show what reports are about.
    function secret() {
      const known = place.getItem(prefix + "secret");
      if (known) return known;
      place.setItem(prefix + "secret", hex(secureBytes(32)));
      return place.getItem(prefix + "secret");
    }
    async function reportOfWords(words, name) {
      for (const word of words) {
        if (!Number.isInteger(word) || word < 0 || word >= vocabulary.length) fail("a word's number is off.");
      }
      const document = name === undefined ? Array.from(new Set(words)).sort((a, b) => a - b) : String(name);
      const tag = JSON.stringify([secret(), checked.p, checked.q, checked.limit, hex(about), document]);
      const key = prefix + hex(new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(tag))));
      const kept = place.getItem(key);
      if (kept) return Uint8Array.from(atob(kept), (c) => c.charCodeAt(0));
      const bits = randomise(checked, words, vocabulary.length, numbersFrom(randomBytes));
      const raw = pack(checked, about, randomBytes(16), bits), text = btoa(String.fromCharCode(...raw));
      place.setItem(key, text);
      return raw;
    }
    function report(text, name) {
      return reportOfWords(tokens(text).filter((t) => columns.has(t)).map((t) => columns.get(t)), name);
    }
    return {report, reportOfWords, guarantees: () => guarantees(checked, vocabulary.length)};
  }

  return {create, randomise, tokens, pack, digest, guarantees, numbersFrom};
});
