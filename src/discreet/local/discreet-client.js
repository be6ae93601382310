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

  function bytesOf(text) { return Uint8Array.from(atob(text), (c) => c.charCodeAt(0)); }
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

  // Addresses of pages and mail, handles and entities are no words. What is blank is what Python takes for it.
  const B = "[\\t-\\r\\x1c- \\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000]", S = "[^" + B.slice(1);
  const W = "[\\p{L}\\p{N}_]", WD = "[\\p{L}\\p{N}_-]";
  const LINK = new RegExp(`(?<!${W})(?:https?(?:://${S}*|:?/?(?:\u2026|\\.\\.+)|:(?=${B}|$)|(?=${B}*$))|www\\.${S}+` +
    `|(?:t\\.co|bit\\.ly|youtu\\.be|pic\\.twitter\\.com)/${S}*|[\\p{L}\\p{N}_.+-]{1,64}@${WD}{1,63}(?:\\.${WD}{1,63})*\\.(?!\\p{Nd})${WD}{1,63}` +
    `|(?:rt(?:${B}+| ?:${B}*)["\u201c]?)?@(?!\\p{Nd})${W}+(?:@${WD}+(?:\\.${WD}+)+|\\.bsky\\.social)?:?` +
    `|rt(?:${B}+| ?:${B}*)(?=https?://|www\\.|(?:t\\.co|bit\\.ly|youtu\\.be|pic\\.twitter\\.com)/))`, "giu");
  // Entities by name: of HTML 4, and of HTML 5 for Latin letters and marks of ASCII; each with its character's number.
  const NAMED = new Map((
    "Tab.9 NewLine.a excl.21 QUOT.22 quot.22 num.23 dollar.24 percnt.25 AMP.26 amp.26 apos.27 lpar.28 rpar.29 " +
    "ast.2a midast.2a plus.2b comma.2c period.2e sol.2f colon.3a semi.3b LT.3c lt.3c equals.3d GT.3e gt.3e quest.3f " +
    "commat.40 lbrack.5b lsqb.5b bsol.5c rbrack.5d rsqb.5d Hat.5e UnderBar.5f lowbar.5f DiacriticalGrave.60 " +
    "grave.60 lbrace.7b lcub.7b VerticalLine.7c verbar.7c vert.7c rbrace.7d rcub.7d NonBreakingSpace.a0 nbsp.a0 " +
    "iexcl.a1 cent.a2 pound.a3 curren.a4 yen.a5 brvbar.a6 sect.a7 Dot.a8 DoubleDot.a8 die.a8 uml.a8 COPY.a9 copy.a9 " +
    "ordf.aa laquo.ab not.ac shy.ad REG.ae circledR.ae reg.ae macr.af strns.af deg.b0 PlusMinus.b1 plusmn.b1 pm.b1 " +
    "sup2.b2 sup3.b3 DiacriticalAcute.b4 acute.b4 micro.b5 para.b6 CenterDot.b7 centerdot.b7 middot.b7 Cedilla.b8 " +
    "cedil.b8 sup1.b9 ordm.ba raquo.bb frac14.bc frac12.bd half.bd frac34.be iquest.bf Agrave.c0 Aacute.c1 Acirc.c2 " +
    "Atilde.c3 Auml.c4 Aring.c5 angst.c5 AElig.c6 Ccedil.c7 Egrave.c8 Eacute.c9 Ecirc.ca Euml.cb Igrave.cc " +
    "Iacute.cd Icirc.ce Iuml.cf ETH.d0 Ntilde.d1 Ograve.d2 Oacute.d3 Ocirc.d4 Otilde.d5 Ouml.d6 times.d7 Oslash.d8 " +
    "Ugrave.d9 Uacute.da Ucirc.db Uuml.dc Yacute.dd THORN.de szlig.df agrave.e0 aacute.e1 acirc.e2 atilde.e3 " +
    "auml.e4 aring.e5 aelig.e6 ccedil.e7 egrave.e8 eacute.e9 ecirc.ea euml.eb igrave.ec iacute.ed icirc.ee iuml.ef " +
    "eth.f0 ntilde.f1 ograve.f2 oacute.f3 ocirc.f4 otilde.f5 ouml.f6 div.f7 divide.f7 oslash.f8 ugrave.f9 uacute.fa " +
    "ucirc.fb uuml.fc yacute.fd thorn.fe yuml.ff Amacr.100 amacr.101 Abreve.102 abreve.103 Aogon.104 aogon.105 " +
    "Cacute.106 cacute.107 Ccirc.108 ccirc.109 Cdot.10a cdot.10b Ccaron.10c ccaron.10d Dcaron.10e dcaron.10f " +
    "Dstrok.110 dstrok.111 Emacr.112 emacr.113 Edot.116 edot.117 Eogon.118 eogon.119 Ecaron.11a ecaron.11b " +
    "Gcirc.11c gcirc.11d Gbreve.11e gbreve.11f Gdot.120 gdot.121 Gcedil.122 Hcirc.124 hcirc.125 Hstrok.126 " +
    "hstrok.127 Itilde.128 itilde.129 Imacr.12a imacr.12b Iogon.12e iogon.12f Idot.130 imath.131 inodot.131 " +
    "IJlig.132 ijlig.133 Jcirc.134 jcirc.135 Kcedil.136 kcedil.137 kgreen.138 Lacute.139 lacute.13a Lcedil.13b " +
    "lcedil.13c Lcaron.13d lcaron.13e Lmidot.13f lmidot.140 Lstrok.141 lstrok.142 Nacute.143 nacute.144 Ncedil.145 " +
    "ncedil.146 Ncaron.147 ncaron.148 napos.149 ENG.14a eng.14b Omacr.14c omacr.14d Odblac.150 odblac.151 OElig.152 " +
    "oelig.153 Racute.154 racute.155 Rcedil.156 rcedil.157 Rcaron.158 rcaron.159 Sacute.15a sacute.15b Scirc.15c " +
    "scirc.15d Scedil.15e scedil.15f Scaron.160 scaron.161 Tcedil.162 tcedil.163 Tcaron.164 tcaron.165 Tstrok.166 " +
    "tstrok.167 Utilde.168 utilde.169 Umacr.16a umacr.16b Ubreve.16c ubreve.16d Uring.16e uring.16f Udblac.170 " +
    "udblac.171 Uogon.172 uogon.173 Wcirc.174 wcirc.175 Ycirc.176 ycirc.177 Yuml.178 Zacute.179 zacute.17a Zdot.17b " +
    "zdot.17c Zcaron.17d zcaron.17e fnof.192 circ.2c6 tilde.2dc Alpha.391 Beta.392 Gamma.393 Delta.394 Epsilon.395 " +
    "Zeta.396 Eta.397 Theta.398 Iota.399 Kappa.39a Lambda.39b Mu.39c Nu.39d Xi.39e Omicron.39f Pi.3a0 Rho.3a1 " +
    "Sigma.3a3 Tau.3a4 Upsilon.3a5 Phi.3a6 Chi.3a7 Psi.3a8 Omega.3a9 alpha.3b1 beta.3b2 gamma.3b3 delta.3b4 " +
    "epsilon.3b5 zeta.3b6 eta.3b7 theta.3b8 iota.3b9 kappa.3ba lambda.3bb mu.3bc nu.3bd xi.3be omicron.3bf pi.3c0 " +
    "rho.3c1 sigmaf.3c2 sigma.3c3 tau.3c4 upsilon.3c5 phi.3c6 chi.3c7 psi.3c8 omega.3c9 thetasym.3d1 upsih.3d2 " +
    "piv.3d6 ensp.2002 emsp.2003 thinsp.2009 zwnj.200c zwj.200d lrm.200e rlm.200f ndash.2013 mdash.2014 lsquo.2018 " +
    "rsquo.2019 sbquo.201a ldquo.201c rdquo.201d bdquo.201e dagger.2020 Dagger.2021 bull.2022 hellip.2026 " +
    "permil.2030 prime.2032 Prime.2033 lsaquo.2039 rsaquo.203a oline.203e frasl.2044 euro.20ac image.2111 " +
    "weierp.2118 real.211c trade.2122 alefsym.2135 larr.2190 uarr.2191 rarr.2192 darr.2193 harr.2194 crarr.21b5 " +
    "lArr.21d0 uArr.21d1 rArr.21d2 dArr.21d3 hArr.21d4 forall.2200 part.2202 exist.2203 empty.2205 nabla.2207 " +
    "isin.2208 notin.2209 ni.220b prod.220f sum.2211 minus.2212 lowast.2217 radic.221a prop.221d infin.221e " +
    "ang.2220 and.2227 or.2228 cap.2229 cup.222a int.222b there4.2234 sim.223c cong.2245 asymp.2248 ne.2260 " +
    "equiv.2261 le.2264 ge.2265 sub.2282 sup.2283 nsub.2284 sube.2286 supe.2287 oplus.2295 otimes.2297 perp.22a5 " +
    "sdot.22c5 lceil.2308 rceil.2309 lfloor.230a rfloor.230b loz.25ca spades.2660 clubs.2663 hearts.2665 diams.2666 " +
    "lang.27e8 rang.27e9"
  ).split(" ").map((entry) => entry.split(".")).map(([name, code]) => [name, String.fromCodePoint(parseInt(code, 16))]));
  // What the numbers from 128 on stand for in pages of old.
  const OLD = "\u20ac\u0081\u201a\u0192\u201e\u2026\u2020\u2021\u02c6\u2030\u0160\u2039\u0152\u008d\u017d\u008f" +
    "\u0090\u2018\u2019\u201c\u201d\u2022\u2013\u2014\u02dc\u2122\u0161\u203a\u0153\u009d\u017e\u0178";

  function character(code) {
    if (code < 32 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return " ";
    return code >= 128 && code < 160 ? OLD[code - 128] : String.fromCodePoint(code);
  }

  function withoutLinks(text) {
    return text.replace(/&(?:amp;)*(?:#([0-9]{1,7})|#[xX]([0-9a-fA-F]{1,6})|([a-zA-Z][a-zA-Z0-9]{1,31}));/g, (whole, ten, hex, name) =>
      name ? NAMED.get(name) ?? `&${name};` : character(ten ? Number(ten) : parseInt(hex, 16))).replace(LINK, " ");
  }

  // Words as discreet.corpus.Tokenizer has them: runs of two or more letters, digits or _, by default in lower case. How
  // a word is spelt depends on that word alone: every text is composed, and a sigma is the final one by its own word.
  function tokens(text, lowercase = true) {
    const plain = withoutLinks(text), lowered = lowercase ? plain.replace(/[\u03a3\u03c2]/g, "\u03c3").toLowerCase() : plain;
    const composed = lowered.normalize("NFC");
    const words = composed.match(MARKED.test(composed) ? MARKED_WORD : /[\p{L}\p{N}_]{2,}/gu) || [];
    return lowercase ? words.map((word) => word.length > 1 && word.endsWith("\u03c3") ? word.slice(0, -1) + "\u03c2" : word) : words;
  }

  // The column of each word of a text: of one that the vocabulary writes with capitals, as texts have it, too.
  function columnsOf(vocabulary, lowercase = true) {
    const columns = new Map(vocabulary.map((word, t) => [word, t]));
    if (columns.size !== vocabulary.length) fail("the vocabulary repeats a word.");
    vocabulary.forEach((word, t) => { const own = tokens(word, lowercase); if (own.length === 1 && !columns.has(own[0])) columns.set(own[0], t); });
    return columns;
  }

  // Words of a vocabulary that no text cut that way can have: of one letter, of several words, or another's with capitals.
  function unreachable(vocabulary, lowercase = true) {
    const columns = columnsOf(vocabulary, lowercase);
    return vocabulary.filter((word, t) => { const own = tokens(word, lowercase); return own.length !== 1 || columns.get(own[0]) !== t; });
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
  // added may displace another: see discreet.privacy.bit_channel for the proofs.
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

  // --- Whole documents: one codeword of a public codebook; the proof is in local/whole_document/codebook.py. All
  // scores are whole numbers below 2^53, so that they are exact here as they are in Python.
  const WHOLE_MAGIC = [0x44, 0x53, 0x43, 0x57], PRIOR = 0.05, STEPS = 20;

  async function sha(...parts) {
    const bytes = parts.map((part) => (typeof part === "string" ? new TextEncoder().encode(part) : part));
    const whole = new Uint8Array(bytes.reduce((n, part) => n + part.length, 0));
    let at = 0;
    for (const part of bytes) { whole.set(part, at); at += part.length; }
    return new Uint8Array(await crypto.subtle.digest("SHA-256", whole));
  }

  // The first n bytes of ChaCha20 under a key, counter and nonce from zero.
  function keyStream(key, n) {
    const words = new DataView(key.buffer, key.byteOffset, 32), out = new Uint8Array(Math.ceil(n / 64) * 64);
    const view = new DataView(out.buffer), start = new Uint32Array(16), x = new Uint32Array(16);
    start.set([0x61707865, 0x3320646e, 0x79622d32, 0x6b206574]);
    for (let i = 0; i < 8; i++) start[4 + i] = words.getUint32(4 * i, true);
    const quarter = (a, b, c, d) => {
      for (const [p, q, r, by] of [[a, b, d, 16], [c, d, b, 12], [a, b, d, 8], [c, d, b, 7]]) {
        x[p] += x[q];
        const turned = x[r] ^ x[p];
        x[r] = (turned << by) | (turned >>> (32 - by));
      }
    };
    for (let block = 0; block < out.length / 64; block++) {
      start[12] = block;
      x.set(start);
      for (let round = 0; round < 10; round++) {
        for (let i = 0; i < 4; i++) quarter(i, 4 + i, 8 + i, 12 + i);
        for (let i = 0; i < 4; i++) quarter(i, 4 + (i + 1) % 4, 8 + (i + 2) % 4, 12 + (i + 3) % 4);
      }
      for (let i = 0; i < 16; i++) view.setUint32(64 * block + 4 * i, x[i] + start[i], true);
    }
    return out.subarray(0, n);
  }

  function transform(values) {
    for (let half = 1; half < values.length; half *= 2) {
      for (let start = 0; start < values.length; start += 2 * half) {
        for (let i = start; i < start + half; i++) {
          const a = values[i], b = values[i + half];
          values[i] = a + b;
          values[i + half] = a - b;
        }
      }
    }
    return values;
  }

  const signOf = (bits, t) => 1 - 2 * ((bits[t >> 3] >> (t & 7)) & 1);

  async function questionDigest(question) {
    const width = question.table.length ? question.table[0].length : 0, numbers = [...question.table.flat(), ...question.weights];
    const raw = new Uint8Array(8 * numbers.length), view = new DataView(raw.buffer);
    numbers.forEach((number, i) => view.setBigInt64(8 * i, BigInt(number), true));
    const head = `discreet question ${question.kind} ${question.place} ${width} ${PRIOR} ${STEPS}\n`;
    return sha(head, await digest(question.vocabulary), raw);
  }

  // What a document says: whole numbers; for topics in the very order of sums that Python takes.
  function answersOf(question, words) {
    const {kind, table, weights} = question, own = Array.from(new Set(words)).sort((a, b) => a - b);
    if (kind === "words") {
      const out = new Float64Array(question.vocabulary.length);
      for (const v of own) out[v] = 1;
      return out;
    }
    const n = table[0].length;
    if (kind === "squares") {
      const out = new Float64Array(n);
      for (const v of own) for (let k = 0; k < n; k++) out[k] += table[v][k];
      return out;
    }
    const theta = new Float64Array(n).fill(PRIOR + own.length / n), gained = new Float64Array(n);
    const totalOf = (v) => { let total = 0; for (let k = 0; k < n; k++) total += theta[k] * table[v][k]; return total; };
    for (let step = 0; step < STEPS; step++) {
      gained.fill(0);
      for (const v of own) { const total = totalOf(v); for (let k = 0; k < n; k++) gained[k] += table[v][k] / total; }
      for (let k = 0; k < n; k++) theta[k] = PRIOR + theta[k] * gained[k];
    }
    const out = new Float64Array(table.length * n);
    for (const v of own) {
      const total = totalOf(v);
      for (let k = 0; k < n; k++) {
        const share = theta[k] * table[v][k] / total;
        out[v * n + k] = Math.floor(weights[v] * share + 0.5);
      }
    }
    return out;
  }

  // The answer of one document: which codeword to send.
  async function codewordOf(channel, question, words, number, numbers) {
    const name = await questionDigest(question), vector = answersOf(question, words), m = channel.codewords;
    let n = 1024;
    while (n < vector.length || n < m) n *= 2;
    const turn = keyStream(await sha("discreet codebook", name, "turn"), n / 8);
    const signs = keyStream(await sha("discreet codebook", name, number), n / 8);
    const turned = new Float64Array(n), scores = new Float64Array(m);
    vector.forEach((value, t) => { turned[t] = value * signOf(turn, t); });
    transform(turned).forEach((value, t) => { scores[t & (m - 1)] += value * signOf(signs, t); });
    transform(scores);
    const worth = channel.twoSided ? scores.map(Math.abs) : scores;
    const order = Array.from(worth.keys()).sort((a, b) => worth[b] - worth[a] || a - b);
    const total = channel.chosen * channel.member + (m - channel.chosen) * channel.other, all = 2 ** 53;
    for (;;) {
      const [high, low] = numbers(2), drawn = (high >>> 11) * ONE + low;
      if (drawn >= all - (all % total)) continue;
      const left = drawn % total, members = channel.chosen * channel.member;
      return order[left < members ? Math.floor(left / channel.member) : channel.chosen + Math.floor((left - members) / channel.other)];
    }
  }

  async function questionOf(number, ends) {
    const place = new DataView((await sha("discreet question", number)).buffer).getUint32(0, true);
    return ends.findIndex((end) => place < end);
  }

  async function packAnswer(channel, question, number, answer, reproducible = false) {
    const raw = new Uint8Array(112), view = new DataView(raw.buffer);
    raw.set([...WHOLE_MAGIC, 1, (reproducible ? 1 : 0) + (channel.twoSided ? 2 : 0)]);
    [channel.codewords, channel.chosen].forEach((x, i) => view.setUint32(8 + 4 * i, x, true));
    view.setBigUint64(16, BigInt(channel.member), true);
    view.setUint32(24, channel.other, true);
    view.setUint32(28, answer, true);
    raw.set(await digest(question.vocabulary), 32);
    raw.set(await questionDigest(question), 64);
    raw.set(number, 96);
    return raw;
  }

  function checkWhole(channel) {
    const {codewords, chosen, member, other} = channel || {}, whole = (x) => Number.isInteger(x) && x > 0;
    const good = [codewords, chosen, member, other].every(whole) && chosen < codewords && other < member;
    const total = chosen * member + (codewords - chosen) * other;
    if (!good || codewords > 65536 || (codewords & (codewords - 1)) || other >= ONE || !(total < 2 ** 53)) {
      fail("this is no channel of whole documents.");
    }
    return Math.log(member) - Math.log(other);
  }

  // The question is judged before the document is looked at: whether a client answers must not depend on the document.
  function checkQuestion(question, ends, twoSided) {
    const {kind, place, vocabulary, table, weights} = question || {}, whole = (x) => Number.isSafeInteger(x);
    const lists = [vocabulary, table, weights, ends].every(Array.isArray) && table.every(Array.isArray);
    const n = lists ? vocabulary.length : 0, width = n && table.length ? table[0].length : 0, topics = kind === "topics";
    const shape = n > 0 && ["words", "squares", "topics"].includes(kind) && whole(place) && place >= 0 && table.length === n &&
      (kind === "words") === (width === 0) && table.every((row) => row.length === width && row.every(whole)) &&
      weights.length === (topics ? n : 0) && weights.every(whole) && vocabulary.every((word) => typeof word === "string") &&
      (!topics || (weights.every((x) => x > 0) && table.every((row) => row.every((x) => x > 0)))) &&
      ends.length > place && place < 100 && ends.every((x, i) => whole(x) && x > (i ? ends[i - 1] : 0)) &&
      ends[ends.length - 1] === ONE && twoSided === (kind === "squares");
    if (!shape) fail("this is no question of whole documents.");
    const size = topics ? n * width : Math.max(width, n), add = (sum, x) => sum + Math.abs(x);
    const sum = topics ? weights.reduce(add, size) : Math.max(n, table.reduce((all, row) => row.reduce(add, all), 0));
    let signs = 65536;
    while (signs < size) signs *= 2;
    if (size > 1048576 || !(sum * signs < 2 ** 53)) fail("the numbers of this question are too large.");
  }

  // storage: localStorage or anything with getItem and setItem; a document asked for twice gets the same report.
  // budget: loss of a whole document that may be spent on each, over all channels and vocabularies; by default that of
  // its first report, so that there is no second one. name: a text; it stays when the document is edited.
  // Answers about whole documents need one. Reports of bits of unnamed documents with the same words are one report, and
  // show whoever collects that they are alike: give names, or a prefix of its own to each document.
  // mostEpsilon: what an answer about a whole document may lose; by default what a report of bits does. 20 at most.
  // reproducible: whether somebody else knows the coins; then reports are marked, and not kept.
  async function create({
    channel, vocabulary, storage = null, prefix = "discreet:", budget = null, lowercase = true,
    randomBytes = secureBytes, reproducible = randomBytes !== secureBytes, mostEpsilon = null,
  }) {
    const checked = checkChannel(channel), identity = await digest(vocabulary), about = hex(identity);
    const columns = columnsOf(vocabulary, lowercase);
    if (budget !== null && !(budget > 0)) fail("budget must be null or positive, but is " + budget + ".");
    if (storage && reproducible) fail("reports whose coins somebody knows must not be kept: leave out storage.");
    const never = unreachable(vocabulary, lowercase);
    if (never.length) console.warn("discreet: no text is ever found to have " + never.length + " words of the vocabulary");
    const told = guarantees(checked, vocabulary.length);
    const loss = told.document === null ? told.documentWithoutLimit : told.document;
    if (mostEpsilon !== null && !(Number.isFinite(mostEpsilon) && mostEpsilon > 0)) fail("mostEpsilon must be null or positive.");
    // What an answer about a whole document may lose, whatever channel a server publishes.
    const most = Math.min(20, mostEpsilon ?? loss);
    const memory = new Map(), place = storage || {
      getItem: (key) => memory.get(key) || null, setItem: (key, value) => { memory.set(key, value); },
    };
    // Reports and their losses stood in entries of their own once, with the secret under this key, written before them.
    function refuseOldForm() {
      if (!place.getItem(prefix + "secret")) return;
      fail('the storage holds "' + prefix + 'secret", so an older client kept reports there, in a form whose losses this one ' +
        "cannot count. Report none of those documents again. For documents that never gave a report, give another prefix; " +
        'if no report was ever sent, delete all keys that begin with "' + prefix + '".');
    }
    refuseOldForm();
    // Kept under a digest with a secret of this device, so that the store does not show what reports are about.
    function secret() {
      refuseOldForm();  // another page may run the older client
      const at = prefix + "account secret", known = place.getItem(at);
      if (known) return known;
      place.setItem(at, hex(secureBytes(32)));
      return place.getItem(at);
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
      return alone(async () => {
        const raw = () => {
          const bits = randomise(checked, words, vocabulary.length, numbersFrom(randomBytes));
          return pack(checked, identity, randomBytes(16), bits, reproducible);
        };
        return keep(await whose(words, name, [checked.p, checked.q, checked.limit, about]), loss, raw);
      });
    }
    // asked: what WholeDocumentLDA.published() tells. Null where it is another client's question: send nothing.
    async function answerOfWords(asked, words, name) {
      // Else answers would show which documents are alike.
      if (name === undefined || name === null) fail("an answer about a whole document needs a name that no other document has.");
      const {question, channel: whole, ends} = asked, cost = checkWhole(whole);
      checkQuestion(question, ends, whole.twoSided);
      if (cost > most + 1e-9) {
        fail("the server asks for an answer that loses " + cost.toPrecision(4) + ", above the " + most.toPrecision(4) +
          " that this client was made for; give mostEpsilon if its writer agrees.");
      }
      if (hex(await digest(question.vocabulary)) !== about) fail("the question is about another vocabulary.");
      return alone(async () => {
        const named = hex(await questionDigest(question));
        const numbersOf = [whole.codewords, whole.chosen, whole.member, whole.other, whole.twoSided ? 1 : 0];
        const own = await whose(words, name, [...numbersOf, named, about]);
        const number = numberOf(own.account);
        if (await questionOf(number, ends) !== question.place) return null;
        const sent = await codewordOf(whole, question, words, number, numbersFrom(randomBytes));
        const raw = await packAnswer(whole, question, number, sent, reproducible);
        return keep(own, cost, () => raw);
      });
    }
    // A document's account is one entry: its reports, what each loses, and its numbers. A write of it is whole or not at
    // all, so that no report is there without what it costs, whatever ends the page between two writes.
    function accountAt(key) { return {numbers: {}, reports: {}, ...JSON.parse(place.getItem(key) || "{}")}; }
    function write(key, value) {
      const text = JSON.stringify(value);
      place.setItem(key, text);
      if (place.getItem(key) !== text) fail("the storage does not keep what it is given; nothing was handed out.");
    }
    // Drawn once for a document and a vocabulary, before it is known which question it means, and without a look at the
    // document.
    function numberOf(account) {
      const own = accountAt(account);
      if (!(about in own.numbers)) {
        own.numbers[about] = hex(randomBytes(16));
        write(account, own);
      }
      return Uint8Array.from(own.numbers[about].match(/../g), (x) => parseInt(x, 16));
    }
    // The name of a document's account, and of its report about something there.
    async function whose(words, name, what) {
      if (name !== undefined && (typeof name !== "string" || !name)) fail("a document's name must be a text, not empty.");
      for (const word of words) {
        if (!Number.isInteger(word) || word < 0 || word >= vocabulary.length) fail("a word's number is off.");
      }
      const named = name !== undefined;
      const document = named ? name.normalize("NFC") : Array.from(new Set(words)).sort((a, b) => a - b);
      const key = await keyOf(...what, document);
      const account = await keyOf("spent", named ? document : document.map((t) => vocabulary[t]).sort());
      return {key, account, named};
    }
    // Nothing is waited for in here, so that no other call comes between; what cannot be kept is not handed out.
    function keep({key, account, named}, cost, raw) {
      // Without a name nothing tells which documents reports about other words are of.
      const abouts = JSON.parse(place.getItem(prefix + "vocabularies") || "[]");
      if (!named && abouts.some((other) => other !== about)) {
        fail("this storage holds reports about another vocabulary: give each document its name.");
      }
      const own = accountAt(account);
      if (!(key in own.reports)) {
        refuse(Object.values(own.reports).map((kept) => kept.cost), cost);
        if (!abouts.includes(about)) write(prefix + "vocabularies", [...abouts, about]);
        own.reports[key] = {cost, bytes: btoa(Array.from(raw(), (byte) => String.fromCharCode(byte)).join(""))};
        write(account, own);
      }
      return bytesOf(own.reports[key].bytes);
    }
    function refuse(losses, cost) {
      const before = losses.reduce((a, b) => a + b, 0), most = budget === null ? (losses.length ? before : cost) : budget;
      if (before + cost > most) {
        if (!losses.length) {
          fail("a report of this document would lose " + cost.toPrecision(4) + ", above its budget of " + most.toPrecision(4) + ".");
        }
        fail("another report of this document would bring its loss from " + before.toPrecision(4) + " to " +
          (before + cost).toPrecision(4) + ", above its budget of " + most.toPrecision(4) + ".");
      }
    }
    const found = (text) => tokens(text, lowercase).filter((t) => columns.has(t)).map((t) => columns.get(t));
    const report = (text, name) => reportOfWords(found(text), name);
    const answer = (asked, text, name) => answerOfWords(asked, found(text), name);
    return {report, reportOfWords, answer, answerOfWords, unreachable: never, guarantees: () => ({...told, answer: most})};
  }

  return {
    create, randomise, tokens, unreachable, pack, digest, guarantees, numbersFrom,
    answersOf, codewordOf, packAnswer, questionDigest, questionOf,
  };
});
