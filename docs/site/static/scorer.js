// How results of the search are ordered. A name of TensorFlow 1 stands behind one of the same kind of match that is none.
// What readers ask for in one word, and the page that answers it first.
var PAGES = {
  jacobian: "derivatives", hessian: "derivatives", derivative: "derivatives", derivatives: "derivatives", jvp: "derivatives",
  gpu: "gpu", gpus: "gpu", cuda: "gpu", slow: "performance", performance: "performance", memory: "performance",
  none: "why/none", zero: "why/zeros", zeros: "why/zeros", nan: "why/nan", inf: "why/nan", error: "faq", faq: "faq",
  install: "start/install", checkpoint: "recipes", callback: "recipes", keras: "keras", stable: "stability",
};
var ASKED = (new URLSearchParams(location.search).get("q") || "").trim().toLowerCase();
var Scorer = {
  score: ([page, , , , score]) =>
    page === PAGES[ASKED] ? score + 100 : page.includes("compat.v1") ? score - 4 : score,
  objNameMatch: 11,
  objPartialMatch: 6,
  objPrio: { 0: 15, 1: 5, 2: -5 },
  objPrioDefault: 0,
  title: 15,
  partialTitle: 7,
  term: 5,
  partialTerm: 2,
};
