// discreet-client: randomise a text in the browser, so that nobody else ever sees it.
// One file, no dependencies; the same reports as Python's discreet.local, byte for byte, from the same random numbers.
// Works as <script> (global `discreetClient`), CommonJS (`require`) and from modules (globalThis.discreetClient).
//
//   const channel = {p: 3139872686, q: 1155094610, limit: 0};   // 2^32 p, 2^32 q, words to keep; 0: all
//   const client = await discreetClient.create({channel, vocabulary: ["fever", "cough"], storage: localStorage});
//   await fetch("/reports", {method: "POST", body: await client.report(entry.text, entry.id)});
(function (root, make) {
  "use strict";
  const client = make();
  if (typeof module === "object" && module.exports) module.exports = client;
  root.discreetClient = client;
})(typeof globalThis === "object" ? globalThis : this, function () {
  "use strict";

  // The bytes of a report, as discreet.local.wire has them: ASCII "DSCR", version and marks, two zeros, then these.
  const AT = {bits: 8, limit: 12, p: 16, q: 20, vocabulary: 24, number: 56, packed: 72};
  const MAGIC = [0x44, 0x53, 0x43, 0x52], PLAIN = [1, 0], SEEDED = [2, 1], ONE = 4294967296;

  function fail(message) { throw new RangeError("discreet: " + message); }

  function checkChannel(channel) {
    const {p, q} = channel || {}, limit = (channel && channel.limit) ?? 0;  // a collector's status tells null for "all"
    const whole = (x) => Number.isInteger(x);
    if (!whole(p) || !whole(q) || !(0 < q && q < p && p < ONE)) {
      fail("a channel needs whole numbers 0 < q < p < 2^32, but has p = " + p + ", q = " + q + ".");
    }
    if (!whole(limit) || limit < 0 || limit >= 2147483648) fail("limit must be 0 or null (all), or a number of words.");
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

  // Combining marks belong to the letters before them, but for those of emoji and of musical and other signs.
  const LETTER = "[\\p{L}\\p{N}_]", MARK = "(?![\\u20d0-\\u20ff\\ufe00-\\ufe0f\\u{1f000}-\\u{10ffff}])[\\p{Mn}\\p{Mc}]";
  const MARKED = new RegExp(`${MARK}|[\\u200c\\u200d]`, "u");
  const MARKED_WORD = new RegExp(`${LETTER}(?:[\\u200c\\u200d]?(?:${LETTER}|${MARK}))+`, "gu");

  // Addresses of pages and mail, handles and entities are no words. Entities: those by number, and the five of XML and nbsp.
  const W = "[\\p{L}\\p{N}_]", WD = "[\\p{L}\\p{N}_-]";
  const LINK = new RegExp(`(?<!${W})(?:https?(?:://\\S*|:?/?(?:\u2026|\\.\\.+)|:(?=\\s|$)|(?=\\s*$))|www\\.\\S+` +
    `|(?:t\\.co|bit\\.ly|youtu\\.be|pic\\.twitter\\.com)/\\S*|[\\p{L}\\p{N}_.+-]{1,64}@${WD}{1,63}(?:\\.${WD}{1,63})*\\.(?!\\p{Nd})${WD}{1,63}` +
    `|(?:rt(?:\\s+| ?:\\s*)["\u201c]?)?@(?!\\p{Nd})${W}+(?:@${WD}+(?:\\.${WD}+)+|\\.bsky\\.social)?:?` +
    "|rt(?:\\s+| ?:\\s*)(?=https?://|www\\.|(?:t\\.co|bit\\.ly|youtu\\.be|pic\\.twitter\\.com)/))", "giu");
  const NAMED = {amp: "&", lt: "<", gt: ">", quot: '"', apos: "'", nbsp: "\u00a0"};

  function withoutLinks(text) {
    return text.replace(/&(?:amp;)*(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|(amp|lt|gt|quot|apos|nbsp));/g, (whole, ten, hex, name) => {
      const code = ten ? Number(ten) : parseInt(hex, 16);
      return name ? NAMED[name] : code > 31 && code < 0xd800 ? String.fromCodePoint(code) : " ";
    }).replace(LINK, " ");
  }

  // Words as discreet.corpus.Tokenizer has them: runs of two or more letters, digits or _, by default in lower case.
  function tokens(text, lowercase = true) {
    const plain = withoutLinks(text), lowered = lowercase ? plain.toLowerCase() : plain;
    return (MARKED.test(lowered) ? lowered.normalize("NFC").match(MARKED_WORD) : lowered.match(/[\p{L}\p{N}_]{2,}/gu)) || [];
  }

  // Words of a vocabulary that no text cut that way can have: with capitals, of one letter, or of several words.
  function unreachable(vocabulary, lowercase = true) {
    return vocabulary.filter((word) => { const own = tokens(word, lowercase); return own.length !== 1 || own[0] !== word; });
  }

  async function digest(vocabulary) {
    const text = vocabulary.map((word) => word + "\n").join("");
    return new Uint8Array(await crypto.subtle.digest("SHA-256", new TextEncoder().encode(text)));
  }

  function pack(channel, vocabularyDigest, number, bits, reproducible = false) {
    const raw = new Uint8Array(AT.packed + Math.ceil(bits.length / 8)), view = new DataView(raw.buffer);
    raw.set([...MAGIC, ...(reproducible ? SEEDED : PLAIN)]);
    view.setUint32(AT.bits, bits.length, true);
    view.setUint32(AT.limit, channel.limit, true);
    view.setUint32(AT.p, channel.p, true);
    view.setUint32(AT.q, channel.q, true);
    raw.set(vocabularyDigest, AT.vocabulary);
    raw.set(number, AT.number);
    for (let t = 0; t < bits.length; t++) raw[AT.packed + (t >> 3)] |= bits[t] << (t & 7);
    return raw;
  }

  // The four losses of one report; they are always told together. Where only so many words of a text are kept, one
  // added may displace another: see discreet.privacy.bit_guarantees for the proofs.
  function guarantees(channel, nWords) {
    const {p, q, limit} = checkChannel(channel);
    const present = Math.log(p) - Math.log(q), absent = Math.log(ONE - q) - Math.log(ONE - p);
    const one = Math.max(present, absent), replaced = present + absent;
    const displaced = limit && limit < nWords ? Math.log((1 + limit * Math.exp(replaced)) / (limit + 1)) : 0;
    return {
      wordAddedOrRemoved: Math.max(one, displaced),
      wordReplaced: replaced,
      document: limit ? Math.min(limit * replaced, nWords * one) : null,
      documentWithoutLimit: nWords * one,
    };
  }

  // storage: localStorage or anything with getItem and setItem; a document asked for twice gets the same report.
  // budget: loss of a whole document that may be spent on each, over all channels and vocabularies; by default that of
  // its first report, so that there is no second one. name: a text, what a document is called, whatever it says by now.
  // reproducible: whether somebody else knows the coins; then reports are marked, and not kept.
  async function create({
    channel, vocabulary, storage = null, prefix = "discreet:", budget = null, lowercase = true,
    randomBytes = secureBytes, reproducible = randomBytes !== secureBytes,
  }) {
    const checked = checkChannel(channel), identity = await digest(vocabulary), about = hex(identity);
    const columns = new Map(vocabulary.map((word, t) => [word, t]));
    if (columns.size !== vocabulary.length) fail("the vocabulary repeats a word.");
    if (budget !== null && !(budget > 0)) fail("budget must be null or positive, but is " + budget + ".");
    if (storage && reproducible) fail("reports whose coins somebody knows must not be kept: leave out storage.");
    const never = unreachable(vocabulary, lowercase);
    if (never.length) console.warn("discreet: no text is ever found to have " + never.length + " words of the vocabulary");
    const told = guarantees(checked, vocabulary.length);
    const loss = told.document === null ? told.documentWithoutLimit : told.document;
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
    async function keyOf(...parts) {
      const tag = new TextEncoder().encode(JSON.stringify([secret(), ...parts]));
      return prefix + hex(new Uint8Array(await crypto.subtle.digest("SHA-256", tag)));
    }
    // One at a time, in whatever tab or window: two that ask at once must get the same report.
    function alone(work) {
      const locks = storage && typeof navigator === "object" && navigator.locks;
      return locks ? locks.request(prefix + "one at a time", work) : work();
    }
    async function reportOfWords(words, name) {
      return alone(() => makeOrFind(words, name));
    }
    async function makeOrFind(words, name) {
      if (name !== undefined && (typeof name !== "string" || !name)) fail("a document's name must be a text, not empty.");
      for (const word of words) {
        if (!Number.isInteger(word) || word < 0 || word >= vocabulary.length) fail("a word's number is off.");
      }
      const named = name !== undefined;
      const document = named ? name.normalize("NFC") : Array.from(new Set(words)).sort((a, b) => a - b);
      const key = await keyOf(checked.p, checked.q, checked.limit, about, document);
      const account = await keyOf("spent", named ? document : document.map((t) => vocabulary[t]).sort());
      // Without a name nothing tells which documents reports about other words are of.
      const abouts = JSON.parse(place.getItem(prefix + "vocabularies") || "[]");
      if (!named && abouts.some((other) => other !== about)) {
        fail("this storage holds reports about another vocabulary: give each document its name.");
      }
      // Nothing is waited for from here on, so that no other call comes between; what cannot be kept is not handed out.
      const spent = JSON.parse(place.getItem(account) || "{}");
      let kept = place.getItem(key);
      if (!kept) {
        refuse(Object.values(spent));
        const bits = randomise(checked, words, vocabulary.length, numbersFrom(randomBytes));
        const raw = pack(checked, identity, randomBytes(16), bits, reproducible);
        kept = btoa(Array.from(raw, (byte) => String.fromCharCode(byte)).join(""));
        if (!abouts.includes(about)) place.setItem(prefix + "vocabularies", JSON.stringify([...abouts, about]));
        place.setItem(key, kept);
      }
      if (!(key in spent)) place.setItem(account, JSON.stringify({...spent, [key]: loss}));
      return Uint8Array.from(atob(kept), (c) => c.charCodeAt(0));
    }
    function refuse(losses) {
      const before = losses.reduce((a, b) => a + b, 0), most = budget === null ? (losses.length ? before : loss) : budget;
      if (before + loss > most) {
        fail("another report of this document would bring its loss from " + before.toPrecision(4) + " to " +
          (before + loss).toPrecision(4) + ", above its budget of " + most.toPrecision(4) + ".");
      }
    }
    function report(text, name) {
      return reportOfWords(tokens(text, lowercase).filter((t) => columns.has(t)).map((t) => columns.get(t)), name);
    }
    return {report, reportOfWords, unreachable: never, guarantees: () => told};
  }

  return {create, randomise, tokens, unreachable, pack, digest, guarantees, numbersFrom};
});
